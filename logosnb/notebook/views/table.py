"""Values and gradients as a table of what a person looks at first.

In: arrays by name. Out: `Row`s, a plain model; the same as HTML and as text. May not know: programs,
IPython.

min, max, mean and norm are those of the finite elements; NaN and infinities are counted apart, so
that one of them does not hide all the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple

import numpy as np

from logosnb.notebook.views.colours import BORDER

Array = np.ndarray[Any, Any]
HEADER = ("tensor", "what", "shape", "min", "max", "mean", "norm", "zeros", "NaN", "Inf")


class Statistics(NamedTuple):
    """Of the finite elements; None where there are none. norm: the square root of the sum of squares."""

    low: float | None
    high: float | None
    mean: float | None
    norm: float | None
    zeros: int
    nans: int
    infinities: int


def statistics(array: Array) -> Statistics:
    """Never a warning, also for NaN, for elements near the largest float, and for no elements."""
    values = np.asarray(array, dtype=np.float64)
    finite = values[np.isfinite(values)]
    counts = (
        int((values == 0).sum()),
        int(np.isnan(values).sum()),
        int(np.isinf(values).sum()),
    )
    if not finite.size:
        return Statistics(None, None, None, None, *counts)
    scale = float(np.abs(finite).max()) or 1.0
    unit = finite / scale  # so that neither the sum nor the squares overflow
    mean, norm = float(unit.mean()) * scale, float(np.sqrt((unit * unit).sum())) * scale
    return Statistics(float(finite.min()), float(finite.max()), mean, norm, *counts)


@dataclass(frozen=True)
class Row:
    """One tensor, or one number or text (then `value` says it and there are no statistics)."""

    name: str
    what: str
    shape: str
    of: Statistics | None = None
    value: str = ""

    @property
    def alarming(self) -> bool:
        return self.of is not None and self.of.nans + self.of.infinities > 0


def tensor_row(name: str, what: str, array: Array) -> Row:
    shape = "×".join(map(str, array.shape))
    return Row(name, what, shape, statistics(array))


def number_text(value: float | None) -> str:
    """Four digits; a dash where there is none."""
    return "–" if value is None else f"{value:.4g}"


def cells(row: Row) -> tuple[str, ...]:
    """The row as text, one for each column of HEADER."""
    if row.of is None:
        return (row.name, row.what, row.shape, row.value, *[""] * 6)
    numbers = (row.of.low, row.of.high, row.of.mean, row.of.norm)
    counts = (row.of.zeros, row.of.nans, row.of.infinities)
    return (row.name, row.what, row.shape, *map(number_text, numbers), *map(str, counts))


def table_text(rows: Sequence[Row], header: Sequence[str] = HEADER) -> str:
    return aligned([header, *map(cells, rows)])


def aligned(lines: Sequence[Sequence[str]]) -> str:
    """Columns of text, each as wide as its widest cell."""
    widths = [max(map(len, column)) for column in zip(*lines)]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(line, widths)).rstrip() for line in lines)


def table_html(rows: Sequence[Row]) -> str:
    """As wide as it needs to be; a narrow window scrolls it."""
    return cells_html(HEADER, [cells(row) for row in rows], [row.alarming for row in rows], left=3)


def cells_html(
    header: Sequence[str], lines: Sequence[Sequence[str]], alarming: Sequence[bool], left: int
) -> str:
    """Any table: the first `left` columns to the left, numbers to the right, alarming rows tinted."""
    head = "".join(_cell("th", c, i < left) for i, c in enumerate(header))
    body = "".join(_line(line, alarm, left) for line, alarm in zip(lines, alarming))
    return (
        f'<div style="overflow-x:auto;{BORDER};width:fit-content;max-width:100%">'
        '<table style="border-collapse:collapse;margin:0;font-size:13px;color:inherit">'
        f'<thead><tr style="background:rgba(128, 128, 128, 0.12)">{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _line(line: Sequence[str], alarming: bool, left: int) -> str:
    tint = "rgba(220, 80, 70, 0.2)" if alarming else "transparent"
    inside = "".join(_cell("td", c, i < left) for i, c in enumerate(line))
    return f'<tr style="background:{tint}">{inside}</tr>'


def _cell(tag: str, text: str, left: bool) -> str:
    side = "left" if left else "right"
    return (
        f'<{tag} style="text-align:{side};padding:3px 10px;white-space:nowrap;color:inherit;'
        f'border-top:1px solid rgba(128, 128, 128, 0.2)">{escape(text)}</{tag}>'
    )
