"""Values of a running program: what they are called, copied, converted and compared by.

In: ints, floats, bools, strs, lists and 2-D arrays. Out: the same, or a Fault. May not know: trees
beyond the types.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from logosnb.interpreter.display import show_value
from logosnb.interpreter.fault import Fault
from logosnb.language.tree import Type

WORDS = {int: "an Int", float: "a Real", bool: "a Bool", str: "a Text", list: "a Seq"}
PYTHON = {"Int": int, "Real": float, "Bool": bool, "Text": str, "Seq": list, "Tensor": np.ndarray}
MOST_SHOWN = 40  # characters of a value that a sentence quotes


def kind(value: Any) -> str:
    """What a value is, with its article: "an Int", "a tensor"."""
    return WORDS.get(type(value), "a tensor" if isinstance(value, np.ndarray) else "no value")


def described(value: Any) -> str:
    """A value in a sentence: "the Real 2.5", or only "a Seq" where it is long."""
    if type(value) in (int, float, bool) and len(shown := show_value(value)) <= MOST_SHOWN:
        return f"the {kind(value).split()[-1]} {shown}"
    return kind(value)


def wanted(given: Type) -> str:
    """A type with its article: "an Int", "a Seq of Real", "a tensor"."""
    if given.name == "Tensor":
        return "a tensor"
    return f"an {given}" if given.name in ("Int", "Any") else f"a {given}"


def copied(value: Any) -> Any:
    """A copy that shares nothing with the value."""
    if isinstance(value, list):
        return [copied(item) for item in value]
    return value.copy() if isinstance(value, np.ndarray) else value


def as_type(value: Any, given: Type, what: str) -> Any:
    """The value as the type given: an Int becomes a Real; all else must fit, or it is a Fault.

    what: the beginning of its sentence, "`x` takes". A list comes back as a new one, its items
    converted; a tensor as it is.
    """
    if given.name == "Any":
        return value
    if given.name == "Real" and type(value) is int:
        return float(value)
    if type(value) is not PYTHON[given.name]:
        raise Fault(f"{what} {wanted(given)}, not {described(value)}")
    if isinstance(value, list) and given.element is not None:
        return [as_type(item, given.element, what) for item in value]
    return value


def as_own(value: Any, given: Type, what: str) -> Any:
    """As `as_type`, but a list is converted in place: it stays the caller's own."""
    converted = as_type(value, given, what)
    if isinstance(value, list):
        value[:] = converted
        return value
    return converted


def equal(left: Any, right: Any) -> bool:
    """`==`: numbers by value, Int or Real; values of different types are not equal."""
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
        return bool(np.array_equal(left, right))
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(equal, left, right))
    numbers = type(left) in (int, float) and type(right) in (int, float)
    return bool(left == right) if numbers or type(left) is type(right) else False


def ordered(sign: str, left: Any, right: Any) -> bool:
    """`<`, `<=`, `>`, `>=` of two numbers or two Texts."""
    numbers = type(left) in (int, float) and type(right) in (int, float)
    if not numbers and not (type(left) is str and type(right) is str):
        raise Fault(f"`{sign}` needs two numbers or two Texts, not {kind(left)} and {kind(right)}")
    if sign in ("<", "<="):
        return bool(left < right if sign == "<" else left <= right)
    return bool(left > right if sign == ">" else left >= right)


def truth(value: Any) -> bool:
    """Whether a value counts as true: not `false`, 0, 0.0, an empty Text or an empty Seq."""
    if isinstance(value, np.ndarray):
        raise Fault("a tensor is neither true nor false: compare an item of it")
    return bool(value)
