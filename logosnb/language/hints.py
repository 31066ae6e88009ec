"""Why the grammar does not take a sentence, in the words of whoever wrote it.

In: the source and the sentence that failed. Out: a LogosSyntaxError: what was expected, what
stands there, and for a near miss the likely word. May not know: any op; and no name of a terminal gets out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from lark import Token
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken
from lark.utils import TextSlice

from logosnb.language.errors import LogosSyntaxError
from logosnb.language.grammar import language
from logosnb.language.sentences import BEGINNERS, BLOCK_BEGINNERS, Sentence, SourceText
from logosnb.language.words import BLOCK_WORDS, STATEMENT_WORDS, closest

# What each terminal is called, in the order in which a message lists them. What is not here goes
# without saying: an operator may follow any expression.
CALLED = {
    "_BE": "`be`",
    "_TO": "`to`",
    "_OF": "`of`",
    "_FROM": "`from`",
    "_IN": "`in`",
    "_THROUGH": "`through`",
    "_FOR": "`for`",
    "_WHILE": "`while`",
    "_FOREVER": "`forever`",
    "_WITH": "`with`",
    "_INTO": "`into`",
    "_MAIN": "`Main`",
    "_TO_FUNCTION": "`To` and the name of a function",
    "_ASSIGN": "`=`",
    "_ARROW": "`->`",
    "_RPAR": "`)`",
    "_RSQB": "`]`",
    "_COMMA": "a comma",
    "_COLON": "a colon",
    "_STOP": "a full stop",
}

# What a misspelt word may have been meant for, where the terminal may stand.
SPELLED = {
    "_BE": ("be",),
    "_TO": ("to",),
    "_OF": ("of",),
    "_FROM": ("from",),
    "_IN": ("in",),
    "_THROUGH": ("through",),
    "_FOR": ("for",),
    "_WHILE": ("while",),
    "_FOREVER": ("forever",),
    "_WITH": ("with",),
    "_INTO": ("into",),
    "_MAIN": ("Main",),
    "_TO_FUNCTION": ("To",),
    "_AND": ("and",),
    "_OR": ("or",),
    "_IF": ("if",),
    "_CONTAINS": ("contains",),
    "COMPARE": ("is", "equals", "is not"),
    "COMBINED": ("combined with",),
    "ADD": ("plus", "minus"),
    "MULTIPLY": ("times", "divided by"),
}

REPEATS = (
    "`Repeat for i from 1 to 3:`, `Repeat for x in xs:`, `Repeat while c:` or `Repeat forever:`"
)

STRANGE = {
    ";": "a sentence ends with a full stop, not with `;`",
    "'": 'a Text stands in double quotes, `"like this"`',
    "“": 'a Text stands in straight quotes, `"like this"`',
    "”": 'a Text stands in straight quotes, `"like this"`',
    "‘": 'a Text stands in straight double quotes, `"like this"`',
    "’": 'a Text stands in straight double quotes, `"like this"`',
    "{": "braces stand only inside a Text; a block begins with a colon and is indented",
    "}": "braces stand only inside a Text; a block begins with a colon and is indented",
    "!": "`!` stands only in `!=`; the other is written `not`",
    "&": "write `and`",
    "|": "write `or`",
    "^": "a power is written `**`",
    "×": "write `*` or `times`",
    "·": "write `*` or `times`",
    "÷": "write `/` or `divided by`",
    "−": "write the minus sign of the keyboard, `-`",
    "–": "write the minus sign of the keyboard, `-`",
    "≤": "write `<=`",
    "≥": "write `>=`",
    "≠": "write `!=`",
}


@dataclass(frozen=True)
class Failure:
    """Where the grammar stopped, what came before it, and what could have come there."""

    source: SourceText
    start: int
    end: int
    place: int  # the offset of what was not taken
    before: tuple[Token, ...]
    accepted: frozenset[str]

    @property
    def found(self) -> str:
        """The word, number or sign that was not taken; "" at the end."""
        at = re.compile(r"\w+|\S").match(self.source.text, self.place, self.end)
        return at.group() if at else ""

    @property
    def first(self) -> str:
        return str(self.before[0]) if self.before else self.found

    def error(self, message: str) -> LogosSyntaxError:
        """At what was not taken; at its end where the sentence ends too early."""
        return self.source.error(message, self.place, self.place + max(1, len(self.found)))

    def error_after(self, token: Token | None, message: str) -> LogosSyntaxError:
        """Right behind a token, where something is missing."""
        return self.source.error(message, int(token.end_pos or 0) if token else self.start)


def refused(source: SourceText, start: int, end: int, rule: str) -> LogosSyntaxError:
    """The error for the text between two offsets, which the grammar does not take as `rule`."""
    failure = _failure(source, start, end, rule)
    for reason in REASONS:
        error = reason(failure)
        if error is not None:
            return error
    return _expected(failure)


def unended(source: SourceText, sentence: Sentence) -> LogosSyntaxError:
    """The error for a sentence without a mark: what else is wrong with it comes first."""
    first = re.compile(r"\w*").match(source.text, sentence.start)
    opens = first is not None and first.group().lower() in BLOCK_BEGINNERS
    mark, called = (":", "colon") if opens else (".", "full stop")
    marked = SourceText(source.text[: sentence.end] + mark, source.first_line)
    try:
        language().parse(TextSlice(marked.text, sentence.start, sentence.end + 1), start="sentence")
    except UnexpectedInput:
        error = refused(marked, sentence.start, sentence.end + 1, "sentence")
        if error.position != marked.position(sentence.end, sentence.end + 1):
            return source.error_at(error.message, error.position)
    line = source.line_of(sentence.end)
    message = f"the sentence that ends on line {line} lacks its {called}"
    return source.error(message, sentence.end)


def _failure(source: SourceText, start: int, end: int, rule: str) -> Failure:
    """Parse once more, step by step, to see how far it goes and what could have followed."""
    steps = language().parse_interactive(TextSlice(source.text, start, end), start=rule)
    taken: list[Token] = []
    try:
        for token in steps.iter_parse():
            taken.append(token)
        place = end
    except UnexpectedToken as error:
        place = end if error.token.type == "$END" else _starts(error.token)
    except UnexpectedCharacters as error:
        place = error.pos_in_stream or start
    accepted: Callable[[], Iterable[str]] = steps.accepts
    before = tuple(token for token in taken if _starts(token) < place)
    return Failure(source, start, end, place, before, frozenset(accepted()))


def _starts(token: Token) -> int:
    return int(token.start_pos or 0)


# ---- the reasons, tried in this order ---------------------------------------------------------


def _nothing_said(failure: Failure) -> LogosSyntaxError | None:
    if failure.before or failure.found not in (".", ":"):
        return None
    return failure.error(f"there is no sentence before this `{failure.found}`")


def _strange_character(failure: Failure) -> LogosSyntaxError | None:
    found = failure.found
    if found in STRANGE:
        return failure.error(f"`{found}` cannot stand here: {STRANGE[found]}")
    if found and not re.match(r"[\w+\-*/%<>=()\[\],.:\"]", found):
        called = f"`{found}`" if found.isprintable() else f"U+{ord(found):04X}"
        return failure.error(f"{called} is no character of LOGOS")
    return None


def _bad_number(failure: Failure) -> LogosSyntaxError | None:
    text, place = failure.source.text, failure.place
    if failure.found == "." and re.compile(r"\.[0-9]").match(text, place):
        digits = re.compile(r"\.[0-9]+").match(text, place)
        written = digits.group() if digits else "."
        return failure.error(f"a number begins with a digit: write `0{written}`")
    if not failure.found[:1].isdigit() or failure.found.isdigit():
        return None
    if re.fullmatch(r"[0-9]+x[0-9]+", failure.found):
        sizes = failure.found.replace("x", " by ")
        return failure.error(f"sizes are written `{sizes}`, not `{failure.found}`")
    if re.fullmatch(r"0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|[0-9_]+", failure.found):
        return None
    return failure.error(f"`{failure.found}` is neither a number nor a name")


def _equals_sign(failure: Failure) -> LogosSyntaxError | None:
    if failure.found != "=":
        return None
    double = failure.source.text[failure.place : failure.place + 2] == "=="
    word = {"let": "be", "set": "to"}.get(failure.first.lower(), "")
    if not double and word and f"_{word.upper()}" in failure.accepted:
        form = f"{failure.first} x {word} 5."
        return failure.error(f"`{failure.first}` takes `{word}`, not `=`: `{form}` or `x = 5.`")
    if double and "_ASSIGN" in failure.accepted:
        return failure.error("`==` compares; to bind a name, write `=`")
    if not double and "COMPARE" in failure.accepted and not _begins_a_line(failure):
        return failure.error("`=` binds a name; to compare, write `==` or `is`")
    return None


def _missing_stop(failure: Failure) -> LogosSyntaxError | None:
    if "_STOP" not in failure.accepted and "_COLON" not in failure.accepted:
        return None
    called = "full stop" if "_STOP" in failure.accepted else "colon"
    previous = failure.before[-1] if failure.before else None
    if previous is not None and failure.found in BEGINNERS:
        return failure.error_after(previous, f"a {called} is missing before `{failure.found}`")
    broken = _line_broken_before(failure)
    if broken is None:
        return None
    line = failure.source.line_of(_starts(broken))
    return failure.error_after(broken, f"the sentence that ends on line {line} lacks its {called}")


def _begins_a_line(failure: Failure) -> bool:
    return _line_broken_before(failure) is not None


def _line_broken_before(failure: Failure) -> Token | None:
    """The last token of the line before, where what failed or the token before it begins a line."""
    source, before = failure.source, failure.before
    if before and failure.found and source.begins_line(failure.place):
        return before[-1]
    if len(before) > 1 and failure.found and source.begins_line(_starts(before[-1])):
        return before[-2]
    return None


def _first_word(failure: Failure) -> LogosSyntaxError | None:
    """A sentence that begins with a word that begins none: it was taken for a name."""
    first = failure.before[0] if failure.before else None
    if first is None or first.type != "NAME" or len(failure.before) != 1:
        return None
    return _no_beginning(failure, first) if "_ASSIGN" in failure.accepted else None


def _no_beginning(failure: Failure, first: Token) -> LogosSyntaxError | None:
    near = closest(first, STATEMENT_WORDS)
    known = first.capitalize() in STATEMENT_WORDS
    if near and not known:
        message = f"`{first}` does not begin a sentence; did you mean `{near}`?"
        return _at_token(failure, first, message)
    if re.match(r"\w", failure.found) or failure.found == ".":
        listed = ", ".join(f"`{word}`" for word in STATEMENT_WORDS if word not in BLOCK_WORDS[1:4])
        forms = f"one begins with {listed}, or is `x = 5.` or `f(a).`"
        return _at_token(failure, first, f"`{first}` does not begin a sentence: {forms}")
    return None


def _at_token(failure: Failure, token: Token, message: str) -> LogosSyntaxError:
    return failure.source.error(message, _starts(token), int(token.end_pos or 0))


def _be_or_to(failure: Failure) -> LogosSyntaxError | None:
    first = failure.first
    if first in ("Let", "let") and failure.before[1:] and failure.before[1] == "be":
        message = f"expected a name between `{first}` and `be`"
        return _at_token(failure, failure.before[1], message)
    if first in ("Let", "let") and failure.found == "to" and "_BE" in failure.accepted:
        return failure.error(f"`{first}` takes `be`, not `to`: `{first} x be 5.`")
    if first not in ("Set", "set") or "_TO" not in failure.accepted:
        return None
    wrong = next((token for token in failure.before if token == "be"), None)
    if wrong is not None:
        message = f"`{first}` takes `to`, not `be`: `{first} x to 5.`"
        return _at_token(failure, wrong, message)
    return None


def _nothing_after(failure: Failure) -> LogosSyntaxError | None:
    """`Repeat i from …`, `Let be 5.`: what the first word takes."""
    if failure.first in ("Repeat", "repeat") and len(failure.before) == 1 and failure.found:
        near = closest(failure.found, ["for", "while", "forever"])
        hint = f"; did you mean `{near}`?" if near else ""
        return failure.error(f"expected {REPEATS}{hint}")
    return None


def _section_line(failure: Failure) -> LogosSyntaxError | None:
    if {"_MAIN", "_TO_FUNCTION"} - failure.accepted:
        return None
    near = closest(failure.found, ["Main", "To"]) if failure.found else None
    hint = f"; did you mean `## {near}`?" if near else "; a comment begins with one `#`"
    message = f"a section is `## Main` or `## To name (a: Int) -> Real:`{hint}"
    return failure.error(message)


REASONS: tuple[Callable[[Failure], LogosSyntaxError | None], ...] = (
    _section_line,
    _nothing_said,
    _strange_character,
    _bad_number,
    _be_or_to,
    _equals_sign,
    _missing_stop,
    _first_word,
    _nothing_after,
)


# ---- what is left: what was expected, and what stands there -----------------------------------


def _expected(failure: Failure) -> LogosSyntaxError:
    found = failure.found
    said = f"found `{found}`" if found else "the line ends here"
    near = closest(found, _spellings(failure.accepted)) if re.match(r"[^\W\d]", found) else None
    hint = f"; did you mean `{near}`?" if near and near != found else ""
    after = f" after `{failure.before[-1]}`" if failure.before else ""
    return failure.error(f"expected {_listed(_wanted(failure.accepted))}{after}, but {said}{hint}")


def _spellings(accepted: Iterable[str]) -> list[str]:
    return [word for terminal in sorted(accepted) for word in SPELLED.get(terminal, ())]


def _wanted(accepted: frozenset[str]) -> list[str]:
    """What could have come, in a user's words."""
    if "_LET" in accepted:
        return ["a sentence"]
    ends = [called for terminal, called in CALLED.items() if terminal in accepted]
    if "TEXT" in accepted:
        return ["an expression", *[end for end in ends if end != "a full stop"][:1]]
    if "_SEQ_OF" in accepted:
        return ["a type"]
    if "NAME" in accepted and not ends:
        return ["a name"]
    if "ADD" in accepted and not ends:
        return ["an operator"]
    return ends or ["`and`"]  # the one of `is between 1 and 9`


def _listed(wanted: list[str]) -> str:
    return wanted[0] if len(wanted) == 1 else f"{', '.join(wanted[:-1])} or {wanted[-1]}"
