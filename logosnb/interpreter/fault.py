"""What goes wrong while a program runs, before its place is known.

In: a sentence. Out: `Fault`, which errors.py turns into an error with line and caret. May not know:
trees.
"""

from __future__ import annotations

from logosnb.language.errors import LocatedError, LogosRuntimeError


class Fault(Exception):
    """`sentence` says what went wrong; `error` is the class of the error that the person sees."""

    def __init__(self, sentence: str, error: type[LocatedError] = LogosRuntimeError) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.error = error
