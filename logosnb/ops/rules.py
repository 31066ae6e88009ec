"""Shape rules and integer arithmetic that several op files share.

In: operands as `op.Op` describes them. Out: shapes, exact arrays. May not know: any one op.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from logosnb.ops.op import Array, Operands, OpError, Shape, require

LARGEST = 2.0**62  # a float estimate below this is surely within 64 bits


def same_as(hole: str) -> Callable[[Operands], Shape]:
    """The shape rule of an op whose result has the shape of one operand."""

    def shape(operands: Operands) -> Shape:
        found: Shape = getattr(operands, hole)
        return found

    return shape


def matmul_shape(s: Operands) -> tuple[int, int]:
    require(s.a.columns == s.b.rows, "the columns of {a} must be the rows of {b}", "a", "b")
    return s.a.rows, s.b.columns


def repeated_shape(s: Operands) -> tuple[int, int]:
    """b has the shape of a, or is one row, one column or one number that repeats."""
    fits = s.b.rows in (1, s.a.rows) and s.b.columns in (1, s.a.columns)
    require(fits, "{b} must have the shape of {a}, or repeat over its rows or columns", "a", "b")
    return s.a.rows, s.a.columns


def equal_shapes(first: str, second: str) -> Callable[[Operands], Shape]:
    def shape(operands: Operands) -> Shape:
        found: Shape = getattr(operands, first)
        same = found == getattr(operands, second)
        require(same, f"{{{first}}} and {{{second}}} must have the same shape", first, second)
        return found

    return shape


def divides(parts: int, size: int, reason: str, hole: str) -> None:
    require(size % parts == 0, reason, hole)


def exactly(
    compute: Callable[..., Array], *operands: Array, bound: Callable[..., Array] | None = None
) -> Array:
    """Integer arithmetic in 64 bits; where the result may not fit it is computed exactly, and refused
    if it does not.

    bound: what, of the operands' magnitudes, no result exceeds in magnitude; `compute` itself where
    left out, which is right for sums and products, and wrong for a difference.
    """
    if any(operand.dtype.kind == "f" for operand in operands):
        return compute(*operands)
    most = (bound or compute)(*(np.abs(operand.astype(np.float64)) for operand in operands))
    if most.size == 0 or most.max() < LARGEST:
        return compute(*operands)
    exact = compute(*(operand.astype(object) for operand in operands))
    for value in exact.flat:
        if not -(2**63) <= value < 2**63:
            raise OpError(
                f"an element of the result is {value}, which does not fit into the 64 bits of a "
                "tensor of Int"
            )
    return exact.astype(np.int64)
