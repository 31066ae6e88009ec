"""Tensors added, subtracted, multiplied element by element, scaled, copied.

In: tensors. Out: the blocks of Plus, Minus, Hadamard, Scale, Copy. May not know: stages.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping

from logosnb.ops.op import Array, Example, Op, Operands, Rows
from logosnb.ops.rules import exactly, repeated_shape, same_as


def loops(sign: str) -> str:
    """The expansion of a sum or product whose second operand may repeat over rows or columns."""
    return f"""
        Let {{y}} be a {{y.rows}} by {{y.columns}} tensor of {{y.kind}}.
        Repeat for row from 1 to {{y.rows}}:
            Repeat for column from 1 to {{y.columns}}:
                Let k be (row - 1) * {{y.columns}} + column.
                Let from_b be (row - 1) * {{row_step}} + (column - 1) * {{column_step}} + 1.
                Set item k of {{y}} to (item k of {{a}}) {sign} (item from_b of {{b}}).
    """


def steps(s: Operands) -> dict[str, int]:
    """How far apart in b the operands of neighbouring rows and columns lie; 0 where b repeats."""
    b = s.b
    return {
        "row_step": b.columns if b.rows > 1 else 0,
        "column_step": 1 if b.columns > 1 else 0,
    }


ROW: Mapping[str, Rows] = {"a": [[1, 2], [3, 4]], "b": [[10, 20]]}

# y = a + b:  da = dy,  db = dy (summed over what b repeats over)
PLUS = Op(
    name="Plus",
    phrase="{a} plus {b}",
    about="The sum. b has the shape of a, or is a row, a column or one number that repeats.",
    shape=repeated_shape,
    meaning=lambda a, b: exactly(operator.add, a, b),
    kind=("a", "b"),
    broadcasts=("b",),
    sizes=steps,
    expansion=loops("+"),
    adjoint={"a": "{dy}", "b": "{dy}"},
    spelling="{a} + {b}",
    formula="da = dy,  db = dy",
    examples=(
        Example(
            "Let y be a plus b.",
            ROW,
            [[11, 22], [13, 24]],
            [[1, 2], [3, 4]],
            {"a": [[1, 2], [3, 4]], "b": [[4, 6]]},
            note="b is one row that repeats, so its gradient is summed over the rows.",
        ),
    ),
)

# y = a − b:  da = dy,  db = −dy
MINUS = Op(
    name="Minus",
    phrase="{a} minus {b}",
    about="The difference. b has the shape of a, or is a row, a column or one number that repeats.",
    shape=repeated_shape,
    meaning=lambda a, b: exactly(operator.sub, a, b, bound=operator.add),
    kind=("a", "b"),
    broadcasts=("b",),
    sizes=steps,
    expansion=loops("-"),
    adjoint={"a": "{dy}", "b": "Let {db} be {dy} scaled by -1."},
    spelling="{a} - {b}",
    formula="da = dy,  db = −dy",
    examples=(
        Example(
            "Let y be a minus b.",
            {"a": [[1, 2], [3, 4]], "b": [[10], [20]]},
            [[-9, -8], [-17, -16]],
            [[1, 2], [3, 4]],
            {"a": [[1, 2], [3, 4]], "b": [[-3], [-7]]},
        ),
    ),
)

# y = a ⊙ b:  da = dy ⊙ b,  db = dy ⊙ a
HADAMARD = Op(
    name="Hadamard",
    phrase="{a} hadamard {b}",
    about="The product element by element. b may repeat as in `a plus b`.",
    shape=repeated_shape,
    meaning=lambda a, b: exactly(operator.mul, a, b),
    kind=("a", "b"),
    broadcasts=("b",),
    sizes=steps,
    expansion=loops("*"),
    adjoint={
        "a": "Let {da} be {dy} hadamard {b}.",
        "b": "Let {db} be {dy} hadamard {a}.",
    },
    spelling="{a} * {b}",
    formula="da = dy ⊙ b,  db = dy ⊙ a",
    examples=(
        Example(
            "Let y be a hadamard b.",
            {"a": [[1, 2], [3, 4]], "b": [[10]]},
            [[10, 20], [30, 40]],
            [[1, 0], [0, 2]],
            {"a": [[10, 0], [0, 20]], "b": [[9]]},
        ),
    ),
)


def scaled(x: Array, factor: float) -> Array:
    return x * float(factor)


# y = c x:  dx = c dy
SCALE = Op(
    name="Scale",
    phrase="{x} scaled by {factor}",
    about="Every element times a constant. The result is a tensor of Real.",
    shape=same_as("x"),
    meaning=scaled,
    expansion="""
        Let {y} be a {y.rows} by {y.columns} tensor of Real.
        Repeat for k from 1 to {y.size}:
            Set item k of {y} to (item k of {x}) * {factor}.
    """,
    adjoint={"x": "Let {dx} be {dy} scaled by {factor}."},
    spelling="{x} * {factor}",
    formula="dx = c dy",
    examples=(
        Example(
            "Let y be x scaled by -0.5.",
            {"x": [[2, 4]]},
            [[-1, -2]],
            [[1, 2]],
            {"x": [[-0.5, -1]]},
        ),
    ),
)

# y = x:  dx = dy
COPY = Op(
    name="Copy",
    phrase="copy of {x}",
    about="The same values under another name; `Let y be x.` is the same.",
    shape=same_as("x"),
    meaning=lambda x: x.copy(),
    kind=("x",),
    expansion="""
        Let {y} be a {y.rows} by {y.columns} tensor of {y.kind}.
        Repeat for k from 1 to {y.size}:
            Set item k of {y} to item k of {x}.
    """,
    adjoint={"x": "{dy}"},
    spelling="{x}",
    formula="dx = dy",
    examples=(
        Example("Let y be copy of x.", {"x": [[1, 2]]}, [[1, 2]], [[3, 4]], {"x": [[3, 4]]}),
    ),
)
