"""Ops that work element by element. To add one, write its block here; nothing else needs to know.

In: tensors. Out: one block an op. May not know: stages.

In `value` and `slope` a hole such as `{x}` stands for that operand's element, `{y}` for the result's;
`before` binds what both or either need.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from logosnb.ops.op import Array, Example, Op
from logosnb.ops.rules import equal_shapes, same_as


def elementwise(
    *,
    value: str,
    slopes: Mapping[str, str],
    before: str = "",
    adjoint: Mapping[str, str] | None = None,
    result: str = "Real",
    **parts: Any,
) -> Op:
    """An op of one loop over the elements.

    value: the result's element as a LOGOS expression. slopes: for each operand its derivative,
    which the adjoint multiplies with the cotangent's element; adjoint instead, where LOGOS has an
    op for it. before: lines that bind names for the expressions.
    """
    holes = list(slopes) or list(adjoint or ())
    shape = equal_shapes(*holes) if len(holes) == 2 else same_as(holes[0])
    loop = "Repeat for k from 1 to {y.size}:\n"
    lines = "".join(f"    {line.strip()}\n" for line in before.strip().splitlines())
    parts.setdefault("shape", shape)
    return Op(
        expansion=f"Let {{y}} be a {{y.rows}} by {{y.columns}} tensor of {result}.\n{loop}"
        + _elements(f"{lines}    Set item k of {{y}} to {value}."),
        adjoint=adjoint or {" ".join(slopes): _adjoint(slopes, loop, lines)},
        **parts,
    )


def _adjoint(slopes: Mapping[str, str], loop: str, lines: str) -> str:
    several = len(slopes) > 1
    declared, stored = "", ""
    for hole, slope in slopes.items():
        declaration = f"Let {{d{hole}}} be a {{y.rows}} by {{y.columns}} tensor of Real."
        store = f"Set item k of {{d{hole}}} to (item k of {{dy}}) * {slope}."
        declared += f"[d{hole}| {declaration}]\n" if several else f"{declaration}\n"
        stored += f"    [d{hole}| {store}]\n" if several else f"    {store}\n"
    return declared + loop + _elements(lines + stored)


def _elements(text: str) -> str:
    """`{x}` as the element of x, where it does not stand in `item k of {x}` already."""
    for hole in ("x", "y", "g", "u"):
        whole = f"item k of {{{hole}}}"
        text = text.replace(whole, "\0").replace(f"{{{hole}}}", f"({whole})").replace("\0", whole)
    return text


def sigma(x: Array) -> Array:
    """The logistic function, without overflow: e⁻|x| is at most one."""
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, small) / (1.0 + small)


# y = σ(x):  dx = dy ⊙ y ⊙ (1 − y)
SIGMOID = elementwise(
    name="Sigmoid",
    phrase="sigmoid of {x}",
    about="The logistic function 1 / (1 + e⁻ˣ).",
    meaning=sigma,
    steepness=lambda y: 4 * y * (1 - y),
    value="1.0 / (1.0 + exp(-{x}))",
    slopes={"x": "{y} * (1.0 - {y})"},
    spelling="sigmoid({x})",
    formula="dx = dy ⊙ y ⊙ (1 − y)",
    examples=(
        Example("Let y be sigmoid of x.", {"x": [[0, 0]]}, [[0.5, 0.5]], [[4, 8]], {"x": [[1, 2]]}),
    ),
)

# y = x σ(x):  dx = dy ⊙ (σ + x σ (1 − σ))
SILU = elementwise(
    name="Silu",
    phrase="silu of {x}",
    about="x·σ(x).",
    meaning=lambda x: x * sigma(x),
    before="Let s be 1.0 / (1.0 + exp(-{x})).",
    value="{x} * s",
    slopes={"x": "(s + {x} * s * (1.0 - s))"},
    spelling="{x} * sigmoid({x})",
    formula="dx = dy ⊙ (σ + x σ (1 − σ)),  σ = σ(x)",
    examples=(
        Example("Let y be silu of x.", {"x": [[0, 0]]}, [[0, 0]], [[2, 6]], {"x": [[1, 3]]}),
    ),
)

ROOT_2_OVER_PI = float(np.sqrt(2.0 / np.pi))


def gelu(x: Array) -> Array:
    return x * sigma(2.0 * ROOT_2_OVER_PI * (x + 0.044715 * x**3))


# y = x s, s = σ(2z), z = √(2/π) (x + 0.044715 x³):  dx = dy ⊙ (s + x s (1 − s) 2 √(2/π) (1 + 0.134145 x²))
# Where x² is huge s (1 − s) is 0; x² is held below 1e60 so that the product is 0 and not 0 · ∞.
GELU = elementwise(
    name="Gelu",
    phrase="gelu of {x}",
    about="x·σ(2z), z = √(2/π)(x + 0.044715 x³): the form with tanh, not with erf.",
    meaning=gelu,
    before=f"""
        Let x2 be min({{x}} * {{x}}, 1e60).
        Let s be 1.0 / (1.0 + exp(-{2 * ROOT_2_OVER_PI!r} * {{x}} * (1.0 + 0.044715 * x2))).
    """,
    value="{x} * s",
    slopes={"x": f"(s + {{x}} * s * (1.0 - s) * {2 * ROOT_2_OVER_PI!r} * (1.0 + 0.134145 * x2))"},
    spelling=f"{{x}} * sigmoid({2 * ROOT_2_OVER_PI!r} * {{x}} * (1.0 + 0.044715 * {{x}} * {{x}}))",
    formula="dx = dy ⊙ (s + x s (1 − s) 2√(2/π) (1 + 0.134145 x²)),  s = σ(2√(2/π)(x + 0.044715 x³))",
    examples=(
        Example("Let y be gelu of x.", {"x": [[0, 0]]}, [[0, 0]], [[2, 6]], {"x": [[1, 3]]}),
        Example(
            "Let y be gelu of x.",
            {"x": [[1]]},
            [[0.8411919906082768]],
            [[1]],
            {"x": [[1.0829640838457826]]},
        ),
    ),
)

# y = max(x, 0):  dx = dy where x > 0, else 0 (at 0 too)
RELU = elementwise(
    name="Relu",
    phrase="relu of {x}",
    about="The larger of x and 0; slope 0 at 0. Of a tensor of Int it is the integer op.",
    meaning=lambda x: np.maximum(x, 0),
    kind=("x",),
    result="{y.kind}",
    before="",
    value="max({x}, 0)",
    slopes={},
    adjoint={
        "x": """
            Let {dx} be a {x.rows} by {x.columns} tensor of Real.
            Repeat for k from 1 to {x.size}:
                If item k of {x} > 0.0:
                    Set item k of {dx} to item k of {dy}.
        """
    },
    spelling="relu({x})",
    formula="dx = dy where x > 0, else 0",
    examples=(
        Example(
            "Let y be relu of x.", {"x": [[-1, 0, 2]]}, [[0, 0, 2]], [[5, 6, 7]], {"x": [[0, 0, 7]]}
        ),
        Example("Let y be relu of x.", {"x": [[-1, 0, 2]]}, [[0, 0, 2]], integers=("x",)),
    ),
)

# y = silu(g) ⊙ u:  dg = dy ⊙ u ⊙ (σ + g σ (1 − σ)),  du = dy ⊙ g σ
SWIGLU = elementwise(
    name="SwiGlu",
    phrase="swiglu of {g} and {u}",
    about="silu(g) ⊙ u.",
    meaning=lambda g, u: g * sigma(g) * u,
    before="Let s be 1.0 / (1.0 + exp(-{g})).",
    value="{g} * s * {u}",
    slopes={"g": "{u} * (s + {g} * s * (1.0 - s))", "u": "{g} * s"},
    spelling="{g} * sigmoid({g}) * {u}",
    formula="dg = dy ⊙ u ⊙ (σ + g σ (1 − σ)),  du = dy ⊙ g σ,  σ = σ(g)",
    examples=(
        Example(
            "Let y be swiglu of g and u.",
            {"g": [[0, 0]], "u": [[3, 5]]},
            [[0, 0]],
            [[2, 4]],
            {"g": [[3, 10]], "u": [[0, 0]]},
        ),
    ),
)

# y = l², l = x if x > 0 else x/2:  dx = dy ⊙ (2x if x > 0 else x/2) = dy ⊙ max(2x, x/2)
LEAKY_SQUARE = elementwise(
    name="LeakySquare",
    phrase="leaky square of {x}",
    about="The square of x where x > 0, of x/2 elsewhere; slope 0 at 0.",
    meaning=lambda x: np.where(x > 0, x, 0.5 * x) ** 2,
    before="Let l be max({x}, 0.5 * {x}).",
    value="l * l",
    slopes={},
    adjoint={
        "x": """
            Let {dx} be a {x.rows} by {x.columns} tensor of Real.
            Repeat for k from 1 to {x.size}:
                Let value be item k of {x}.
                Set item k of {dx} to (item k of {dy}) * max(2.0 * value, 0.5 * value).
        """
    },
    spelling="{xp}.where({x} > 0, {x}, 0.5 * {x}) ** 2",
    formula="dx = dy ⊙ max(2x, x/2)",
    examples=(
        Example(
            "Let y be leaky square of x.",
            {"x": [[-2, 0, 3]]},
            [[1, 0, 9]],
            [[1, 1, 2]],
            {"x": [[-1, 0, 12]]},
        ),
    ),
)

# y = C tanh(x/C):  dx = dy ⊙ (1 − (y/C)²)
SOFTCAP = elementwise(
    name="Softcap",
    phrase="{x} softcapped at {cap}",
    about="C·tanh(x/C): x near 0, never beyond ±C.",
    meaning=lambda x, cap: cap * np.tanh(x / cap),
    steepness=lambda y, cap: 1 - (y / cap) ** 2,
    value="{cap} * tanh({x} / {cap})",
    slopes={"x": "(1.0 - ({y} / {cap}) * ({y} / {cap}))"},
    spelling="{cap} * {xp}.tanh({x} / {cap})",
    formula="dx = dy ⊙ (1 − (y/C)²)",
    examples=(
        Example(
            "Let y be x softcapped at 2.0.", {"x": [[0, 0]]}, [[0, 0]], [[3, 5]], {"x": [[3, 5]]}
        ),
    ),
)

# y = tanh x:  dx = dy ⊙ (1 − y²)
TANH = elementwise(
    name="Tanh",
    phrase="tanh of {x}",
    about="The hyperbolic tangent.",
    meaning=lambda x: np.tanh(x),
    steepness=lambda y: 1 - y * y,
    value="tanh({x})",
    slopes={"x": "(1.0 - {y} * {y})"},
    spelling="{xp}.tanh({x})",
    formula="dx = dy ⊙ (1 − y²)",
    examples=(
        Example(
            "Let y be tanh of x.",
            {"x": [[0, float(np.arctanh(0.5))]]},
            [[0, 0.5]],
            [[3, 4]],
            {"x": [[3, 3]]},
        ),
    ),
)

# y = eˣ:  dx = dy ⊙ y
EXP = elementwise(
    name="Exp",
    phrase="exponential of {x}",
    about="e to the power of x.",
    meaning=lambda x: np.exp(x),
    value="exp({x})",
    slopes={},
    adjoint={"x": "Let {dx} be {dy} hadamard {y}."},
    spelling="{xp}.exp({x})",
    formula="dx = dy ⊙ y",
    examples=(
        Example(
            "Let y be exponential of x.",
            {"x": [[0, float(np.log(2))]]},
            [[1, 2]],
            [[3, 4]],
            {"x": [[3, 8]]},
        ),
    ),
)

# y = ln x:  dx = dy / x
LOG = elementwise(
    name="Log",
    phrase="logarithm of {x}",
    about="The natural logarithm; −infinity at 0, NaN below.",
    meaning=lambda x: np.log(x),
    value="log({x})",
    slopes={},
    adjoint={
        "x": """
            Let {dx} be a {x.rows} by {x.columns} tensor of Real.
            Repeat for k from 1 to {x.size}:
                Set item k of {dx} to (item k of {dy}) / (item k of {x}).
        """
    },
    spelling="{xp}.log({x})",
    formula="dx = dy / x",
    examples=(
        Example(
            "Let y be logarithm of x.",
            {"x": [[1, 0.5]]},
            [[0, float(-np.log(2))]],
            [[3, 4]],
            {"x": [[3, 8]]},
        ),
    ),
)

# y = √x:  dx = dy / (2y); 0 at x = 0, so that the norm of a zero vector has gradient 0 and not ∞ · 0
SQRT = elementwise(
    name="Sqrt",
    phrase="square root of {x}",
    about="The square root; NaN below 0. Its slope at 0 is taken as 0.",
    meaning=lambda x: np.sqrt(x),
    value="sqrt({x})",
    slopes={},
    adjoint={
        "x": """
            Let {dx} be a {x.rows} by {x.columns} tensor of Real.
            Repeat for k from 1 to {x.size}:
                If item k of {x} != 0.0:
                    Set item k of {dx} to (item k of {dy}) / (2.0 * (item k of {y})).
        """
    },
    spelling="root({x})",
    formula="dx = dy / (2y), 0 where x = 0",
    examples=(
        Example(
            "Let y be square root of x.",
            {"x": [[4, 0.25, 0]]},
            [[2, 0.5, 0]],
            [[8, 3, 5]],
            {"x": [[2, 3, 0]]},
        ),
    ),
)

# y = x²:  dx = 2 dy ⊙ x
SQUARE = elementwise(
    name="Square",
    phrase="square of {x}",
    about="x times itself.",
    meaning=lambda x: x * x,
    value="{x} * {x}",
    slopes={"x": "2.0 * {x}"},
    spelling="{x} * {x}",
    formula="dx = 2 dy ⊙ x",
    examples=(
        Example("Let y be square of x.", {"x": [[3, -1]]}, [[9, 1]], [[1, 2]], {"x": [[6, -4]]}),
    ),
)
