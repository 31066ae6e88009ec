"""Integer ops, as quantized networks use them: exact in 64 bits, without a gradient.

In: tensors of Int. Out: the blocks of IntRequant, IntClamp. May not know: stages.
"""

from __future__ import annotations

import numpy as np

from logosnb.ops.op import Array, Example, NoGradient, Op, Operands, require
from logosnb.ops.rules import exactly, same_as


def requantized(x: Array, multiplier: int, shift: int) -> Array:
    scaled = exactly(np.multiply, x.astype(object), np.array(multiplier, dtype=object))
    return np.floor_divide(scaled, 2**shift).astype(np.int64)


INT_REQUANT = Op(
    name="IntRequant",
    phrase="{x} requantized by {multiplier} shifted right by {shift}",
    about="⌊x · multiplier / 2^shift⌋, the floor also below zero; the product is exact.",
    shape=same_as("x"),
    meaning=requantized,
    kind="Int",
    integers=("x",),
    sizes=lambda s: {"divisor": 2**s.shift},
    expansion="""
        Let {y} be a {y.rows} by {y.columns} tensor of Int.
        Repeat for k from 1 to {y.size}:
            Set item k of {y} to (item k of {x}) * {multiplier} // {divisor}.
    """,
    adjoint=NoGradient("a floored shift of an integer is a step function of it"),
    formula="none: a step function of x",
    examples=(
        Example(
            "Let y be x requantized by 3 shifted right by 2.",
            {"x": [[1, 2, -1]]},
            [[0, 1, -1]],
            note="3/4, 6/4 and −3/4, each floored.",
        ),
    ),
)


def clamp_shape(s: Operands) -> tuple[int, int]:
    require(s.low <= s.high, f"{s.low} is above {s.high}, so nothing lies between them")
    return s.x.rows, s.x.columns


INT_CLAMP = Op(
    name="IntClamp",
    phrase="{x} clamped between {low} and {high}",
    about="Each element, held between two whole numbers.",
    shape=clamp_shape,
    meaning=lambda x, low, high: np.minimum(np.maximum(x, low), high),
    kind="Int",
    integers=("x",),
    expansion="""
        Let {y} be a {y.rows} by {y.columns} tensor of Int.
        Repeat for k from 1 to {y.size}:
            Set item k of {y} to min(max(item k of {x}, {low}), {high}).
    """,
    adjoint=NoGradient("integers held between bounds are a step function of them"),
    formula="none: a step function of x",
    examples=(Example("Let y be x clamped between -2 and 3.", {"x": [[-5, 1, 9]]}, [[-2, 1, 3]]),),
)
