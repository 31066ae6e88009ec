"""Tab in a `%%logos` cell: op phrases, the next fixed words of a phrase, names in scope, options.

In: the text of a cell and where the cursor stands. Out: `Choices`: what the cursor's word may become.
May not know: any op by name. In every other cell it offers nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from IPython.core.completer import CompletionContext, SimpleCompletion, context_matcher

from logosnb.language.words import BUILTINS, CONSTANTS, KEYWORDS, STATEMENT_WORDS, TYPES
from logosnb.notebook.options import NAMES as OPTIONS
from logosnb.ops.phrase import JOINERS, Clause, Element, Hole, Literal, elements, exactly
from logosnb.ops.table import TABLE
from logosnb.running import BACKENDS

IDENTIFIER = "logosnb.completion"
BINDING = re.compile(
    r"\b(?:[Ll]et(?:\s+mut(?:able)?)?|for|into)\s+(\w+)|(\w+)\s*:\s*(?:Int|Real|Seq)"
)
AFTER_BE = ("a new Seq of ", "copy of ", "length of ", "item ", "items ", "not ", *CONSTANTS)
SIZES = ("by ", "tensor of Real.", "tensor of Int.")


@dataclass(frozen=True)
class Choices:
    """fragment: the text before the cursor that a choice replaces; texts: the choices, best first;
    kind: what a front end shows beside them."""

    fragment: str = ""
    texts: tuple[str, ...] = ()
    kind: str = "text"


@context_matcher(  # type: ignore[untyped-decorator]  # IPython's own has no types
    identifier=IDENTIFIER, priority=100
)
def matcher(context: CompletionContext) -> dict[str, object]:
    """What IPython asks; it suppresses the completions of Python where there are ours."""
    found = choices(context.full_text, context.cursor_line, context.cursor_position)
    completions = [SimpleCompletion(text=text, type=found.kind) for text in found.texts]
    return {
        "completions": completions,
        "matched_fragment": found.fragment,
        "suppress": bool(completions),
        "ordered": True,
    }


def choices(cell: str, line: int, column: int) -> Choices:
    """The choices at a cursor: line and column count from zero, as IPython does."""
    lines = cell.split("\n")
    before = lines[line][:column]
    above = [text for text in lines[:line] if text.strip()]
    if not above:
        return _on_first_line(before, lines[line + 1 :])
    if not re.match(r"\s*%%logos(\s|$)", above[0]):
        return Choices()
    return _in_body(before, names_in(above[1:]))


def names_in(lines: list[str]) -> tuple[str, ...]:
    """The names that these lines bind, the latest first."""
    found = [a or b for line in lines for a, b in BINDING.findall(line.split("#")[0])]
    return tuple(dict.fromkeys(reversed(found)))


def _starting(fragment: str, texts: Iterator[str] | tuple[str, ...], kind: str) -> Choices:
    fitting = [t for t in texts if t.startswith(fragment) and t.rstrip() != fragment]
    return Choices(fragment, tuple(dict.fromkeys(fitting)), kind)


# ---- the first line ---------------------------------------------------------------------------


def _on_first_line(before: str, below: list[str]) -> Choices:
    """Options of `%%logos`, tensors of the cell as their values, op names after `%logos_ops`."""
    words = before.split(" ")
    if words[0] == "%logos_ops" and len(words) > 1:
        return _starting(words[-1], (*TABLE, *map(str.lower, TABLE)), "class")
    if words[0] != "%%logos" or len(words) < 2:
        return Choices()
    option, fragment = words[-2], words[-1]
    if option == "--backend":
        return _starting(fragment, BACKENDS, "keyword")
    if option in ("--grad", "--wrt", "--cotangent"):
        return _starting(fragment.split(",")[-1], names_in(below), "instance")
    unused = tuple(f"{name} " for name in OPTIONS if name not in words[:-1])
    return (
        _starting(fragment, unused, "keyword") if not fragment or fragment[0] == "-" else Choices()
    )


# ---- the body ---------------------------------------------------------------------------------


def _in_body(before: str, names: tuple[str, ...]) -> Choices:
    if before.count('"') % 2 or "#" in before:
        return Choices()
    sentence = re.split(r"\.\s+|:\s+", before)[-1].lstrip()
    fragment = re.findall(r"\w*$", sentence)[0]
    bound = re.match(r"(?:[Ll]et\s+.*?\bbe\s+)(.*)$", sentence)
    if bound:
        return _after_be(bound[1], fragment, names)
    if re.match(r"[Ss]et\s", sentence):
        words = ("Set", *_words(sentence)[1:])
        return _phrases(words, fragment, names, ("item ", *names) if len(words) == 2 else ())
    if sentence == fragment:
        words = tuple(f"{w}." if w == "Break" else f"{w} " for w in STATEMENT_WORDS)
        return _starting(fragment, (*words, *names), "keyword")
    return _starting(fragment, (*names, *_calls(), *KEYWORDS, *TYPES), "variable")


def _calls() -> tuple[str, ...]:
    return tuple(f"{name}(" for name in BUILTINS)


def _after_be(text: str, fragment: str, names: tuple[str, ...]) -> Choices:
    """Inside an open parenthesis the phrase begins anew."""
    inner = text[_open_parenthesis(text) :]
    words = _words(inner)
    if re.match(r"an?\s", inner) and len(words) > 1 and words[1][:1].isdigit():
        return _starting(fragment, SIZES, "keyword")
    others = (*AFTER_BE, *_calls()) if len(words) == 1 else ()
    return _phrases(words, fragment, names, others)


def _open_parenthesis(text: str) -> int:
    """Where the innermost parenthesis that is still open begins, 0 where none is."""
    opened = [0]
    for place, character in enumerate(text):
        if character == "(":
            opened.append(place + 1)
        elif character == ")" and len(opened) > 1:
            opened.pop()
    return opened[-1]


def _words(text: str) -> tuple[str, ...]:
    """The words; what stands in parentheses is one, an operand. The last is the cursor's, maybe empty."""
    flat = re.sub(r"\([^()]*\)", "operand", text)
    return tuple(re.split(r"\s+", flat.lstrip()))


