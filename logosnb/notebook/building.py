"""What a cell shows while its kernels are compiled.

In: the program that is about to run, how it is shown. Out: built kernels, and one line that changes. May
not know: how a kernel is made.
"""

from __future__ import annotations

import html
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from logosnb import kernels
from logosnb.stages.program import Program

PATIENCE = 0.5  # seconds without a word: what the disk cache holds is there sooner


@dataclass(frozen=True)
class Line:
    """One quiet line of a cell's output."""

    text: str

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        style = "color: var(--jp-ui-font-color2, gray); font-size: 90%"
        return f'<div style="{style}">{html.escape(self.text)}</div>'


class Progress:
    """Says which kernel is being compiled, once it takes long. show: displays a Line and gives a handle
    with `update`, as IPython's display does; nothing is said without it."""

    def __init__(self, show: Callable[[Line], Any] | None = None) -> None:
        self._show = show
        self._handle: Any = None
        self._start = time.monotonic()

    def kernel(self, number: int, total: int, name: str) -> None:
        if time.monotonic() - self._start > PATIENCE:
            self._say(f"compiling kernel {number} of {total}: {name} …")

    def done(self, total: int) -> None:
        if self._handle is not None:
            seconds = time.monotonic() - self._start
            self._say(f"compiled {total} kernels in {seconds:.1f} s; they are kept for next time")

    def _say(self, text: str) -> None:
        if self._show is None:
            return
        if self._handle is None:
            self._handle = self._show(Line(text))
        else:
            self._handle.update(Line(text))


def build(program: Program, dtype: str, progress: Progress) -> None:
    """Compile what the program will run. An interrupt leaves what was compiled so far."""
    found = kernels.prepare(program, dtype).plan.kernels
    for number, kernel in enumerate(found, 1):
        progress.kernel(number, len(found), kernel.name)
        kernel.build()
    progress.done(len(found))
