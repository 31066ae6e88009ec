"""What generated code calls: the arithmetic of LOGOS where Python's differs, and run-time checks.

In: values. Out: values, or a Failure with a sentence. May not know: programs or lines.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from logosnb.interpreter.display import show_value
from logosnb.interpreter.stages import Failure

FAR = 1 << 62  # an index that no sequence has: Python then raises IndexError
MOST_BITS = 50_000_000  # of an Int: a larger power would fill the memory


def kind(value: Any) -> str:
    """A value's type in a person's words."""
    names: dict[type, str] = {
        bool: "a Bool",
        int: "an Int",
        float: "a Real",
        str: "a Text",
        list: "a Seq",
        np.ndarray: "a tensor",
    }
    return names.get(type(value), "nothing")


def is_number(value: Any) -> bool:
    return type(value) in (int, float)


# ---- arithmetic on Reals: IEEE, never an exception -----------------------------------------------


def divide(a: float, b: float) -> float:
    if b:
        return a / b
    if a == 0 or a != a:
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1.0, b)


def floor_divide(a: float, b: float) -> float:
    quotient = divide(a, b)
    return float(math.floor(quotient)) if math.isfinite(quotient) else quotient


def real_remainder(a: float, b: float) -> float:
    return math.nan if b == 0 or math.isinf(a) else math.fmod(a, b)


def power(a: float, b: float) -> float:
    try:
        return float(math.pow(a, b))
    except OverflowError:
        return -math.inf if a < 0 and b % 2 == 1 else math.inf
    except ValueError:
        if a == 0:  # to a negative power
            return math.copysign(math.inf, a) if b % 2 == 1 else math.inf
        return math.nan


def root(x: float) -> float:
    return math.sqrt(x) if x >= 0 else math.nan


def exponential(x: float) -> float:
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


def logarithm(x: float) -> float:
    if x > 0:
        return math.log(x)
    return -math.inf if x == 0 else math.nan


def sine(x: float) -> float:
    return math.nan if math.isinf(x) else math.sin(x)


def cosine(x: float) -> float:
    return math.nan if math.isinf(x) else math.cos(x)


# ---- arithmetic on Ints: exact --------------------------------------------------------------------


def quotient(a: int, b: int) -> int:
    """`/` of Ints truncates toward zero."""
    return a // b if (a >= 0) == (b > 0) else -(-a // b)


def remainder(a: int, b: int) -> int:
    """The remainder of `/`: it has the sign of a."""
    return a - b * quotient(a, b)


def int_power(a: int, b: int) -> int:
    if b < 0:
        raise Failure("an Int to a negative Int is no Int: write one of them as a Real")
    if a.bit_length() * b > MOST_BITS and abs(a) > 1:
        raise Failure("this power is too large to hold")
    return int(a**b)


# ---- arithmetic on what only the run knows ------------------------------------------------------

INTS: dict[str, Callable[[int, int], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": quotient,
    "//": operator.floordiv,
    "%": remainder,
    "**": int_power,
}
REALS: dict[str, Callable[[float, float], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": divide,
    "//": floor_divide,
    "%": real_remainder,
    "**": power,
}


def arithmetic(sign: str, a: Any, b: Any) -> Any:
    if not (is_number(a) and is_number(b)):
        hint = ": write `a combined with b`" if sign == "+" and str in (type(a), type(b)) else ""
        raise Failure(f"`{sign}` needs numbers, not {kind(a)} and {kind(b)}{hint}")
    if type(a) is int and type(b) is int:
        return INTS[sign](a, b)
    return REALS[sign](float(a), float(b))


def negative(a: Any) -> Any:
    if not is_number(a):
        raise Failure(f"`-` needs a number, not {kind(a)}")
    return -a


def ordered(sign: str, a: Any, b: Any) -> bool:
    if not (is_number(a) and is_number(b)) and not type(a) is type(b) is str:
        raise Failure(f"`{sign}` needs two numbers or two Texts, not {kind(a)} and {kind(b)}")
    order: dict[str, Callable[[Any, Any], bool]] = {
        "<": operator.lt,
        "<=": operator.le,
        ">": operator.gt,
        ">=": operator.ge,
    }
    return order[sign](a, b)


def equal(a: Any, b: Any) -> bool:
    """Values of different types are different; an Int may equal a Real."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and np.array_equal(a, b)
    if isinstance(a, bool) != isinstance(b, bool):
        return False
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(equal(x, y) for x, y in zip(a, b))
    return bool(a == b)


