"""Colours for LOGOS: a Pygments lexer, found as "logos".

In: text. Out: Pygments tokens. May not know: any op; the words of a phrase are plain names.
"""

from __future__ import annotations

from typing import ClassVar

from pygments.lexer import RegexLexer, bygroups, include, words
from pygments.token import (
    Comment,
    Generic,
    Keyword,
    Name,
    Number,
    Operator,
    Punctuation,
    String,
    Whitespace,
)

from logosnb.language.words import BUILTINS, CONSTANTS, STATEMENT_WORDS, TYPES

_OPERATOR_WORDS = ("and", "or", "not", "is", "equals", "contains", "plus", "minus", "times")
_SMALL_WORDS = (
    *("be", "to", "from", "in", "into", "of", "through", "with", "for", "while", "forever"),
    *("mutable", "mut", "item", "items", "length", "copy", "new", "by", "tensor", "if"),
)
_BEGINNERS = (*STATEMENT_WORDS, *(word.lower() for word in STATEMENT_WORDS))


class LogosLexer(RegexLexer):  # type: ignore[misc]  # Pygments comes without types
    """LOGOS, for `pygments.lexers.get_lexer_by_name("logos")`, Markdown and notebooks."""

    name = "LOGOS"
    url = ""
    aliases: ClassVar[list[str]] = ["logos"]
    filenames: ClassVar[list[str]] = ["*.logos"]
    mimetypes: ClassVar[list[str]] = ["text/x-logos"]

    tokens: ClassVar = {
        "root": [
            (r"^(##[ \t]*To)([ \t]+)(\w+)", bygroups(Keyword, Whitespace, Name.Function)),
            (r"^##[^\n#]*", Generic.Heading),
            (r"#[^\n]*", Comment.Single),
            (r"\s+", Whitespace),
            (r'"', String, "text"),
            (r"0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+", Number),
            (r"[0-9][0-9_]*(\.[0-9][0-9_]*([eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)", Number.Float),
            (r"[0-9][0-9_]*", Number.Integer),
            (words(_BEGINNERS, suffix=r"\b"), Keyword),
            (words(_OPERATOR_WORDS, suffix=r"\b"), Operator.Word),
            (words(CONSTANTS, suffix=r"\b"), Keyword.Constant),
            (words(TYPES, suffix=r"\b"), Keyword.Type),
            (words(tuple(BUILTINS), suffix=r"(?=\()"), Name.Builtin),
            (words(_SMALL_WORDS, suffix=r"\b"), Keyword.Pseudo),
            (r"[^\W\d]\w*", Name),
            (r"->|\*\*|//|[-+*/%<>=!]=?", Operator),
            (r"[()\[\].,:]", Punctuation),
        ],
        "text": [
            (r'[^"\\{}\n]+', String),
            (r"\\.|\{\{|\}\}", String.Escape),
            (r"\{", String.Interpol, "braces"),
            (r"\}", String),
            (r'"|\n', String, "#pop"),
        ],
        "braces": [
            (r"\}|(?=\n)", String.Interpol, "#pop"),
            (r":[<>^]?[0-9]*(\.[0-9]+)?(?=\})", String.Interpol),
            include("root"),
        ],
    }