def _phrases(
    words: tuple[str, ...], fragment: str, names: tuple[str, ...], others: tuple[str, ...]
) -> Choices:
    """What any phrase of the table allows after the whole words: its next fixed words, or a name."""
    writes = words[0] == "Set"
    patterns = [elements(p) for p in _every_phrase() if p.startswith("Set ") == writes]
    after = [rest for pattern in patterns for rest in following(pattern, words[:-1])]
    fixed = [text for rest in after if (text := fixed_words(rest))]
    operands = names if any(rest and isinstance(rest[0], Hole) for rest in after) else ()
    return _starting(fragment, (*operands, *sorted(set(fixed)), *others), "function")


def _every_phrase() -> Iterator[str]:
    return (phrase for op in TABLE.values() for phrase in op.phrases)


def following(
    pattern: tuple[Element, ...], words: tuple[str, ...], joined: bool = False
) -> Iterator[tuple[Element, ...]]:
    """What is left of a phrase, in every way that `words` fit its beginning.

    joined: whether a `with` stands before, so that the next clause begins with `and`.
    """
    head = pattern[0] if pattern else None
    if isinstance(head, Clause):
        for choice in head.choices:
            yield from following((*_clause(choice, joined), *pattern[1:]), words, joined)
        yield from following(pattern[1:], words, joined)
    elif not words:
        yield pattern
    elif isinstance(head, Hole) or isinstance(head, Literal) and exactly(head.word, words[0]):
        with_before = joined or isinstance(head, Literal) and head.word == "with"
        yield from following(pattern[1:], words[1:], with_before)


def _clause(choice: tuple[Literal | Hole, ...], joined: bool) -> tuple[Literal | Hole, ...]:
    first = choice[0]
    if isinstance(first, Literal) and first.word in JOINERS:
        return (Literal("and" if joined else "with"), *choice[1:])
    return choice


def fixed_words(pattern: tuple[Element, ...]) -> str:
    """The fixed words that begin a pattern, with a space where an operand follows: `softmax of `."""
    words: list[str] = []
    for element in pattern:
        if not isinstance(element, Literal):
            break
        words.append(element.word)
    more = " " if words and len(words) < len(pattern) else ""
    return " ".join(words) + more
