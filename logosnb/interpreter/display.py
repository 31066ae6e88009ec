"""Values as Show writes them.

In: a value. Out: text. May not know: programs.
"""

from __future__ import annotations

import re
from decimal import Decimal
from math import isinf, isnan
from typing import Any

import numpy as np

FORM = re.compile(r"(>|<)?(\d+)?(?:\.(\d+))?")


def show_value(value: Any) -> str:
    """5.0 is `5`, true is `true`, a Seq `[1, 2]`, a tensor its rows; a Real never has an exponent."""
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, float | np.floating):
        return _real(float(value))
    if isinstance(value, list):
        return f"[{', '.join(show_value(item) for item in value)}]"
    if isinstance(value, np.ndarray):
        return "\n".join(show_value(row.tolist()) for row in value)
    return str(value)


def _real(value: float) -> str:
    if isnan(value):
        return "NaN"
    if isinf(value):
        return "inf" if value > 0 else "-inf"
    text = format(Decimal(repr(value)), "f")
    return text.removesuffix(".0") if "." in text else text


def formatted(value: Any, form: str) -> str:
    """`{value:form}`: `.6` six decimals, `>10` and `<10` a width, both together `>10.6`."""
    found = FORM.fullmatch(form)
    if found is None:
        raise ValueError(f"`{form}` is not a format: write like `.6` or `>10`")
    side, width, decimals = found.groups()
    text = show_value(value)
    if decimals is not None and isinstance(value, int | float) and not isinstance(value, bool):
        text = text if isinstance(value, float) and (isnan(value) or isinf(value)) else (
            format(Decimal(value), f".{decimals}f")
        )
    return format(text, f"{side or '>'}{width}") if width else text
