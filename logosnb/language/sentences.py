"""Cuts a program into sentences, before any grammar is asked.

In: a program's text. Out: `Sentence`s in their order: where each begins and ends, how far its line
is indented, and which mark ends it. May not know: what a sentence says, how sentences nest.

A full stop ends a sentence wherever it stands outside a Text, a number and a comment; a colon does
at the head of a block. Line ends mean nothing, except that no sentence goes on where a line
begins with a statement's word: then its full stop is missing.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from logosnb.language.errors import LogosSyntaxError
from logosnb.language.grammar import pattern_of
from logosnb.language.tree import Position
from logosnb.language.words import BLOCK_WORDS, STATEMENT_WORDS

TAB_WIDTH = 4
MOST_BRACKETS = 100  # deeper than any program means, and within Python's own limits

# Not here: lower-case words that may well go on a sentence (`Return x`, on the next line `if c.`).
BEGINNERS = frozenset(STATEMENT_WORDS) | {
    *("let", "show", "push", "return", "while", "repeat", "otherwise", "else", "elif")
}
BLOCK_BEGINNERS = frozenset(word.lower() for word in BLOCK_WORDS) | {"elseif"}
CLOSING = {"(": ")", "[": "]"}


class SourceText:
    """A program's text, and where in it an offset stands."""

    def __init__(self, text: str, first_line: int = 1) -> None:
        self.text = text.replace("\r\n", "\n").replace("\r", "\n")
        self.first_line = first_line
        self._starts = [0, *(found.end() for found in re.finditer("\n", self.text))]

    def line_of(self, offset: int) -> int:
        return bisect_right(self._starts, offset) - 1 + self.first_line

    def line_start(self, offset: int) -> int:
        return self._starts[bisect_right(self._starts, offset) - 1]

    def position(self, start: int, end: int) -> Position:
        return Position(
            self.line_of(start),
            start - self.line_start(start) + 1,
            self.line_of(end),
            end - self.line_start(end) + 1,
        )

    def error(self, message: str, start: int, end: int | None = None) -> LogosSyntaxError:
        position = self.position(start, start + 1 if end is None else end)
        return self.error_at(message, position)

    def error_at(self, message: str, position: Position) -> LogosSyntaxError:
        return LogosSyntaxError(message, position, self.text, self.first_line)

    def indent_of(self, offset: int) -> int:
        """The width of the white space before the first word of the line."""
        start = self.line_start(offset)
        blank = re.compile(r"[^\S\n]*").match(self.text, start)
        return len(blank.group().expandtabs(TAB_WIDTH)) if blank else 0

    def begins_line(self, offset: int) -> bool:
        return not self.text[self.line_start(offset) : offset].strip(" \t\ufeff")


@dataclass(frozen=True)
class Sentence:
    """A sentence, its mark included: `.`, `:` at the head of a block, `##` before the line of a
    section (which then begins after it), and nothing where the mark is missing."""

    start: int
    end: int
    mark: str
    line: int
    end_line: int
    indent: int
    begins_line: bool


def cut(source: SourceText) -> Iterator[Sentence]:
    """The sentences of a program, in order; LogosSyntaxError for a bracket or Text left open."""
    return _Cutter(source).sentences()


@cache
def _tokens() -> re.Pattern[str]:
    return re.compile(
        r"(?P<section>^##(?:\([^).#]*\)|[^\n#])*)|(?P<comment>#[^\n]*)"
        rf"|(?P<text>{pattern_of('TEXT')})|(?P<quote>\")|(?P<real>{pattern_of('REAL')})"
        r"|(?P<opening>[(\[])|(?P<closing>[)\]])|(?P<stop>\.)|(?P<colon>:)"
        r"|(?P<word>\w+)|(?P<other>[^\s\ufeff])",
        re.MULTILINE,
    )


class _Cutter:
    """The state while cutting: the sentence under way and the brackets open in it."""

    def __init__(self, source: SourceText) -> None:
        self.source = source
        self.start: int | None = None
        self.last = 0  # where the last token ended
        self.brackets: list[int] = []

    def sentences(self) -> Iterator[Sentence]:
        for token in _tokens().finditer(self.source.text):
            if token.lastgroup != "comment":
                yield from self._take(token)
        if self.brackets:
            raise self._unclosed()
        if self.start is not None:
            yield self._end("")

    def _take(self, token: re.Match[str]) -> Iterator[Sentence]:
        if self.start is not None and self._breaks_off(token):
            yield self._end("")
        if token["section"]:
            yield self._sentence(token.start() + 2, token.end(), "##")
            return
        if self.start is None:
            self.start = token.start()
        self._brackets(token)
        self.last = token.end()
        if token["stop"] and self.brackets:
            raise self._unclosed()
        if token["stop"] or (token["colon"] and self._opens(token.end())):
            yield self._end(token.group())

    def _breaks_off(self, token: re.Match[str]) -> bool:
        """Does this token begin another sentence, though the one before has not ended?"""
        begins = token["section"] or (
            token["word"] in BEGINNERS and self.source.begins_line(token.start())
        )
        if begins and self.brackets:
            raise self._unclosed()
        return bool(begins)

    def _brackets(self, token: re.Match[str]) -> None:
        if token["quote"]:
            raise self.source.error('this Text has no closing `"` on its line', token.start())
        if token["opening"]:
            self.brackets.append(token.start())
            if len(self.brackets) > MOST_BRACKETS:
                message = f"more than {MOST_BRACKETS} brackets are open here: bind parts to names"
                raise self.source.error(message, token.start())
        if token["closing"]:
            self._close(token)

    def _close(self, token: re.Match[str]) -> None:
        if not self.brackets:
            raise self.source.error(f"this `{token.group()}` closes nothing", token.start())
        opened = self.source.text[self.brackets[-1]]
        if CLOSING[opened] != token.group():
            message = (
                f"a `{opened}` is open here: expected `{CLOSING[opened]}`, not `{token.group()}`"
            )
            raise self.source.error(message, token.start())
        self.brackets.pop()

    def _unclosed(self) -> LogosSyntaxError:
        opened = self.source.text[self.brackets[-1]]
        message = f"this `{opened}` is never closed: expected `{CLOSING[opened]}` in its sentence"
        return self.source.error(message, self.brackets[-1])

    def _opens(self, end: int) -> bool:
        """Does the colon before `end` open a block? The one in `Let x: Int be 5.` does not."""
        if self.brackets or self.start is None:
            return False
        first = re.compile(r"\w*").match(self.source.text, self.start)
        rest = re.compile(r"[^\S\n]*(#|\n|\Z)").match(self.source.text, end)
        return rest is not None or (first is not None and first.group().lower() in BLOCK_BEGINNERS)

    def _end(self, mark: str) -> Sentence:
        start = self.start or 0
        self.start = None
        return self._sentence(start, self.last, mark)

    def _sentence(self, start: int, end: int, mark: str) -> Sentence:
        source = self.source
        lines = source.line_of(start), source.line_of(end)
        return Sentence(
            start, end, mark, *lines, source.indent_of(start), source.begins_line(start)
        )
