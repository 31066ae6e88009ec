"""Attention in blocks of keys, forward and backward, written by hand: the scores of a block of rows stand
in a small buffer, and all else goes through matrix products.

In: addresses and sizes. Out: the kernels `forward` and `backward`, which build.py compiles. May not
know: programs.

Forward (Milakov & Gimelshein, Online normalizer calculation for softmax; Dao, FlashAttention): the
largest score m and the sum l of exp(s − m) of each row are kept up to date block by block, what was
summed before is scaled by exp(m before − m). It leaves m and 1/l of each row and head in `stats`, from
which the backward has the weights p = exp(s − m)/l again, block by block:

    D = dy·y,  ds = p (dp − D) α (1 − (s/C)²),  dv += pᵀ dy,  dq += ds k,  dk += dsᵀ q

A value that a row does not attend is not read, be it NaN, and a product with zeros would read it: where q,
k, v or dy hold what is not finite, a kernel gives status 2, and the general loops run instead. All is
written for f32; blas.of_dtype makes it f64.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from logosnb.kernels.functions import exp32, fast_add, maximum, tanh32

if TYPE_CHECKING:
    from logosnb.kernels.native import asked, gemm32, real_of, reals32

ROWS, KEYS = 128, 128  # of a block of scores
ZERO, ONE, INFINITY = np.float32(0.0), np.float32(1.0), np.float32(np.inf)


@njit(error_model="numpy")
def finite(items: Any, wide: int, first: int, last: int, width: int) -> bool:
    """Whether rows first … last of a part of a matrix hold neither NaN nor infinity."""
    for row in range(first, last + 1):
        total = ZERO
        for i in range(width):
            total = fast_add(total, items[row * wide + i] * ZERO)
        if total != ZERO:
            return False
    return True


@njit(error_model="numpy")
def dot(a: Any, b: Any, start: int, width: int) -> Any:
    total = ZERO
    for i in range(start, start + width):
        total = fast_add(total, a[i] * b[i])
    return total


@njit(error_model="numpy")
def raised_row(row: Any, low: int, high: int, wide: int, before: Any, cap: Any) -> Any:
    """exp(s − m) in place of the scores low … high, zeros elsewhere; the largest score m so far, and the
    sum of what stands there."""
    largest = before
    if cap != ZERO:
        for j in range(low, high + 1):
            row[j] = cap * tanh32(row[j] / cap)
    for j in range(low, high + 1):
        largest = maximum(largest, row[j])
    shift = largest if largest != -INFINITY else ZERO
    total = ZERO
    for j in range(low, high + 1):
        weight = exp32(row[j] - shift)
        row[j] = weight
        total = fast_add(total, weight)
    cleared(row, low, high, wide)
    return largest, total


@njit(error_model="numpy")
def slopes_of_row(
    shares: Any, slopes: Any, low: int, high: int, wide: int, shift: Any, share: Any, expected: Any,
    scale: Any, cap: Any,
) -> None:  # fmt: skip
    """From scores and dp to weights p and the slopes of the products q·k, zeros outside low … high."""
    for j in range(low, high + 1):
        score = shares[j]
        steep = scale
        if cap != ZERO:
            bent = tanh32(score / cap)
            score = cap * bent
            steep = scale * (ONE - bent * bent)
        weight = exp32(score - shift) * share
        shares[j] = weight
        slopes[j] = weight * (slopes[j] - expected) * steep
    cleared(shares, low, high, wide)
    cleared(slopes, low, high, wide)


@njit(error_model="numpy")
def cleared(row: Any, low: int, high: int, wide: int) -> None:
    for j in range(low):
        row[j] = ZERO
    for j in range(max(high + 1, 0), wide):
        row[j] = ZERO


def forward(bases: Any, scalars: Any, words: Any, first: int, last: int, piece: int) -> int:
    """Units first … last, each a head and a block of rows, the longest rows first.

    words: slots of y, q, k, v, stats, sinks; gemm's address; rows of q and of k; heads, heads that share
    a key head; widths of a head of q and of v; position, window, chunk, 0 if there is none; whether there
    are sinks; the bits of the scale and of the cap, 0.0 if there is none.
    """
    sinks = reals32(bases[words[5]])
    gemm, rows, keys, heads, sharing = words[6], words[7], words[8], words[9], words[10]
    width, value_width = words[11], words[12]
    position, window, chunk = words[13], words[14], words[15]
    scale, cap = np.float32(real_of(words[17])), np.float32(real_of(words[18]))
    wide_q, wide_k = heads * width, heads // sharing * width
    wide_v, wide_y = heads // sharing * value_width, heads * value_width
    stats = reals32(bases[words[4]])
    scores = np.empty(ROWS * KEYS, np.float32)
    lows, highs = np.empty(ROWS, np.int64), np.empty(ROWS, np.int64)
    largest, total = np.empty(ROWS, np.float32), np.empty(ROWS, np.float64)
    blocks = (rows + ROWS - 1) // ROWS
    for unit in range(first - 1, last):
        if asked(bases[0]) != 0:
            return 1
        head, start = unit % heads, (blocks - 1 - unit // heads) * ROWS
        count, group = min(ROWS, rows - start), unit % heads // sharing
        from_q = bases[words[1]] + 4 * (start * wide_q + head * width)
        from_k = bases[words[2]] + 4 * group * width
        from_v = bases[words[3]] + 4 * group * value_width
        from_y = bases[words[0]] + 4 * (start * wide_y + head * value_width)
        y = reals32(from_y)
        for r in range(count):
            highs[r] = position + start + r - 1 if position > 0 else keys - 1
            lows[r] = max(0, highs[r] - window + 1) if window > 0 else 0
            lows[r] = highs[r] // chunk * chunk if chunk > 0 else lows[r]
            largest[r] = sinks[head] if words[16] != 0 else -INFINITY
            total[r] = 1.0 if largest[r] != -INFINITY else 0.0
        oldest, newest = lows[0], highs[count - 1]
        if not finite(reals32(from_v), wide_v, oldest, newest, value_width):
            return 2
        for begin in range(oldest, newest + 1, KEYS):
            wide = min(KEYS, newest + 1 - begin)
            gemm32(
                gemm, 1, 0, wide, count, width, scale, reals32(from_k + 4 * begin * wide_k), wide_k,
                reals32(from_q), wide_q, ZERO, reals32(scores.ctypes.data), KEYS,
            )  # fmt: skip
            for r in range(count):
                low, high = max(lows[r] - begin, 0), min(highs[r] - begin, wide - 1)
                before = largest[r]
                row = reals32(scores.ctypes.data + 4 * KEYS * r)
                largest[r], added = raised_row(row, low, high, wide, before, cap)
                shift = ZERO if largest[r] == -INFINITY else largest[r]
                faded = exp32(before - shift)
                total[r] = total[r] * faded + added
                if begin != oldest and faded != ONE:
                    for i in range(value_width):
                        y[r * wide_y + i] *= faded
            kept = ZERO if begin == oldest else ONE
            gemm32(
                gemm, 0, 0, value_width, count, wide, ONE,
                reals32(from_v + 4 * begin * wide_v), wide_v, reals32(scores.ctypes.data), KEYS,
                kept, y, wide_y,
            )  # fmt: skip
        for r in range(count):
            share = np.float32(1.0 / (total[r] if total[r] != 0.0 else 1.0))
            at = ((start + r) * heads + head) * 2
            stats[at] = ZERO if largest[r] == -INFINITY else largest[r]
            stats[at + 1] = share
            for i in range(value_width):
                y[r * wide_y + i] *= share
    return 0


def backward(bases: Any, scalars: Any, words: Any, first: int, last: int, piece: int) -> int:
    """Key heads first … last, each with all heads that share it, in blocks of rows and of keys.

    words: slots of q, k, v, dy, y, stats, sinks, dq, dk, dv, dsinks; gemm's address; rows of q and of k;
    heads, heads that share a key head; widths of a head of q and of v; position, window, chunk; which
    of dq, dk, dv, dsinks are wanted; the bits of the scale and of the cap. It adds to dq, dk, dv, dsinks.
    """
    gemm, rows, keys, heads, sharing = words[11], words[12], words[13], words[14], words[15]
    width, value_width = words[16], words[17]
    position, window, chunk = words[18], words[19], words[20]
    scale, cap = np.float32(real_of(words[25])), np.float32(real_of(words[26]))
    wide_q, wide_k = heads * width, heads // sharing * width
    wide_v, wide_y = heads // sharing * value_width, heads * value_width
    stats, sinks, dsinks = (
        reals32(bases[words[5]]),
        reals32(bases[words[6]]),
        reals32(bases[words[10]]),
    )
    shares, slopes = np.empty(ROWS * KEYS, np.float32), np.empty(ROWS * KEYS, np.float32)
    at_shares, at_slopes = reals32(shares.ctypes.data), reals32(slopes.ctypes.data)
    lows, highs = np.empty(ROWS, np.int64), np.empty(ROWS, np.int64)
    expected = np.empty(ROWS, np.float32)
    for unit in range((first - 1) * sharing, last * sharing):
        head, group = unit, unit // sharing
        for start in range(0, rows, ROWS):
            if asked(bases[0]) != 0:
                return 1
            count = min(ROWS, rows - start)
            from_q = reals32(bases[words[0]] + 4 * (start * wide_q + head * width))
            from_dq = reals32(bases[words[7]] + 4 * (start * wide_q + head * width))
            from_dy = reals32(bases[words[3]] + 4 * (start * wide_y + head * value_width))
            from_y = reals32(bases[words[4]] + 4 * (start * wide_y + head * value_width))
            for r in range(count):
                highs[r] = position + start + r - 1 if position > 0 else keys - 1
                lows[r] = max(0, highs[r] - window + 1) if window > 0 else 0
                lows[r] = highs[r] // chunk * chunk if chunk > 0 else lows[r]
                expected[r] = dot(from_dy, from_y, r * wide_y, value_width)
            oldest, newest = lows[0], highs[count - 1]
            all_k = reals32(bases[words[1]] + 4 * group * width)
            all_v = reals32(bases[words[2]] + 4 * group * value_width)
            if not (
                finite(all_k, wide_k, oldest, newest, width)
                and finite(all_v, wide_v, oldest, newest, value_width)
                and finite(from_q, wide_q, 0, count - 1, width)
                and finite(from_dy, wide_y, 0, count - 1, value_width)
            ):
                return 2
            for begin in range(oldest, newest + 1, KEYS):
                wide = min(KEYS, newest + 1 - begin)
                from_k = reals32(bases[words[1]] + 4 * (begin * wide_k + group * width))
                from_v = reals32(bases[words[2]] + 4 * (begin * wide_v + group * value_width))
                gemm32(
                    gemm, 1, 0, wide, count, width, scale, from_k, wide_k, from_q, wide_q, ZERO,
                    at_shares, KEYS,
                )  # fmt: skip
                gemm32(
                    gemm, 1, 0, wide, count, value_width, ONE, from_v, wide_v, from_dy, wide_y,
                    ZERO, at_slopes, KEYS,
                )  # fmt: skip
                for r in range(count):
                    low, high = max(lows[r] - begin, 0), min(highs[r] - begin, wide - 1)
                    at = ((start + r) * heads + head) * 2
                    slopes_of_row(
                        reals32(shares.ctypes.data + 4 * KEYS * r),
                        reals32(slopes.ctypes.data + 4 * KEYS * r), low, high, wide, stats[at],
                        stats[at + 1], expected[r], scale, cap,
                    )  # fmt: skip
                if words[23] != 0:
                    from_dv = bases[words[9]] + 4 * (begin * wide_v + group * value_width)
                    gemm32(
                        gemm, 0, 1, value_width, wide, count, ONE, from_dy, wide_y, at_shares, KEYS,
                        ONE, reals32(from_dv), wide_v,
                    )  # fmt: skip
                if words[21] != 0:
                    gemm32(
                        gemm, 0, 0, width, count, wide, ONE, from_k, wide_k, at_slopes, KEYS, ONE,
                        from_dq, wide_q,
                    )  # fmt: skip
                if words[22] != 0:
                    from_dk = bases[words[8]] + 4 * (begin * wide_k + group * width)
                    gemm32(
                        gemm, 0, 1, width, wide, count, ONE, from_q, wide_q, at_slopes, KEYS, ONE,
                        reals32(from_dk), wide_k,
                    )  # fmt: skip
            if words[24] != 0:
                for r in range(count):
                    at = ((start + r) * heads + head) * 2
                    weight = exp32(sinks[head] - stats[at]) * stats[at + 1]
                    dsinks[head] -= weight * expected[r]
    return 0
