"""The inside of a Text: its characters, and the expressions in its braces.

In: a Text as typed, quotes included. Out: its characters unescaped and each `{…}` with the place of
its expression; and characters escaped again. May not know: how an expression is parsed or printed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\"}
FORM = re.compile(r"[<>^]?[0-9]*(\.[0-9]+)?")
_NESTED = r'"(?:[^"\\]|\\.)*"'
_PIECE = re.compile(
    r"(?P<escape>\\.)|(?P<brace>\{\{|\}\})"
    rf"|\{{(?P<value>(?:[^\"{{}}:\\]|{_NESTED})*)(?P<colon>:(?P<form>[^\"{{}}]*))?\}}"
    r"|(?P<plain>[^\\{}]+)|(?P<stray>.)",
    re.DOTALL,
)
_ESCAPED = str.maketrans(
    {"\\": r"\\", '"': r"\"", "\n": r"\n", "\t": r"\t", "\r": r"\r", "{": "{{", "}": "}}"}
)


class TextFault(Exception):
    """What is wrong inside a Text; start and end count from its opening quote."""

    def __init__(self, reason: str, start: int, end: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.start = start
        self.end = end


@dataclass(frozen=True)
class Braces:
    """An expression in braces: where it stands, counted from the opening quote, and its form."""

    start: int
    end: int
    form: str


def pieces(typed: str) -> Iterator[str | Braces]:
    """The characters and braces of a Text as typed; neighbouring characters come as one."""
    characters = ""
    for piece in _PIECE.finditer(typed, 1, len(typed) - 1):
        if piece["value"] is None:
            characters += _characters(piece)
            continue
        if characters:
            yield characters
        characters = ""
        yield _braces(piece)
    if characters:
        yield characters


def _characters(piece: re.Match[str]) -> str:
    if piece["stray"]:
        other = {"{": "}", "}": "{"}[piece["stray"]]
        reason = f"this `{piece['stray']}` has no `{other}`: write it twice to mean itself"
        raise TextFault(reason, piece.start(), piece.end())
    if piece["escape"] and piece["escape"][1] not in ESCAPES:
        known = r"`\"`, `\\`, `\n`, `\t` and `\r`"
        reason = f"`{piece['escape']}` means nothing in a Text: there are {known}"
        raise TextFault(reason, piece.start(), piece.end())
    if piece["escape"]:
        return ESCAPES[piece["escape"][1]]
    return piece["plain"] or piece.group()[0]


def _braces(piece: re.Match[str]) -> Braces:
    if not piece["value"].strip():
        reason = "expected an expression in the braces; a brace itself is written twice"
        raise TextFault(reason, piece.start(), piece.end())
    form = piece["form"] or ""
    if not FORM.fullmatch(form):
        reason = f"`{form}` is no form: there are `.6` (decimals) and `>10`, `<10`, `^10` (width)"
        raise TextFault(reason, piece.start("form"), piece.end("form"))
    return Braces(*piece.span("value"), form)


def escaped(characters: str) -> str:
    """The characters as they are typed inside a Text."""
    return characters.translate(_ESCAPED)
