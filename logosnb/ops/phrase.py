"""Phrases as data: the wording of an op matched against the words that a person wrote.

In: a phrase string of an op block and the parts of a statement (words as `str`, anything else is an
operand). Out: which part fills which hole, exactly or by the nearest wording. May not know: trees.

`[with residual {r}] [and weight {w}]`: the first such clause that is present begins with `with`,
later ones with `and`, whatever the block says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache

Part = object  # a word as str, or an operand
Bindings = Mapping[str, Part]
Same = Callable[[str, Part], bool]


@dataclass(frozen=True)
class Literal:
    word: str


@dataclass(frozen=True)
class Hole:
    name: str


@dataclass(frozen=True)
class Clause:
    """What may be left out: one of `choices`, each a run of literals and holes."""

    choices: tuple[tuple[Literal | Hole, ...], ...]


Element = Literal | Hole | Clause
JOINERS = ("with", "and")
# Words that read alike: `across 1 head`, `an 8 by 8 tensor`.
ALIKE = {"head": "heads", "an": "a", "expert": "experts"}


@cache
def elements(phrase: str) -> tuple[Element, ...]:
    """The elements of a phrase string."""
    found = re.findall(r"\[([^\]]*)\]|(\S+)", phrase)
    return tuple(_clause(inside) if inside else _element(word) for inside, word in found)


def _clause(inside: str) -> Clause:
    return Clause(
        tuple(tuple(_element(word) for word in choice.split()) for choice in inside.split(" / "))
    )


def _element(word: str) -> Literal | Hole:
    return Hole(word[1:-1]) if word.startswith("{") else Literal(word)


def exactly(word: str, part: Part) -> bool:
    return isinstance(part, str) and ALIKE.get(part, part) == word


def nearly(word: str, part: Part) -> bool:
    return isinstance(part, str) and (
        exactly(word, part) or SequenceMatcher(None, word, part.lower()).ratio() >= 0.65
    )


def match(phrase: str, parts: Sequence[Part], same: Same = exactly) -> Bindings | None:
    """Hole to part, or None where the phrase does not fit the parts."""
    return next(_matches(elements(phrase), tuple(parts), False, same), None)


def _matches(
    pattern: tuple[Element, ...], parts: tuple[Part, ...], joined: bool, same: Same
) -> Iterator[dict[str, Part]]:
    if not pattern:
        if not parts:
            yield {}
        return
    head, rest = pattern[0], pattern[1:]
    if isinstance(head, Clause):
        for choice in head.choices:
            yield from _matches((*_joined(choice, joined), *rest), parts, joined, same)
        yield from _matches(rest, parts, joined, same)
    elif parts and isinstance(head, Hole):
        for bindings in _matches(rest, parts[1:], joined, same):
            yield {head.name: parts[0], **bindings}
    elif parts and isinstance(head, Literal) and same(head.word, parts[0]):
        yield from _matches(rest, parts[1:], joined or head.word == "with", same)


def _joined(choice: tuple[Literal | Hole, ...], joined: bool) -> tuple[Literal | Hole, ...]:
    first = choice[0]
    if isinstance(first, Literal) and first.word in JOINERS:
        return (Literal("and" if joined else "with"), *choice[1:])
    return choice


def fill(phrase: str, bindings: Mapping[str, str]) -> str:
    """The phrase in words, with the clauses whose holes are all bound."""
    words: list[str] = []
    for element in elements(phrase):
        if isinstance(element, Clause):
            for choice in element.choices:
                if all(e.name in bindings for e in choice if isinstance(e, Hole)):
                    words += [_word(e, bindings) for e in _joined(choice, "with" in words)]
        else:
            words.append(_word(element, bindings))
    return " ".join(words)


def _word(element: Element, bindings: Mapping[str, str]) -> str:
    if isinstance(element, Hole):
        return bindings.get(element.name, element.name)
    return element.word if isinstance(element, Literal) else ""


@cache
def literals(phrase: str) -> tuple[str, ...]:
    """The fixed words that every use of the phrase has."""
    return tuple(e.word for e in elements(phrase) if isinstance(e, Literal))


@cache
def holes(phrase: str) -> tuple[str, ...]:
    """Every hole of the phrase, those of clauses included, in order."""
    return tuple(re.findall(r"\{(\w+)\}", phrase))


def required_holes(phrase: str) -> tuple[str, ...]:
    """The holes outside clauses."""
    return tuple(e.name for e in elements(phrase) if isinstance(e, Hole))
