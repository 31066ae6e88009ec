"""The errors that a person sees, each able to show the line and a caret.

In: what went wrong, where, and the source if it is known. Out: exceptions whose `str` is a
sentence, the quoted line and a caret. May not know: the parser, any op.
"""

from __future__ import annotations

from logosnb.language.tree import NOWHERE, Position


class LogosError(Exception):
    """The root of all errors of logosnb."""

    def _render_traceback_(self) -> list[str]:
        """IPython shows these lines in place of a Python traceback."""
        return [f"{type(self).__name__}: {self}"]


class LocatedError(LogosError):
    """An error that knows its place.

    `message` is the bare sentence, `line` and `column` count from one (0 where unknown), `source`
    is the program's text; lines are numbered from `first_line`.
    """

    def __init__(
        self, message: str, position: Position = NOWHERE, source: str = "", first_line: int = 1
    ) -> None:
        super().__init__(message)
        self.message = message
        self.position = position
        self.source = source
        self.first_line = first_line

    @property
    def line(self) -> int:
        return self.position.line

    @property
    def column(self) -> int:
        return self.position.column

    def __str__(self) -> str:
        if not self.line:
            return self.message
        return "\n".join([f"line {self.line}: {self.message}", *self._quote()])

    def _quote(self) -> list[str]:
        lines = self.source.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        index = self.line - self.first_line
        if not 0 <= index < len(lines):
            return []
        text, start = lines[index].replace("\t", " "), self.column - 1
        same_line = self.position.end_line == self.line
        end = self.position.end_column - 1 if same_line else len(text)
        carets = "^" * max(1, min(end, len(text)) - start)
        return [f"    {text}", "    " + " " * start + carets]


class LogosSyntaxError(LocatedError):
    """The program does not say something in LOGOS."""


class ShapeError(LocatedError):
    """Tensors whose shapes do not go together."""


class LogosRuntimeError(LocatedError):
    """A program that could not go on: an index out of range, a division of Ints by zero, …"""


class InputError(LogosRuntimeError):
    """What was passed in is missing, unknown or not usable as the tensor it is meant for."""
