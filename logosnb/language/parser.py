"""The parser: from a program's text to its tree.

In: text. Out: `Source`, or a LogosSyntaxError that quotes the line. May not know: any op.

The way: sentences.py cuts the text, grammar.lark says what a sentence is, builder.py makes a node
of it, outline.py nests the nodes; where the grammar does not take a sentence, hints.py says why.
"""

from __future__ import annotations

from typing import Any

from lark.exceptions import UnexpectedInput, VisitError
from lark.utils import TextSlice

from logosnb.language import hints
from logosnb.language.builder import Builder
from logosnb.language.errors import LogosSyntaxError
from logosnb.language.grammar import language
from logosnb.language.outline import Outline
from logosnb.language.sentences import Sentence, SourceText, cut
from logosnb.language.tree import Expression, Node, Position, Source

MOST_DEEP = 150  # what reads trees does so by recursion, within Python's limits
SURELY_SHALLOW = 300  # characters: a shorter sentence cannot be too deep


def parse_source(text: str, first_line: int = 1) -> Source:
    """The tree of a program.

    first_line: the number of the first line, for positions and errors. Raises LogosSyntaxError.
    """
    source = SourceText(text, first_line)
    return Outline(source, cut(source), _Reader(source).sentence).read()


class _Reader:
    """Parses the sentences of one source."""

    def __init__(self, source: SourceText) -> None:
        self.source = source
        self.builder = Builder(source, self.expression)
        self.read: dict[tuple[str, int, str], tuple[Node | None, int]] = {}

    def sentence(self, sentence: Sentence) -> Any:
        """The node of a sentence; None for `## Main`."""
        if not sentence.mark:
            raise hints.unended(self.source, sentence)
        start = "header" if sentence.mark == "##" else "sentence"
        node = self._read(sentence.start, sentence.end, start)
        if sentence.end - sentence.start > SURELY_SHALLOW and _depth(node) > MOST_DEEP:
            message = "this sentence is too deep: bind parts of it to names of their own"
            raise self.source.error(message, sentence.start, sentence.end)
        return node

    def _read(self, start: int, end: int, rule: str) -> Any:
        """The node of a sentence; one that was read before, in the same column of another line, is that
        node on its own line: a derived program says `Let k be base + column.` once a rule."""
        at = self.source.position(start, end)
        if at.line != at.end_line:
            return self._node(start, end, rule)
        key = (self.source.text[start:end], at.column, rule)
        if key not in self.read:
            self.read[key] = self._node(start, end, rule), at.line
        node, line = self.read[key]
        return node if node is None or line == at.line else moved(node, at.line - line)

    def expression(self, start: int, end: int) -> Expression:
        """The expression that the source says between two offsets, inside a Text."""
        node: Expression = self._node(start, end, "expression")
        return node

    def _node(self, start: int, end: int, rule: str) -> Any:
        try:
            parsed = language().parse(TextSlice(self.source.text, start, end), start=rule)
            return self.builder.transform(parsed)
        except UnexpectedInput:
            raise hints.refused(self.source, start, end, rule) from None
        except VisitError as failure:
            if isinstance(failure.orig_exc, LogosSyntaxError):
                raise failure.orig_exc from None
            raise


def moved(value: Any, lines: int) -> Any:
    """A node, or a tuple with nodes in it, so many lines further down."""
    if isinstance(value, tuple):
        return tuple(moved(part, lines) for part in value)
    if not isinstance(value, Node):
        return value
    found = object.__new__(type(value))
    for name, part in vars(value).items():
        own = replace_lines(part, lines) if name == "position" else moved(part, lines)
        object.__setattr__(found, name, own)
    return found


def replace_lines(at: Position, lines: int) -> Position:
    return Position(at.line + lines, at.column, at.end_line + lines, at.end_column)


def _depth(node: Node | None) -> int:
    """How many nodes stand inside each other at the deepest place."""
    deepest = 0
    waiting: list[tuple[object, int]] = [(node, 0)]
    while waiting:
        found, depth = waiting.pop()
        if isinstance(found, tuple):
            waiting += [(part, depth) for part in found]
        elif isinstance(found, Node):
            deepest = max(deepest, depth + 1)
            waiting += [(part, depth + 1) for part in vars(found).values()]
    return deepest
