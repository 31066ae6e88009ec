"""A training watched live: progress bar, stop button, curves.

In: a number of steps, and what each step did. Out: a `History`, and what a cell shows while it runs; the
last state stays in a saved notebook. May not know: what a step does.

The curves are an output that is updated under its display id, not an Output widget: nbclient and Voila
may wait for ever on those. When the watch ends its widgets are closed and a line of text takes their place.
"""

from __future__ import annotations

from collections.abc import Mapping
from time import monotonic
from typing import Any

import numpy as np

from logosnb.notebook.history import History
from logosnb.notebook.listening import Listening

Array = np.ndarray[Any, Any]

PAUSE = 0.25  # seconds between two pictures
HEARING = 0.05  # seconds between two looks for a press of the button


class Watch:
    """A context: what is recorded in it is shown, and `stopped` is true once the button was pressed.

    shown: False only records. Interrupting the kernel ends the loop too.
    """

    def __init__(self, steps: int, shown: bool = True) -> None:
        self.steps, self.shown = steps, shown
        self.history = History()
        self.stopped = False
        self.ended = ""
        self._last = 0.0
        self._heard = 0.0
        self._listening = Listening()
        self._controls: Any = None
        self._curves: Any = None

    def __enter__(self) -> Watch:
        if self.shown:
            self._open()
            self._listening.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        if not self.ended:
            self.ended = f"{len(self.history)} of {self.steps} steps done"
        if self.shown:
            self._listening.__exit__()
            self._close()

    def record(
        self,
        loss: float,
        grads: Mapping[str, Array],
        weights: Mapping[str, Array],
        updates: Mapping[str, Array],
    ) -> None:
        """One step, as `History.record`; shown now and then, so that watching costs little."""
        self.history.record(loss, grads, weights, updates)
        if self.shown:
            self._look(monotonic())

    def _look(self, now: float) -> None:
        """Hear the button, and show how things stand, each when its time has come."""
        if now - self._heard >= HEARING:
            self._heard = now
            self._listening.poll()
        if now - self._last >= PAUSE:
            self._last = now
            self.bar.value = len(self.history)
            self._show()

    def _open(self) -> None:
        from IPython.display import display
        from ipywidgets import Button, HBox, IntProgress

        self.bar = IntProgress(max=self.steps, description="steps")
        self.button = Button(description="stop", icon="stop", tooltip="end after this step")
        self.button.add_class("logosnb-stop")
        self.button.on_click(self._stop)
        self.controls = HBox([self.bar, self.button])
        self._controls = display(self.controls, display_id=True)  # type: ignore[no-untyped-call]
        self._curves = display(_Html(self.history), display_id=True)  # type: ignore[no-untyped-call]

    def _stop(self, _: Any) -> None:
        self.stopped = True
        self.button.disabled = True

    def _show(self) -> None:
        if self._curves is not None:  # outside a notebook there is nothing to update
            self._curves.update(_Html(self.history))

    def _close(self) -> None:
        self._show()
        if self._controls is not None:
            self._controls.update(_Line(self.ended))
        close_all(self.controls)


class _Html:
    """A history as it stands now."""

    def __init__(self, history: History) -> None:
        self._bundle = {"text/html": history.html(), "text/plain": str(history)}

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return self._bundle


class _Line:
    """A sentence where the controls were."""

    def __init__(self, sentence: str) -> None:
        self._sentence = sentence

    def __repr__(self) -> str:
        return self._sentence


def close_all(widget: Any) -> None:
    """Close a widget, what is in it, and the layouts and styles that came with them."""
    for child in getattr(widget, "children", ()):
        close_all(child)
    for part in (getattr(widget, "style", None), getattr(widget, "layout", None)):
        if part is not None:
            part.close()
    widget.close()
