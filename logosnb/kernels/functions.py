"""exp, tanh and log, written so that LLVM makes vector code of them, and sums that it may reorder.

In: one number. Out: one number, within a few units in the last place in f64 and in f32. May not
know: kernels. Each function is free of branches: what a branch would choose is computed both ways.

exp: x = k ln 2 + r, |r| ≤ ln 2 / 2; eʳ by its Taylor polynomial; 2ᵏ by adding k to the exponent
bits (Cody & Waite, Software Manual for the Elementary Functions, chapter 6), in two halves, so that
results below the smallest normal number are right. k is rounded by adding a number whose last bit
counts ones, and is then read off its bits. A NaN passes through each step: no step asks for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import float32, float64, njit

from logosnb.kernels.native import intrinsic

Float = Any  # float32 or float64, as the kernel's tensors are


@intrinsic
def fast_add(typing_context: Any, a: Any, b: Any) -> Any:
    """a + b, which LLVM may reorder with others of its kind: the sum of a row in vector lanes."""
    kind = float64 if float64 in (a, b) else float32

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        left, right = (
            context.cast(builder, value, given, kind)
            for value, given in zip(arguments, signature.args)
        )
        return builder.fadd(left, right, flags=("reassoc", "nsz"))

    return kind(a, b), generate


def _extreme(name: str) -> Any:
    @intrinsic
    def extreme(typing_context: Any, a: Any, b: Any) -> Any:
        kind = float64 if float64 in (a, b) else float32

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            values = [
                context.cast(builder, value, given, kind)
                for value, given in zip(arguments, signature.args)
            ]
            type_ = values[0].type
            pair = ir.FunctionType(type_, [type_, type_])
            call = builder.module.declare_intrinsic(f"llvm.{name}", [type_], pair)
            return builder.call(call, values)

        return kind(a, b), generate

    return extreme


maximum, minimum = _extreme("maximum"), _extreme("minimum")  # NaN if either is


@intrinsic
def _exponent(typing_context: Any, value: Any) -> Any:
    """2ᵏ, where the last bits of `value` hold k."""
    wide = value == float64

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        whole = ir.IntType(64 if wide else 32)
        bits = builder.bitcast(arguments[0], whole)
        biased = builder.add(bits, whole(1023 if wide else 127))
        return builder.bitcast(builder.shl(biased, whole(52 if wide else 23)), arguments[0].type)

    return value(value), generate


_power_of_two: Callable[[Any], float] = _exponent
INV_LN2 = 1.0 / math.log(2.0)
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
MAGIC = 1.5 * 2.0**52
C2, C3, C4, C5, C6, C7, C8, C9, C10, C11, C12, C13 = (1.0 / math.factorial(n) for n in range(2, 14))


@njit(forceinline=True, error_model="numpy", fastmath={"contract"})
def exp64(x: float) -> float:
    above = -746.0 if x < -746.0 else x
    held = 710.0 if above > 710.0 else above
    rounded = held * INV_LN2 + MAGIC
    k = rounded - MAGIC
    r = (held - k * LN2_HIGH) - k * LN2_LOW
    r2 = r * r
    p = C13 * r + C12
    p = p * r + C11
    p = p * r + C10
    p = p * r + C9
    p = p * r + C8
    p = p * r + C7
    p = p * r + C6
    p = p * r + C5
    p = p * r + C4
    p = p * r + C3
    p = p * r + C2
    p = p * r2 + r + 1.0
    half = k * 0.5 + MAGIC
    rest = (k - (half - MAGIC)) + MAGIC
    return p * _power_of_two(half) * _power_of_two(rest)


F = np.float32
INV_LN2_F, LN2_HIGH_F, LN2_LOW_F = F(INV_LN2), F(0.693359375), F(-2.12194440e-4)
MAGIC_F = F(1.5 * 2.0**23)
C2_F, C3_F, C4_F, C5_F, C6_F, C7_F = (F(1.0 / math.factorial(n)) for n in range(2, 8))
LEAST_F, MOST_F = F(-104.0), F(89.0)
ZERO_F, HALF_F, ONE_F = F(0.0), F(0.5), F(1.0)


@njit(forceinline=True, error_model="numpy", fastmath={"contract"})
def exp32(x: Float) -> Float:
    above = LEAST_F if x < LEAST_F else x
    held = MOST_F if above > MOST_F else above
    rounded = held * INV_LN2_F + MAGIC_F
    k = rounded - MAGIC_F
    r = (held - k * LN2_HIGH_F) - k * LN2_LOW_F
    p = C7_F * r + C6_F
    p = p * r + C5_F
    p = p * r + C4_F
    p = p * r + C3_F
    p = p * r + C2_F
    p = p * (r * r) + r + ONE_F
    half = k * HALF_F + MAGIC_F
    rest = (k - (half - MAGIC_F)) + MAGIC_F
    return p * _power_of_two(half) * _power_of_two(rest)


# tanh: a rational approximation near 0 (Cephes, tanh.c), elsewhere 1 − 2 / (e²ˣ + 1).
P0, P1, P2 = -9.64399179425052238628e-1, -9.92877231001918586564e1, -1.61468768441708447952e3
Q0, Q1, Q2 = 1.12811678491632931402e2, 2.23548839060100448583e3, 4.84406305325125486048e3


@njit(forceinline=True, error_model="numpy", fastmath={"contract"})
def tanh64(x: float) -> float:
    size = abs(x)
    z = x * x
    near = x + x * z * ((P0 * z + P1) * z + P2) / (((z + Q0) * z + Q1) * z + Q2)
    far = 1.0 - 2.0 / (exp64(2.0 * size) + 1.0)
    far = -far if x < 0.0 else far
    return near if size < 0.625 else far


# In f32 a quotient of polynomials over all of −8 … 8, beyond which tanh is 1 in f32 (the coefficients are
# those of Eigen, MathFunctionsImpl.h, ptanh).
ODD = [F(c) for c in (
    -2.76076847742355e-16, 2.00018790482477e-13, -8.60467152213735e-11, 5.12229709037114e-08,
    1.48572235717979e-05, 6.37261928875436e-04, 4.89352455891786e-03,
)]  # fmt: skip
EVEN = [
    F(c)
    for c in (
        1.19825839466702e-06,
        1.18534705686654e-04,
        2.26843463243900e-03,
        4.89352518554385e-03,
    )
]
A13, A11, A9, A7, A5, A3, A1 = ODD
B6, B4, B2, B0 = EVEN
EDGE_F, NINE_F = F(7.90531110763549805), F(9.0)


@njit(forceinline=True, error_model="numpy", fastmath={"contract"})
def tanh32(x: Float) -> Float:
    above = -EDGE_F if x < -EDGE_F else x
    held = EDGE_F if above > EDGE_F else above
    z = held * held
    p = A13 * z + A11
    p = p * z + A9
    p = p * z + A7
    p = p * z + A5
    p = p * z + A3
    p = p * z + A1
    q = B6 * z + B4
    q = q * z + B2
    q = q * z + B0
    inside = held * (p / q)
    return (ONE_F if x > ZERO_F else -ONE_F) if abs(x) > NINE_F else inside


# log: x = 2ᵉ m, m in [√½, √2); f = m − 1, s = f / (2 + f); log m = f − f²/2 + s (f²/2 + R(s²)), R a
# polynomial (fdlibm, e_log.c; for f32 that of FreeBSD, e_logf.c).
LOWEST, LOWEST_F = float(np.sqrt(0.5)), F(np.sqrt(0.5))


def _split_of(part: str) -> Any:
    @intrinsic
    def split(typing_context: Any, value: Any) -> Any:
        """e, or m, of a positive normal number."""
        wide = value == float64

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            whole = ir.IntType(64 if wide else 32)
            shift = whole(52 if wide else 23)
            lowest = np.float64(LOWEST).view(np.int64) if wide else LOWEST_F.view(np.int32)
            one = whole((1023 << 52) if wide else (127 << 23))
            bits = builder.bitcast(arguments[0], whole)
            above = builder.add(builder.sub(bits, whole(int(lowest))), one)
            biased = builder.lshr(above, shift)  # e + 1023, so that no sign is shifted
            if part == "power":
                # To a number by way of 2⁵² + it: AVX2 converts no 64-bit whole numbers.
                base = 2.0**52 if wide else 2.0**23
                kind = np.float64(base) if wide else np.float32(base)
                pattern = whole(int(kind.view(np.int64 if wide else np.int32)))
                raised = builder.bitcast(builder.or_(biased, pattern), arguments[0].type)
                return builder.fsub(raised, arguments[0].type(base + (1023 if wide else 127)))
            scaled = builder.sub(builder.shl(biased, shift), one)
            return builder.bitcast(builder.sub(bits, scaled), arguments[0].type)

        return value(value), generate

    return split


_power, _fraction = _split_of("power"), _split_of("fraction")
TINY, RAISED = 2.0**-1022, 2.0**54
L1, L2, L3, L4, L5, L6, L7 = (
    6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01,
    2.222219843214978396e-01, 1.818357216161805012e-01, 1.531383769920937332e-01,
    1.479819860511658591e-01,
)  # fmt: skip


@njit(forceinline=True, error_model="numpy")
def log64(x: float) -> float:
    small = x < TINY
    held = x * RAISED if small else x
    power = _power(held) - (54.0 if small else 0.0)
    f = _fraction(held) - 1.0
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    r = z * (L1 + w * (L3 + w * (L5 + w * L7))) + w * (L2 + w * (L4 + w * L6))
    half = 0.5 * f * f
    found = power * LN2_HIGH - ((half - (s * (half + r) + power * LN2_LOW)) - f)
    found = found if x < math.inf else x  # infinity and NaN are their own logarithms
    return found if x > 0.0 else (-math.inf if x == 0.0 else math.nan)


TINY_F, RAISED_F, LIFT_F, TWO_F = F(2.0**-126), F(2.0**25), F(25.0), F(2.0)
L1_F, L2_F, L3_F, L4_F = F(0.66666662693), F(0.40000972152), F(0.28498786688), F(0.24279078841)
LOG_HIGH_F, LOG_LOW_F = F(6.9313812256e-01), F(9.0580006145e-06)
INF_F, NAN_F = F(math.inf), F(math.nan)


@njit(forceinline=True, error_model="numpy")
def log32(x: Float) -> Float:
    small = x < TINY_F
    held = x * RAISED_F if small else x
    power = _power(held) - (LIFT_F if small else ZERO_F)
    f = _fraction(held) - ONE_F
    s = f / (TWO_F + f)
    z = s * s
    w = z * z
    r = z * (L1_F + w * L3_F) + w * (L2_F + w * L4_F)
    half = HALF_F * f * f
    found = power * LOG_HIGH_F - ((half - (s * (half + r) + power * LOG_LOW_F)) - f)
    found = found if x < INF_F else x
    return found if x > ZERO_F else (-INF_F if x == ZERO_F else NAN_F)


# ---- what generated kernels call besides -----------------------------------------------------------


@njit(error_model="numpy")
def power(a: Float, b: Float) -> Float:
    return a**b


@njit(error_model="numpy")
def remainder(a: Float, b: Float) -> Float:
    return math.fmod(a, b)


@njit(error_model="numpy")
def quotient(a: int, b: int) -> int:
    """`/` of Ints truncates toward zero."""
    found = a // b
    return found + 1 if found < 0 and found * b != a else found


@njit(error_model="numpy")
def rest(a: int, b: int) -> int:
    """The remainder of `/`."""
    return a - b * quotient(a, b)


@njit(error_model="numpy")
def half_away(x: Float) -> Float:
    whole = math.floor(abs(x))
    whole = whole + 1.0 if abs(x) - whole >= 0.5 else whole
    return -whole if x < 0.0 else whole


@njit
def grown(items: Any) -> Any:
    """A Seq with room for twice as many items."""
    larger = np.empty(2 * items.shape[0], items.dtype)
    larger[: items.shape[0]] = items
    return larger


@njit
def holds(items: Any, count: int, value: Any) -> bool:
    for place in range(count):  # noqa: SIM110  # a generator does not compile
        if items[place] == value:
            return True
    return False
