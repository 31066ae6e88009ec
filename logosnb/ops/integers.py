"""Integer ops, as quantized networks use them: exact in 64 bits, without a gradient.

In: tensors of Int. Out: the blocks of IntRequant, IntClamp. May not know: stages.
"""

from __future__ import annotations

import numpy as np

from logosnb.ops.op import Array, Example, NoGradient, Op, Operands, OpError, require
from logosnb.ops.rules import same_as

HALF = 2**31  # the product of two magnitudes below this is within 64 bits
EDGES = np.iinfo(np.int64)
OUTSIDE = "an element of the result is {}, which does not fit into the 64 bits of a tensor of Int"


def requantized(x: Array, multiplier: int, shift: int) -> Array:
    """The product may need more than 64 bits where the shifted result does not."""
    if abs(multiplier) < HALF and x.min() > -HALF and x.max() < HALF:
        return (x * multiplier) >> min(shift, 63)
    return in_64_bits((x.astype(object) * multiplier) >> shift)


def in_64_bits(exact: Array) -> Array:
    """Whole numbers of any size as a tensor of Int holds them; OpError where one does not fit."""
    if exact.dtype == np.int64:
        return exact
    for value in exact.flat:
        if not EDGES.min <= value <= EDGES.max:
            raise OpError(OUTSIDE.format(value))
    return exact.astype(np.int64)


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
    require(s.low <= s.high, f"{s.low} is above {s.high}, so nothing lies between them", "x")
    return s.x.rows, s.x.columns


def clamped(x: Array, low: int, high: int) -> Array:
    """A bound past 64 bits bounds nothing from its own side, and cannot be held from the other."""
    if low > EDGES.max or high < EDGES.min:
        raise OpError(OUTSIDE.format(low if low > EDGES.max else high))
    return np.clip(x, max(low, int(EDGES.min)), min(high, int(EDGES.max)))


INT_CLAMP = Op(
    name="IntClamp",
    phrase="{x} clamped between {low} and {high}",
    about="Each element, held between two whole numbers.",
    shape=clamp_shape,
    meaning=clamped,
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
