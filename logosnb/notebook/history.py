"""What a training leaves behind: the loss and, for each tensor, gradient norm and update-to-weight ratio.

In: numbers, step by step. Out: a `History`, a plain model; text, HTML with its curves as SVG, matplotlib
figures. May not know: widgets, how steps are made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from logosnb.notebook.views.colours import BORDER, FAINT, HUES, TEXT
from logosnb.notebook.views.table import aligned, cells_html, number_text, statistics

if TYPE_CHECKING:
    from logosnb.notebook.figures import Curves

Array = np.ndarray[Any, Any]
HEADER = ("tensor", "gradient norm", "at first", "update / weight")
WIDTH, HEIGHT, MOST_POINTS = 420, 120, 400


@dataclass
class History:
    """losses: one a step; norms and ratios: for each tensor one a step. A ratio is the norm of the update
    over the norm of the weights; about 1e-3 is usual, NaN where the weights are all zero."""

    losses: list[float] = field(default_factory=list)
    norms: dict[str, list[float]] = field(default_factory=dict)
    ratios: dict[str, list[float]] = field(default_factory=dict)

    def record(
        self,
        loss: float,
        grads: Mapping[str, Array],
        weights: Mapping[str, Array],
        updates: Mapping[str, Array],
    ) -> None:
        """One step: its loss, and the gradient, the weights before and the update of each tensor."""
        self.losses.append(float(loss))
        for name, gradient in grads.items():
            self.norms.setdefault(name, []).append(_norm(gradient))
            size = _norm(weights[name])
            ratio = _norm(updates[name]) / size if size else float("nan")
            self.ratios.setdefault(name, []).append(ratio)

    def __len__(self) -> int:
        return len(self.losses)

    def cells(self) -> list[tuple[str, ...]]:
        """One line a tensor, of HEADER."""
        return [
            (
                name,
                number_text(norms[-1]),
                number_text(norms[0]),
                number_text(self.ratios[name][-1]),
            )
            for name, norms in self.norms.items()
        ]

    def sentence(self) -> str:
        if not self.losses:
            return "no step yet"
        return f"step {len(self)}: loss {self.losses[-1]:.4g}, {self.losses[0]:.4g} at first"

    def __str__(self) -> str:
        table = aligned([HEADER, *self.cells()]) if self.norms else ""
        return f"{self.sentence()}\n{table}".rstrip()

    # ---- HTML ---------------------------------------------------------------------------------

    def html(self) -> str:
        """Loss and norms as curves, the last numbers as a table; no script, no kernel."""
        curves = _plot("loss", {"loss": self.losses}, log=False)
        curves += _plot("gradient norms, logarithmic", self.norms, log=True)
        alarming = [not np.isfinite(self.norms[name][-1]) for name in self.norms]
        table = cells_html(HEADER, self.cells(), alarming, left=1) if self.norms else ""
        beside = "display:flex;flex-wrap:wrap;gap:12px 24px;align-items:flex-start"
        head = f'<div style="padding:2px 0">{escape(self.sentence())}</div>'
        return f'<div style="{TEXT}">{head}<div style="{beside}">{curves}{table}</div></div>'

    def figure(self) -> Curves:
        """Loss, gradient norms and update-to-weight ratios as a matplotlib Figure."""
        from logosnb.notebook.figures import curves

        return curves(self.losses, self.norms, self.ratios)


def _norm(array: Array) -> float:
    """Euclidean, without overflow; NaN where an element is NaN or infinite."""
    found = statistics(np.asarray(array))
    return float("nan") if found.nans + found.infinities else found.norm or 0.0


def _plot(title: str, lines: Mapping[str, Sequence[float]], log: bool) -> str:
    """Curves over steps as an SVG inside the page; NaN and infinities leave gaps."""
    scaled = {name: _thinned(_scaled(values, log)) for name, values in lines.items()}
    every = np.concatenate([*scaled.values(), np.zeros(0)])
    every = every[np.isfinite(every)]
    low, high = (float(every.min()), float(every.max())) if every.size else (0.0, 1.0)
    drawn = "".join(
        _curve(name, values, low, (high - low) or 1.0, HUES[n % len(HUES)])
        for n, (name, values) in enumerate(scaled.items())
    )
    ends = [number_text(10**end if log else end) for end in (high, low)] if every.size else ["", ""]
    labels = "".join(
        f'<text x="4" y="{y}" font-size="10" fill="currentColor">{end}</text>'
        for y, end in zip((12, HEIGHT - 4), ends)
    )
    return (
        f'<div style="max-width:100%"><div style="{FAINT}">{escape(title)}</div>'
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" style="max-width:100%;{BORDER}" '
        f'role="img" aria-label="{escape(title)}">{drawn}{labels}</svg></div>'
    )


def _scaled(values: Sequence[float], log: bool) -> Array:
    array = np.asarray(values, dtype=np.float64)
    if log:
        with np.errstate(all="ignore"):
            array = np.where(array > 0, np.log10(array), np.nan)
    return array


def _thinned(values: Array) -> Array:
    """At most MOST_POINTS, the last among them."""
    if len(values) <= MOST_POINTS:
        return values
    kept = np.linspace(0, len(values) - 1, MOST_POINTS).astype(int)
    return np.asarray(values[kept])


def _curve(name: str, values: Array, low: float, span: float, hue: tuple[int, int, int]) -> str:
    across = (WIDTH - 60) / max(len(values) - 1, 1)
    points = " ".join(
        f"{50 + n * across:.1f},{HEIGHT - 8 - (HEIGHT - 16) * (v - low) / span:.1f}"
        for n, v in enumerate(values)
        if np.isfinite(v)
    )
    red, green, blue = hue
    return (
        f'<polyline points="{points}" fill="none" stroke="rgb({red}, {green}, {blue})" '
        f'stroke-width="1.5"><title>{escape(name)}</title></polyline>'
    )
