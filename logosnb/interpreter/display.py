"""How values look: what Show prints, and `{e}`, `{e:.6}`, `{e:>10}` in a Text.

In: a value of a running program. Out: text. May not know: where it is shown.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Any

import numpy as np

from logosnb.interpreter.fault import Fault

FORM = re.compile(r"([<>^]?)(\d*)(?:\.(\d+))?")
MOST_DECIMALS = 1000
MOST_WIDE = 10_000
MOST_DIGITS = 4000  # Python itself refuses to write an int of more than 4300


def show_value(value: Any) -> str:
    """A value as Show prints it.

    Reals are the shortest decimals that read back, never with an exponent, whole ones without a
    point: 5.0 is `5`, -0.0 is `-0`, NaN is `NaN`. A Seq is `[1, 2]`, a tensor its rows, one a line.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, int | np.integer):
        return _show_int(int(value))
    if isinstance(value, float | np.floating):
        return _show_real(float(value))
    if isinstance(value, np.ndarray):
        return "\n".join(show_value(row) for row in value.tolist())
    return f"[{', '.join(map(show_value, value))}]"


def _show_int(value: int) -> str:
    # Decimal writes ints of any length, and in less than quadratic time.
    return str(value) if value.bit_length() < 3 * MOST_DIGITS else str(Decimal(value))


def _show_real(value: float) -> str:
    written = repr(value)
    if "e" in written:
        return format(Decimal(written), "f")
    if written == "nan":
        return "NaN"
    return written.removesuffix(".0")


def format_value(value: Any, form: str) -> str:
    """A value in a form: decimals (`.6`), alignment and width (`>10`), both (`>10.2`).

    Without a sign of alignment numbers stand to the right and the rest to the left.
    """
    match = FORM.fullmatch(form)
    if match is None:
        raise Fault(f"`{form}` is no form: there are `.6` (decimals) and `>10` (width)")
    align, width, decimals = match.groups()
    shown = show_value(value) if decimals is None else _decimals(value, int(decimals))
    if int(width or 0) > MOST_WIDE:
        raise Fault(f"a form is at most {MOST_WIDE} wide")
    align = align or (">" if _is_number(value) else "<")
    return f"{shown:{align}{width}}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _decimals(value: Any, decimals: int) -> str:
    if not _is_number(value):
        raise Fault(f"`.{decimals}` writes decimals of a number, and this is none")
    if decimals > MOST_DECIMALS:
        raise Fault(f"a form has at most {MOST_DECIMALS} decimals")
    if isinstance(value, int):
        return show_value(value) + ("." + "0" * decimals if decimals else "")
    return f"{value:.{decimals}f}" if math.isfinite(value) else show_value(value)
