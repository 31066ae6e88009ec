"""What attention does to one row of a block of scores, and products over what is attended alone.

In: pointers to f32 or f64. Out: functions that the kernels of attention_code.py call. May not know:
addresses, heads.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import float32, njit
from numba.extending import overload

from logosnb.kernels.functions import exp32, exp64, fast_add, maximum, tanh32, tanh64


def _of_kind(narrow: Any, wide: Any) -> Any:
    """A function of a number, in the precision of that number."""

    def choose(x: Any) -> Any:
        raise NotImplementedError

    def in_narrow(x: Any) -> Any:
        return narrow(x)

    def in_wide(x: Any) -> Any:
        return wide(x)

    @overload(choose, jit_options={"forceinline": True})
    def _(x: Any) -> Any:
        return in_narrow if x == float32 else in_wide

    return choose


@njit
def one32(x: Any) -> Any:
    return np.float32(1.0)


@njit
def one64(x: Any) -> Any:
    return 1.0


exp, tanh = _of_kind(exp32, exp64), _of_kind(tanh32, tanh64)
one = _of_kind(one32, one64)  # an Int literal among f32 would make f64 of them


@njit(error_model="numpy")
def finite(items: Any, wide: int, first: int, last: int, width: int) -> bool:
    """Whether rows first … last of a part of a matrix hold neither NaN nor infinity."""
    zero = one(items[0]) - one(items[0])
    for row in range(first, last + 1):
        total = zero
        for i in range(width):
            total = fast_add(total, items[np.uint64(row * wide + i)] * zero)
        if total != zero:
            return False
    return True


@njit(error_model="numpy")
def raised_row(
    row: Any, low: int, high: int, wide: int, before: Any, cap: Any
) -> tuple[Any, float]:
    """exp(s − m) in place of the scores low … high, zeros elsewhere; the largest score m so far, and the
    sum of what stands there."""
    largest, zero = before, one(cap) - one(cap)
    if cap != zero:
        for j in range(low, high + 1):
            row[np.uint64(j)] = cap * tanh(row[np.uint64(j)] / cap)
    for j in range(low, high + 1):
        largest = maximum(largest, row[np.uint64(j)])
    shift = largest if largest != -np.inf else zero
    total = zero
    for j in range(low, high + 1):
        weight = exp(row[np.uint64(j)] - shift)
        row[np.uint64(j)] = weight
        total = fast_add(total, weight)
    for j in range(low):
        row[np.uint64(j)] = 0
    for j in range(max(high + 1, 0), wide):
        row[np.uint64(j)] = 0
    return largest, np.float64(total)


@njit(error_model="numpy")
def slopes_of_row(
    shares: Any, slopes: Any, low: int, high: int, wide: int, shift: Any, share: Any, expected: Any,
    scale: Any, cap: Any,
) -> None:  # fmt: skip
    """From scores and dp to weights p and the slopes of the products q·k, zeros outside low … high."""
    capped = cap != 0
    for j in range(low, high + 1):
        score = shares[np.uint64(j)]
        steep = scale
        if capped:
            bent = tanh(score / cap)
            score = cap * bent
            steep = scale * (one(cap) - bent * bent)
        weight = exp(score - shift) * share
        shares[np.uint64(j)] = weight
        slopes[np.uint64(j)] = weight * (slopes[np.uint64(j)] - expected) * steep
    for j in range(low):
        shares[np.uint64(j)] = 0
        slopes[np.uint64(j)] = 0
    for j in range(max(high + 1, 0), wide):
        shares[np.uint64(j)] = 0
        slopes[np.uint64(j)] = 0


@njit(error_model="numpy")
def expected_of_row(
    shares: Any, slopes: Any, low: int, high: int, shift: Any, share: Any, cap: Any
) -> float:
    """Σ p dp over what a row attends, from scores and dp."""
    total = 0.0
    for j in range(low, high + 1):
        score = shares[np.uint64(j)]
        bent = cap * tanh(score / cap) if cap != 0 else score
        total += exp(bent - shift) * share * slopes[np.uint64(j)]
    return total


@njit(error_model="numpy")
def add_attended(
    out: Any, wide_out: int, weights: Any, values: Any, wide_values: int, lows: Any, highs: Any,
    begin: int, wide: int, count: int, width: int, apart: int, fresh: bool, turned: bool, skip: bool,
) -> None:  # fmt: skip
    """out += weights values, or weightsᵀ values if turned, over the keys that each row attends, and
    without weights of 0 if those are to be skipped. apart: items from one row of weights to the next;
    fresh: out starts at 0."""
    if fresh:
        for r in range(count):
            for i in range(width):
                out[np.uint64(r * wide_out + i)] = 0
    for r in range(count):
        for j in range(max(lows[r] - begin, 0), min(highs[r] - begin, wide - 1) + 1):
            weight = weights[np.uint64(r * apart + j)]
            if skip and weight == 0:
                continue
            to, of = (j, r) if turned else (r, j)
            for i in range(width):
                out[np.uint64(to * wide_out + i)] += weight * values[np.uint64(of * wide_values + i)]

