"""The parser that lark makes of grammar.lark, made once, with the first program that is parsed.

In: grammar.lark. Out: `language()`, the parser, and `pattern_of`, a terminal as a regular
expression. May not know: what is built of the parse trees.
"""

from __future__ import annotations

from functools import cache
from importlib import resources

from lark import Lark

STARTS = ["sentence", "header", "expression"]


@cache
def language() -> Lark:
    """The LALR parser; building it takes about a tenth of a second."""
    text = resources.files(__package__).joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(
        text, parser="lalr", start=STARTS, propagate_positions=True, maybe_placeholders=True
    )


def pattern_of(terminal: str) -> str:
    """The regular expression of a terminal of the grammar."""
    return str(language().get_terminal(terminal).pattern.to_regexp())
