"""Arithmetic of a running program, where its types are not known before, or Python differs.

In: numbers (anything else is a Fault). Out: int for Ints, float otherwise; Reals are IEEE
throughout, so a Real never raises. May not know: trees. An Int that is too large for a Real raises
OverflowError, which errors.py knows.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from logosnb.interpreter.fault import Fault
from logosnb.interpreter.values import kind

Number = int | float
NAN, INFINITY = math.nan, math.inf
MOST_BITS = 1 << 24  # of an Int power: five million digits, computed in a second or so


def require_numbers(sign: str, *operands: Any) -> None:
    """A Fault unless all are numbers."""
    if all(type(operand) in (int, float) for operand in operands):
        return
    plural = "numbers" if len(operands) > 1 else "a number"
    hint = (
        ": Texts are joined by `combined with`"
        if sign == "+" and str in map(type, operands)
        else ""
    )
    raise Fault(f"`{sign}` needs {plural}, not {' and '.join(map(kind, operands))}{hint}")


def add(left: Any, right: Any) -> Number:
    require_numbers("+", left, right)
    result: Number = left + right
    return result


def subtract(left: Any, right: Any) -> Number:
    require_numbers("-", left, right)
    result: Number = left - right
    return result


def multiply(left: Any, right: Any) -> Number:
    require_numbers("*", left, right)
    result: Number = left * right
    return result


def negate(operand: Any) -> Number:
    require_numbers("-", operand)
    result: Number = -operand
    return result


def magnitude(operand: Any) -> Number:
    """`abs`."""
    require_numbers("abs", operand)
    result: Number = abs(operand)
    return result


# ---- division ---------------------------------------------------------------------------------


def divide(left: Any, right: Any) -> Number:
    """`/`: of Ints truncated toward zero, of Reals the IEEE quotient."""
    require_numbers("/", left, right)
    if type(left) is int and type(right) is int:
        return divide_ints(left, right)
    return left / right if right else divide_by_zero(left, right)


def divide_ints(left: int, right: int) -> int:
    """The quotient truncated toward zero."""
    floored = left // right
    return floored + 1 if floored < 0 and floored * right != left else floored


def divide_by_zero(left: Number, right: Number) -> float:
    """left / ±0.0: an infinity of the product of the signs, NaN for 0/0."""
    if left == 0 or left != left:
        return NAN
    return math.copysign(INFINITY, left) * math.copysign(1.0, right)


def floor_divide(left: Any, right: Any) -> Number:
    """`//`: the quotient, floored."""
    require_numbers("//", left, right)
    if type(left) is int and type(right) is int:
        return left // right
    quotient = divide(float(left), float(right))
    return float(np.floor(quotient))


def remainder(left: Any, right: Any) -> Number:
    """`%`: what `/` leaves, with the sign of the dividend; fmod for Reals."""
    require_numbers("%", left, right)
    if type(left) is int and type(right) is int:
        return remainder_ints(left, right)
    left, right = float(left), float(right)
    return NAN if right == 0 or math.isinf(left) else math.fmod(left, right)


def remainder_ints(left: int, right: int) -> int:
    rest = left % right
    return rest - right if rest and (rest < 0) != (left < 0) else rest


# ---- powers -----------------------------------------------------------------------------------


def power(base: Any, exponent: Any) -> Number:
    """`**`: exact for Ints, C's pow for Reals."""
    require_numbers("**", base, exponent)
    if type(base) is int and type(exponent) is int:
        return _power_of_ints(base, exponent)
    return _power_of_reals(float(base), float(exponent))


def _power_of_ints(base: int, exponent: int) -> int:
    if exponent < 0:
        raise Fault(
            f"an Int to the negative Int {exponent} is no Int: write one of the two as a Real"
        )
    if base.bit_length() * exponent > MOST_BITS and abs(base) > 1:
        raise Fault("this power is too large an Int to compute")
    result: int = base**exponent
    return result


def _power_of_reals(base: float, exponent: float) -> float:
    try:
        result = base**exponent
    except (OverflowError, ZeroDivisionError):
        with np.errstate(all="ignore"):
            return float(np.power(base, exponent))
    return NAN if isinstance(result, complex) else result


# ---- functions --------------------------------------------------------------------------------


def square_root(operand: Any) -> float:
    require_numbers("sqrt", operand)
    value = float(operand)
    return NAN if value < 0 else math.sqrt(value)


def exponential(operand: Any) -> float:
    require_numbers("exp", operand)
    value = float(operand)
    try:
        return math.exp(value)
    except OverflowError:
        return INFINITY


def logarithm(operand: Any) -> float:
    require_numbers("log", operand)
    value = float(operand)
    if value > 0:
        return math.log(value)
    return -INFINITY if value == 0 else NAN


def hyperbolic_tangent(operand: Any) -> float:
    require_numbers("tanh", operand)
    return math.tanh(operand)


def sine(operand: Any) -> float:
    require_numbers("sin", operand)
    value = float(operand)
    return NAN if math.isinf(value) else math.sin(value)


def cosine(operand: Any) -> float:
    require_numbers("cos", operand)
    value = float(operand)
    return NAN if math.isinf(value) else math.cos(value)


def smallest(*operands: Any) -> Number:
    """`min`: NaN if one is; a Real if one is."""
    return _extreme("min", operands)


def largest(*operands: Any) -> Number:
    """`max`: NaN if one is; a Real if one is."""
    return _extreme("max", operands)


def _extreme(name: str, operands: tuple[Any, ...]) -> Number:
    require_numbers(name, *operands)
    reals = any(type(operand) is float for operand in operands)
    numbers = [float(operand) for operand in operands] if reals else operands
    if any(number != number for number in numbers):
        return NAN
    return min(numbers) if name == "min" else max(numbers)


def floor(operand: Any) -> int:
    return math.floor(_finite("floor", operand))


def ceiling(operand: Any) -> int:
    return math.ceil(_finite("ceil", operand))


def rounded(operand: Any) -> int:
    """`round`: to the nearest Int, a half away from zero."""
    value = _finite("round", operand)
    whole = math.floor(abs(value))
    if abs(value) - whole >= 0.5:
        whole += 1
    return -whole if value < 0 else whole


def _finite(name: str, operand: Any) -> Number:
    require_numbers(name, operand)
    if type(operand) is float and not math.isfinite(operand):
        raise Fault(f"`{name}` of {'NaN' if operand != operand else 'an infinity'} is no Int")
    number: Number = operand
    return number


def whole(operand: Any, what: str) -> int:
    """An Int, or a Fault that begins with `what`."""
    if type(operand) is not int:
        raise Fault(f"{what} an Int, not {kind(operand)}")
    return operand


def is_even(operand: Any) -> bool:
    return whole(operand, "`is even` and `is odd` need") % 2 == 0


def is_divisible(operand: Any, divisor: Any) -> bool:
    what = "`is divisible by` needs"
    return whole(operand, what) % whole(divisor, what) == 0
