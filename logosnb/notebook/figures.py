"""Matplotlib figures of a training, to keep.

In: lines over steps. Out: a Figure that a notebook shows and that `savefig` writes. May not know: pyplot,
so that no figure is left open.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO

from matplotlib.axes import Axes
from matplotlib.figure import Figure

Lines = Mapping[str, Sequence[float]]


class Curves(Figure):
    """A Figure that shows itself also where no backend of matplotlib is set up."""

    def _repr_png_(self) -> bytes:
        buffer = BytesIO()
        self.savefig(buffer, format="png", dpi=100)
        return buffer.getvalue()


def curves(losses: Sequence[float], norms: Lines, ratios: Lines) -> Curves:
    """Loss, gradient norms and update-to-weight ratios, side by side."""
    figure = Curves(figsize=(12, 3.4), layout="constrained")
    first, second, third = figure.subplots(1, 3)
    first.plot(losses)
    first.set(title="loss", xlabel="step")
    _logarithmic(second, "gradient norm", norms)
    _logarithmic(third, "update / weight", ratios)
    return figure


def _logarithmic(axes: Axes, title: str, lines: Lines) -> None:
    for name, values in lines.items():
        axes.plot(values, label=name)
    axes.set(title=title, xlabel="step", yscale="log")
    axes.legend(fontsize="small")
