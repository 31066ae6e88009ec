"""What Show printed, kept up to a limit.

In: lines as a program shows them. Out: `Output`. May not know: programs.
"""

from __future__ import annotations

from collections.abc import Callable

MOST_LINES = 10_000
MOST_CHARACTERS = 1_000_000


class Output:
    """Collects lines and hands each on at once; past the limit it says so once and drops the rest."""

    def __init__(self, hand_on: Callable[[str], None] | None = None) -> None:
        self.lines: list[str] = []
        self.capped = False
        self._hand_on = hand_on
        self._characters = 0

    def __call__(self, line: str) -> None:
        if self.capped:
            return
        self._characters += len(line) + 1
        self.capped = len(self.lines) >= MOST_LINES or self._characters > MOST_CHARACTERS
        if self.capped:
            line = f"… output stops here, after {len(self.lines)} lines; the program runs on"
        self.lines.append(line)
        if self._hand_on is not None:
            self._hand_on(line)
