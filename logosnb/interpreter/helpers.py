"""What the Python text of a program calls: every helper, by the name it has there.

In: nothing. Out: `HELPERS`, the globals of compiled programs. May not know: how text calls them.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from typing import Any, NoReturn

from logosnb.interpreter import arithmetic, display, sequences, values
from logosnb.interpreter.fault import Fault


def refuse(sentence: str) -> NoReturn:
    """A Fault where the program stands that can never be right."""
    raise Fault(sentence)


def given(value: Any, function: str) -> Any:
    """The value of a function that says no result, or a Fault if it gave none."""
    if value is None:
        raise Fault(f"`{function}` gives no value")
    return value


HELPERS: Mapping[str, Any] = {
    "_inf": math.inf,
    "_nan": math.nan,
    "_far": sys.maxsize,  # an index beyond every end
    "_refuse": refuse,
    "_given": given,
    "_show": display.show_value,
    "_format": display.format_value,
    **{
        f"_{function.__name__}": function
        for function in (values.copied, values.as_type, values.as_own)
        + (values.equal, values.ordered, values.truth)
        + (arithmetic.add, arithmetic.subtract, arithmetic.multiply, arithmetic.negate)
        + (arithmetic.divide, arithmetic.divide_ints, arithmetic.divide_by_zero)
        + (arithmetic.floor_divide, arithmetic.remainder, arithmetic.remainder_ints)
        + (arithmetic.power, arithmetic.magnitude, arithmetic.smallest, arithmetic.largest)
        + (arithmetic.square_root, arithmetic.exponential, arithmetic.logarithm)
        + (arithmetic.hyperbolic_tangent, arithmetic.sine, arithmetic.cosine)
        + (arithmetic.floor, arithmetic.ceiling, arithmetic.rounded)
        + (arithmetic.is_even, arithmetic.is_divisible)
        + (sequences.flat, sequences.zeros, sequences.item, sequences.set_item)
        + (sequences.length, sequences.items, sequences.push, sequences.pop)
        + (sequences.contains, sequences.has, sequences.each, sequences.overwrite)
    },
    **{
        f"_math_{name}": getattr(math, name)
        for name in ("sqrt", "exp", "log", "tanh", "sin", "cos")
    },
}
