"""What Show printed, kept up to a limit.

In: texts, one a Show. Out: `Output`, with the lines that were kept. May not know: programs.
"""

from __future__ import annotations

from collections.abc import Callable

MOST_LINES = 10_000
MOST_CHARACTERS = 1_000_000


class Output:
    """Call it with each text shown. `lines` are those kept, `capped` says whether some were not.

    show: called with each kept line, and with the line that says that the rest is left out.
    """

    def __init__(self, show: Callable[[str], None] | None = None) -> None:
        self.lines: list[str] = []
        self.capped = False
        self._show = show
        self._room = MOST_CHARACTERS

    def __call__(self, text: str) -> None:
        if self.capped:
            return
        for line in text.split("\n"):
            self._room -= len(line) + 1
            if self._room < 0 or len(self.lines) >= MOST_LINES:
                self.capped = True
                limit = f"{MOST_LINES:,} lines or {MOST_CHARACTERS:,} characters"
                self._keep(f"… the output is longer than {limit}: the rest is left out")
                return
            self._keep(line)

    def _keep(self, line: str) -> None:
        self.lines.append(line)
        if self._show is not None:
            self._show(line)