def truth(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        raise Failure("a tensor is neither true nor false: compare one of its items")
    return bool(value)


# ---- builtins ------------------------------------------------------------------------------------


def real_function(name: str, function: Callable[[float], float]) -> Callable[[Any], float]:
    def called(x: Any) -> float:
        if not is_number(x):
            raise Failure(f"`{name}` needs a number, not {kind(x)}")
        return function(float(x))

    return called


def absolute(x: Any) -> Any:
    if not is_number(x):
        raise Failure(f"`abs` needs a number, not {kind(x)}")
    return abs(x)


def extreme(name: str, values: tuple[Any, ...]) -> Any:
    """min or max: NaN if any is; a Real if any is."""
    wrong = next((v for v in values if not is_number(v)), None)
    if wrong is not None:
        raise Failure(f"`{name}` needs numbers, not {kind(wrong)}")
    if any(v != v for v in values):
        return math.nan
    found = (min if name == "min" else max)(values)
    return float(found) if any(type(v) is float for v in values) else found


def least(*values: Any) -> Any:
    return extreme("min", values)


def greatest(*values: Any) -> Any:
    return extreme("max", values)


def rounding(name: str, function: Callable[[Any], int]) -> Callable[[Any], int]:
    def called(x: Any) -> int:
        if not is_number(x):
            raise Failure(f"`{name}` needs a number, not {kind(x)}")
        if not math.isfinite(x):
            raise Failure(f"`{name}` of {show_value(x)} is no Int")
        return function(x)

    return called


def half_away(x: float) -> int:
    """The nearest Int, a half away from zero; exact also where x + 0.5 is not."""
    whole = math.floor(abs(x))
    whole += abs(x) - whole >= 0.5
    return int(math.copysign(1, x)) * whole


def length(value: Any) -> int:
    if isinstance(value, np.ndarray):
        return int(value.size)
    if not isinstance(value, list | str):
        raise Failure(f"`length of` needs a Seq, a Text or a tensor, not {kind(value)}")
    return len(value)


def whole_power(a: Any, b: Any) -> Any:
    return arithmetic("**", a, b)


BUILTINS: dict[str, Callable[..., Any]] = {
    "sqrt": real_function("sqrt", root),
    "exp": real_function("exp", exponential),
    "log": real_function("log", logarithm),
    "tanh": real_function("tanh", math.tanh),
    "sin": real_function("sin", sine),
    "cos": real_function("cos", cosine),
    "abs": absolute,
    "min": least,
    "max": greatest,
    "floor": rounding("floor", math.floor),
    "ceil": rounding("ceil", math.ceil),
    "round": rounding("round", half_away),
    "pow": whole_power,
    "length": length,
}


# ---- sequences -------------------------------------------------------------------------------------


def copied(value: Any) -> Any:
    """Values are copied on binding and on passing, a Seq of Seqs to its depth."""
    if isinstance(value, list):
        return [copied(item) if isinstance(item, list) else item for item in value]
    return value.copy() if isinstance(value, np.ndarray) else value


def item(sequence: Any, index: Any) -> Any:
    """Where only the run knows what `sequence` is."""
    flat = sequence.reshape(-1) if isinstance(sequence, np.ndarray) else sequence
    if not isinstance(flat, list | str | np.ndarray):
        raise Failure(f"`item` needs a Seq, a Text or a tensor, not {kind(sequence)}")
    found = flat[place(index, len(flat))]
    return found.item() if isinstance(found, np.generic) else found


def set_item(sequence: Any, index: Any, value: Any) -> None:
    if isinstance(sequence, np.ndarray):
        sequence.reshape(-1)[place(index, sequence.size)] = value
    elif isinstance(sequence, list):
        sequence[place(index, len(sequence))] = value
    else:
        raise Failure(f"only an item of a Seq or a tensor can be set, not of {kind(sequence)}")


def place(index: Any, size: int) -> int:
    if type(index) is not int:
        raise Failure(f"an index is an Int, not {kind(index)}")
    if not 1 <= index <= size:
        raise Failure(f"there is no item {index}: the size is {size}")
    return index - 1


def items(sequence: Any, first: Any, last: Any) -> Any:
    if not isinstance(sequence, list | str):
        raise Failure(f"`items … through …` needs a Seq or a Text, not {kind(sequence)}")
    if type(first) is not int or type(last) is not int:
        raise Failure("an index is an Int")
    if first > last:
        return sequence[:0]
    if first < 1 or last > len(sequence):
        raise Failure(
            f"items {first} through {last} are not all there: the size is {len(sequence)}"
        )
    return copied(sequence[first - 1 : last])


def contains(sequence: Any, value: Any) -> bool:
    if isinstance(sequence, str) and isinstance(value, str):
        return value in sequence
    if isinstance(sequence, np.ndarray):
        return bool(np.any(sequence == value))
    if not isinstance(sequence, list):
        raise Failure(f"`contains` needs a Seq, not {kind(sequence)}")
    return any(equal(found, value) for found in sequence)


def each(sequence: Any) -> list[Any]:
    """What a `Repeat for x in xs` runs over: the values at its start."""
    if not isinstance(sequence, list | str):
        raise Failure(f"`Repeat for … in` needs a Seq or a Text, not {kind(sequence)}")
    return list(copied(sequence))


def push(sequence: Any, value: Any) -> None:
    if not isinstance(sequence, list):
        raise Failure(f"`Push` needs a Seq, not {kind(sequence)}")
    sequence.append(value)


def pop(sequence: Any) -> Any:
    if not isinstance(sequence, list):
        raise Failure(f"`Pop` needs a Seq, not {kind(sequence)}")
    if not sequence:
        raise Failure("`Pop` finds the Seq empty")
    return sequence.pop()


# ---- types at run time ---------------------------------------------------------------------------


def as_type(value: Any, wanted: str) -> Any:
    """A value where the program says its type: an Int may become a Real, nothing else changes."""
    if wanted == "Real" and type(value) is int:
        return float(value)
    right = {"Int": int, "Real": float, "Bool": bool, "Text": str, "Tensor": np.ndarray}
    if type(value) is not right.get(wanted, list):
        raise Failure(f"this is declared {wanted}, and the value is {kind(value)}")
    if wanted == "Seq of Real":
        return [as_type(item, "Real") for item in value]
    return value


def bound(value: Any) -> int:
    """A bound of `Repeat for … from … to`."""
    if type(value) is not int:
        raise Failure(f"`Repeat for` counts with Ints, not with {kind(value)}")
    return value


def parity(value: Any) -> int:
    if type(value) is not int:
        raise Failure(f"only an Int is even or odd, not {kind(value)}")
    return value % 2


def divisible(value: Any, divisor: Any) -> bool:
    if type(value) is not int or type(divisor) is not int:
        raise Failure(f"`is divisible by` needs Ints, not {kind(value)} and {kind(divisor)}")
    return value % divisor == 0


def assign(tensor: Any, value: Any) -> None:
    """`Set x to e` for tensors: the contents."""
    if not isinstance(value, np.ndarray) or value.shape != tensor.shape:
        shape = " by ".join(map(str, tensor.shape))
        raise Failure(f"this tensor is {shape}, and takes the values of one of the same shape")
    if tensor.dtype.kind == "i" and value.dtype.kind != "i":
        raise Failure("a tensor of Int takes no Real values")
    tensor[...] = value


def zeros(rows: int, columns: int, of: str) -> np.ndarray[Any, Any]:
    return np.zeros((rows, columns), dtype=np.int64 if of == "Int" else np.float64)


def flat(tensor: Any) -> Any:
    """The items of a tensor as Python numbers, shared with it."""
    if not isinstance(tensor, np.ndarray):
        raise Failure(f"this must be a tensor, not {kind(tensor)}")
    return memoryview(tensor.reshape(-1))


def no_return(function: str) -> None:
    raise Failure(f"`{function}` came to its end without a Return")
