"""`session.explore`: sliders that move inputs, and the value and gradient that follow.

In: a session, for each tensor the range of its sliders. Out: an `Explorer`: `Knob`s, a plain model of the
sliders, and `at`, the session for their positions; in a notebook the widgets. May not know: how the
program runs.

What follows a slider is an output updated under its display id. Every update is computed from all
sliders at once, one after the other, so that no older one comes last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from logosnb.language.errors import LogosError
from logosnb.language.words import closest
from logosnb.notebook.views.colours import FAINT, TEXT
from logosnb.notebook.views.table import Row, cells_html, number_text, table_text, tensor_row
from logosnb.notebook.watching import close_all

if TYPE_CHECKING:
    from logosnb.notebook.session import Session

Array = np.ndarray[Any, Any]
MOST_SLIDERS = 12  # of one tensor; a larger one has a slider for its scale
MOST_SHOWN = 10  # rows or columns of a tensor that is shown element by element


@dataclass(frozen=True)
class Knob:
    """One slider: an element of a tensor (row and column from one), or None for its scale."""

    tensor: str
    element: tuple[int, int] | None
    low: float
    high: float
    start: float

    @property
    def step(self) -> float:
        """A power of ten, so that round numbers can be reached: 100 to 1000 steps in all."""
        return float(10.0 ** np.floor(np.log10((self.high - self.low) / 100)))

    @property
    def label(self) -> str:
        if self.element is None:
            return f"{self.tensor} ×"
        return f"{self.tensor}[{self.element[0]}, {self.element[1]}]"


class Explorer:
    """knobs: the sliders, as a model; `at` gives the session for their values."""

    def __init__(self, session: Session, knobs: Sequence[Knob], backend: str) -> None:
        self.session, self.knobs, self.backend = session, tuple(knobs), backend
        self._lock = Lock()
        self._handle: Any = None
        self.box: Any = None

    def at(self, values: Sequence[float]) -> Session:
        """The session with each slider at its value."""
        moved = {knob.tensor: np.array(self.session.inputs[knob.tensor]) for knob in self.knobs}
        for knob, value in zip(self.knobs, values):
            if knob.element is None:
                moved[knob.tensor] = moved[knob.tensor] * value
            else:
                moved[knob.tensor][knob.element[0] - 1, knob.element[1] - 1] = value
        return self.session.again(moved, backend=self.backend)

    # ---- widgets ------------------------------------------------------------------------------

    def show(self) -> None:
        """The sliders and what follows them; those of an earlier run of the same cell are closed."""
        from IPython.display import display
        from ipywidgets import FloatSlider, Layout, VBox

        self.sliders = [
            FloatSlider(
                value=knob.start,
                min=knob.low,
                max=knob.high,
                step=knob.step,
                description=knob.label,
                layout=Layout(width="24em"),
            )
            for knob in self.knobs
        ]
        self.box = VBox(self.sliders)
        _replace(_cell(), self)
        for slider in self.sliders:
            slider.observe(self._moved, names="value")
        display(self.box)  # type: ignore[no-untyped-call]
        first = _View(self.at([slider.value for slider in self.sliders]))
        self._handle = display(first, display_id=True)  # type: ignore[no-untyped-call]

    def _moved(self, _: Any) -> None:
        with self._lock:
            view = _View(self.at([slider.value for slider in self.sliders]))
            if self._handle is not None:
                self._handle.update(view)

    def close(self) -> None:
        """Take the sliders away; the last picture stays."""
        if self.box is not None:
            close_all(self.box)

    def _ipython_display_(self) -> None:
        self.show()

    def __repr__(self) -> str:
        return f"Explorer of {', '.join(knob.label for knob in self.knobs)}"


_open: dict[str, Explorer] = {}


def _replace(cell: str, explorer: Explorer) -> None:
    """One explorer a cell: the one before is closed, so that nothing piles up."""
    before = _open.pop(cell, None)
    if before is not None:
        before.close()
    _open[cell] = explorer


def _cell() -> str:
    """What tells one cell from another: its id where the front end sends it, else its text."""
    from IPython.core.getipython import get_ipython

    shell: Any = get_ipython()
    if shell is None:
        return ""
    parent = shell.get_parent() if hasattr(shell, "get_parent") else {}
    named = (parent or {}).get("metadata", {}).get("cellId")
    return str(named or getattr(shell.history_manager, "input_hist_raw", [""])[-1])


# ---- knobs ------------------------------------------------------------------------------------


def explore(session: Session, ranges: Mapping[str, Any], backend: str) -> Explorer:
    """Raises LogosError for a tensor that is no Real input, and for a range that is none."""
    if not ranges:
        raise LogosError("say what moves, and how far: `explore(x=(-3, 3))`")
    knobs = [knob for name, wanted in ranges.items() for knob in _knobs(session, name, wanted)]
    return Explorer(session, knobs, backend)


def _knobs(session: Session, name: str, wanted: Any) -> list[Knob]:
    array = session.inputs.get(name)
    if array is None or array.dtype.kind != "f":
        near = closest(name, list(session.inputs))
        hint = f"; did you mean `{near}`?" if near and near != name else ""
        raise LogosError(f"`{name}` is no input of Reals of this session{hint}")
    if isinstance(wanted, Mapping):
        return [_knob(name, array, key, ends) for key, ends in wanted.items()]
    if array.size > MOST_SLIDERS:
        return [_knob(name, array, "scale", wanted)]
    every = [(int(row) + 1, int(column) + 1) for row, column in np.ndindex(*array.shape)]
    return [_knob(name, array, element, wanted) for element in every]


def _knob(name: str, array: Array, key: Any, ends: Any) -> Knob:
    low, high = _ends(name, ends)
    if key == "scale":
        return Knob(name, None, low, high, min(max(1.0, low), high))
    try:
        row, column = key
        start = float(array[row - 1, column - 1])
        inside = 1 <= row <= array.shape[0] and 1 <= column <= array.shape[1]
    except (TypeError, ValueError, IndexError):
        inside = False
    if not inside:
        shape = " by ".join(map(str, array.shape))
        raise LogosError(
            f"`{name}` is {shape} and has no element {key!r}: row and column, from one"
        )
    return Knob(name, (row, column), min(low, start), max(high, start), start)


def _ends(name: str, ends: Any) -> tuple[float, float]:
    try:
        low, high = (float(end) for end in ends)
    except (TypeError, ValueError):
        low, high = 0.0, 0.0
    if not low < high or not np.isfinite([low, high]).all():
        raise LogosError(f"the range of `{name}` is two numbers, the smaller first, not {ends!r}")
    return low, high


# ---- what follows -----------------------------------------------------------------------------


class _View:
    """Value and gradients of one position, as text and HTML."""

    def __init__(self, session: Session) -> None:
        self._html, self._text = view_html(session), view_text(session)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/html": self._html, "text/plain": self._text}


def followed(session: Session) -> list[Row]:
    """What follows the sliders: the output and the gradients, or every computed tensor."""
    if session.gradients is None:
        made = dict.fromkeys(stage.out for stage in session.program.stages)
        return [tensor_row(name, "value", session[name]) for name in made]
    rows = [tensor_row(str(session.of), "value", session.value)]
    return rows + [tensor_row(name, "gradient", array) for name, array in session.grads.items()]


def view_text(session: Session) -> str:
    return table_text(followed(session))


def view_html(session: Session) -> str:
    """Small tensors element by element, large ones as a line of statistics."""
    arrays = {(str(session.of), "value"): session.value} if session.gradients else {}
    if session.gradients is not None:
        arrays |= {(name, "gradient"): array for name, array in session.grads.items()}
    else:
        arrays = {(row.name, row.what): session[row.name] for row in followed(session)}
    blocks = "".join(_block(name, what, array) for (name, what), array in arrays.items())
    style = f"{TEXT};display:flex;flex-wrap:wrap;gap:8px 24px;align-items:flex-start"
    return f'<div class="logosnb-explorer" style="{style}">{blocks}</div>'


def _block(name: str, what: str, array: Array) -> str:
    head = f'<div style="{FAINT}">{what} of {escape(name)}</div>'
    if max(array.shape) > MOST_SHOWN:
        row = tensor_row(name, what, array)
        numbers = row.of
        text = f"{row.shape}, norm {number_text(numbers.norm if numbers else None)}"
        return f"<div>{head}{text}</div>"
    lines = [[number_text(float(value)) for value in line] for line in array]
    header = [str(n + 1) for n in range(array.shape[1])]
    return f"<div>{head}{cells_html(header, lines, [False] * len(lines), left=0)}</div>"
