"""The words of LOGOS that more than one part of logosnb needs to know.

In: nothing. Out: the builtins with their arities, the words that begin a sentence, the other
keywords, and the likely word for a misspelt one. May not know: any op, the grammar.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches

# Name to the number of arguments; `min` and `max` take that many or more.
BUILTINS: Mapping[str, int] = {
    "sqrt": 1,
    "exp": 1,
    "log": 1,
    "tanh": 1,
    "sin": 1,
    "cos": 1,
    "abs": 1,
    "min": 2,
    "max": 2,
    "floor": 1,
    "ceil": 1,
    "round": 1,
    "pow": 2,
    "length": 1,
}

BLOCK_WORDS: tuple[str, ...] = ("If", "Otherwise", "Else", "Elif", "While", "Repeat")

STATEMENT_WORDS: tuple[str, ...] = (
    *("Let", "Set", "Show", "Push", "Pop", "Call", "Break", "Return"),
    *BLOCK_WORDS,
)

CONSTANTS: tuple[str, ...] = ("true", "false", "infinity", "nan")

TYPES: tuple[str, ...] = ("Int", "Real", "Float", "Bool", "Text", "Tensor", "Seq")

KEYWORDS: tuple[str, ...] = (
    *("be", "to", "from", "in", "into", "of", "through", "with", "for", "while", "forever"),
    *("and", "or", "not", "if", "is", "equals", "contains", "mutable", "mut"),
    *("plus", "minus", "times", "divided by", "combined with"),
    *("is equal to", "is not", "is greater than", "is less than", "is at least", "is at most"),
    *("is between", "is even", "is odd", "is divisible by"),
    *("item", "items", "length of", "copy of", "a new Seq of", "tensor of"),
    *CONSTANTS,
)

# A name that reads like one of these could not be told from the language's own word.
RESERVED: frozenset[str] = frozenset(
    {
        *("and", "or", "not", "is", "if", "to", "of", "be", "plus", "minus", "times", "equals"),
        *("contains", "through"),
        *CONSTANTS,
    }
)


def closest(word: str, candidates: Iterable[str]) -> str | None:
    """The candidate that `word` most likely stands for, or None where none is near."""
    spelled: Mapping[str, str] = {candidate.lower(): candidate for candidate in candidates}
    return _nearest(word.lower(), spelled)


def _nearest(word: str, spelled: Mapping[str, str]) -> str | None:
    near: Collection[str] = get_close_matches(word, list(spelled), n=1, cutoff=0.65)
    return next((spelled[found] for found in near), None)
