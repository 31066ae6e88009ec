"""The op table: every `Op` that a file of this folder defines, found by walking the folder.

In: the modules of `logosnb.ops`. Out: `TABLE`, and look-ups of a phrase, exact or nearest. May not
know: trees. A new op is in the table as soon as its block stands in a file here.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import NamedTuple

import logosnb.ops
from logosnb.ops.op import Op
from logosnb.ops.phrase import Bindings, Part, fill, literals, match, nearly


def _blocks() -> Mapping[str, Op]:
    """Op name to block, in the order of files and of blocks in a file."""
    found: dict[str, Op] = {}
    for info in pkgutil.iter_modules(logosnb.ops.__path__):
        module = import_module(f"logosnb.ops.{info.name}")
        for value in vars(module).values():
            if isinstance(value, Op) and found.setdefault(value.name, value) is not value:
                raise ValueError(f"two blocks are named {value.name}")
    return found


TABLE = _blocks()


class Found(NamedTuple):
    op: Op
    bindings: Bindings
    phrase: str


@cache
def _wordings() -> tuple[tuple[str, Op], ...]:
    """Every wording, those with most fixed words first: `row sums of x` before `row i of t`."""
    every = [(phrase, op) for op in TABLE.values() for phrase in op.phrases]
    return tuple(sorted(every, key=lambda wording: -len(literals(wording[0]))))


def find(parts: Sequence[Part]) -> Found | None:
    """The op whose phrase these parts are."""
    words = {part for part in parts if isinstance(part, str)}
    for phrase, op in _wordings():
        if _may_be(phrase, words):
            bindings = match(phrase, parts)
            if bindings is not None:
                return Found(op, bindings, phrase)
    return None


def _may_be(phrase: str, words: set[str]) -> bool:
    return all(word in words or word in ("heads", "a", "experts") for word in literals(phrase))


def nearest(parts: Sequence[Part]) -> str | None:
    """The likely phrase for parts that fit none, in the person's own operands; None if nothing is near."""
    fits = [
        (_distance(phrase, parts), phrase, bindings)
        for phrase, _ in _wordings()
        if (bindings := match(phrase, parts, nearly)) is not None
    ]
    if not fits:
        return _by_words(parts)
    _, phrase, bindings = min(fits, key=lambda fit: fit[0])
    return fill(phrase, {hole: _shown(part) for hole, part in bindings.items()})


def _distance(phrase: str, parts: Sequence[Part]) -> int:
    return len(set(literals(phrase)) ^ {part for part in parts if isinstance(part, str)})


def _by_words(parts: Sequence[Part]) -> str | None:
    """The wording that shares most words, with the table's own names for its operands."""
    words = [part for part in parts if isinstance(part, str)]
    scored = [
        (sum(any(nearly(word, w) for w in words) for word in set(literals(p)) - {"of", "and"}), p)
        for p, _ in _wordings()
    ]
    best, phrase = max(scored, key=lambda pair: (pair[0], -len(literals(pair[1]))))
    return phrase.replace("{", "").replace("}", "") if best else None


def _shown(part: Part) -> str:
    return part if isinstance(part, str) else str(part)
