"""What a person reads where a program does not say something in LOGOS: the sentence and the place."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import logosnb
from logosnb.language.errors import LogosSyntaxError
from logosnb.language.parser import parse_source
from logosnb.language.printer import print_source
from logosnb.language.tree import Position

# What lark, Python or a program's insides would say, and no message may.
INSIDES = re.compile(
    r"\$END|__ANON|(?<!U\+)\b_?(?!LOGOS)[A-Z]{3,}[A-Z_]*\b|Traceback|Token\(|Unexpected|lark|None"
)


def refused(text: str, first_line: int = 1) -> LogosSyntaxError:
    with pytest.raises(LogosSyntaxError) as caught:
        parse_source(text, first_line)
    return caught.value


# text: what the message must hold, and what the carets stand under ("" for behind the line's end)
CASES = {
    # near misses
    "Lett x be 5.": ("did you mean `Let`?", "Lett"),
    "Let x bee 5.": ("expected `be` or a colon after `x`, but found `bee`", "bee"),
    "Let x  bee 5.": ("did you mean `be`?", "bee"),
    "Repat for i from 1 to 3:\n    Show i.": ("did you mean `Repeat`?", "Repat"),
    "Sho 1.": ("did you mean `Show`?", "Sho"),
    "Repeat fro i from 1 to 3: Show i.": ("did you mean `for`?", "fro"),
    "Repeat for i from 1 too 3: Show i.": ("did you mean `to`?", "too"),
    "Return 1 iff x.": ("did you mean `if`?", "iff"),
    "Let x: Itn be 5.": ("did you mean `Int`?", "Itn"),
    "## Mian\nShow 1.": ("did you mean `## Main`?", "Mian"),
    "Show [1, 2] pluss 3.": ("did you mean `plus`?", "pluss"),
    # the wrong word or sign
    "Set x be 5.": ("`Set` takes `to`, not `be`", "be"),
    "Let x to 5.": ("`Let` takes `be`, not `to`", "to"),
    "Let x = 5.": ("`Let` takes `be`, not `=`", "="),
    "Set x = 5.": ("`Set` takes `to`, not `=`", "="),
    "x == 5.": ("to bind a name, write `=`", "="),
    "If x = 5: Show 1.": ("to compare, write `==`", "="),
    "Push 1 in xs.": ("expected `to` after `1`, but found `in`", "in"),
    "Pop xs.": ("expected `from`", "xs"),
    "Show x is between 1 or 2.": ("expected `and`", "or"),
    "Repeat i from 1 to 3: Show i.": ("`Repeat for i from 1 to 3:`", "i"),
    "If x then: Show 1.": ("expected a colon after `x`, but found `then`", "then"),
    # something missing
    "Let x be 5": ("line 1 lacks its full stop", ""),
    "Let x be 5  # five\nShow x.": ("line 1 lacks its full stop", " "),
    "Let y be softmax of x\nShow y.": ("line 1 lacks its full stop", ""),
    "Let y be softmax of x\nz = 5.": ("line 1 lacks its full stop", ""),
    "Let x be 5 Show x.": ("a full stop is missing before `Show`", " "),
    "If x > 1\n    Show 1.": ("line 1 lacks its colon", ""),
    "Let x be 5\n## Main": ("line 1 lacks its full stop", ""),
    "Let x be .": ("expected an expression after `be`", "."),
    "Let be 5.": ("expected a name between `Let` and `be`", "be"),
    "Let 5 be x.": ("expected a name after `Let`, but found `5`", "5"),
    "Set x to.": ("expected an expression after `to`", "."),
    "Show 1 + .": ("expected an expression after `+`", "."),
    "x += .": ("expected an expression after `+=`", "."),
    "Call f with.": ("expected an expression after `with`", "."),
    "Call.": ("expected a name after `Call`", "."),
    "While: Show 1.": ("expected an expression after `While`", ":"),
    "Repeat for i in: Show 1.": ("expected an expression after `in`", ":"),
    "Let x be a new Seq of.": ("expected a type", "."),
    "Set rows from p of t.": ("expected `to` after `t`", "."),
    "Push 1.": ("expected `to`", "."),
    "x.": ("`x` does not begin a sentence", "x"),
    "..": ("no sentence before this `.`", "."),
    "Break now.": ("expected a full stop after `Break`, but found `now`", "now"),
    "f(1 2).": ("expected `)` or a comma", "2"),
    "xs[1] 5.": ("expected `=` after `]`", "5"),
    # brackets and Texts
    'Show "abc.': ('no closing `"`', '"'),
    "Show (1 + 2.": ("this `(` is never closed", "("),
    "Show [1, 2\nShow 3.": ("this `[` is never closed", "["),
    "Show 1 + 2).": ("this `)` closes nothing", ")"),
    "Show (1].": ("a `(` is open here: expected `)`, not `]`", "]"),
    'Show "a {x".': ("this `{` has no `}`", "{"),
    'Show "a }".': ("this `}` has no `{`", "}"),
    'Show "a {x +}".': ("expected an expression after `+`", "}"),
    'Show "a {}".': ("expected an expression in the braces", "{}"),
    'Show "{x:.6f}".': ("`.6f` is no form", ".6f"),
    r'Show "\q".': (r"`\q` means nothing in a Text", r"\q"),
    # characters, numbers and names
    "Show 1;": ("not with `;`", ";"),
    "Show 'a'.": ("double quotes", "'"),
    "Show “a”.": ("straight quotes", "“"),
    "Show x ≤ 1.": ("write `<=`", "≤"),
    "Show $x.": ("`$` is no character of LOGOS", "$"),
    "Let x be .5.": ("write `0.5`", "."),
    "Let x be 5x.": ("`5x` is neither a number nor a name", "5x"),
    "Show 1e999.": ("too large for a Real", "1e999"),
    "Let and be 5.": ("`and` is a word of the language", "and"),
    "Let x: Foo be 5.": ("`Foo` is not a type", "Foo"),
    "Let x: Seq be 5.": ("`Seq of Real`", "Seq"),
    # tensors
    "Let x be a 4x8 tensor of Real.": ("sizes are written `4 by 8`", "4x8"),
    "Let x be a 4 by 8 tenser of Real.": (
        "a tensor is declared as `a 4 by 8 tensor of Real`",
        "a 4 by 8 tenser of Real",
    ),
    "Let x be a 4 by 8 tensor of Bool.": ("(or `of Int`)", "a 4 by 8 tensor of Bool"),
    "Let x be a 0 by 8 tensor of Real.": ("whole number from one up", "0"),
    "Let x be a 4 by 8.5 tensor of Real.": ("whole number from one up", "8.5"),
    "Let x: Real be a 4 by 8 tensor of Real.": (
        "with no type",
        "Let x: Real be a 4 by 8 tensor of Real.",
    ),
    # sections and blocks
    "## Foo\nShow 1.": ("a section is `## Main` or `## To", "Foo"),
    "## Main\n## Main": ("there is a `## Main` already", " Main"),
    "## To f:\n## To f:": ("there is a function `f` already", " To f:"),
    "## To f (a: Int) and (a: Int):": ("two parameters named `a`", "a: Int"),
    "## To f (a Int):": ("expected a colon after `a`", "Int"),
    "## To f (a: Int": ("expected `)`", ""),
    "## To sqrt (x: Real):": ("`sqrt` is built in", " To sqrt (x: Real):"),
    "## To show (x: Real):": ("cannot name a function", "show"),
    "If x > 1:\nShow 1.": ("this block is empty", "If x > 1:"),
    "If x > 1:": ("this block is empty", "If x > 1:"),
    "Show 1.\n    Show 2.": ("no block begins above it", "Show 2."),
    "If a:\n        Show 1.\n    Show 2.": ("like no block that is open", "Show 2."),
    "    Show 1.\nShow 2.": ("like no block that is open", "Show 2."),
    "Otherwise:\n    Show 1.": ("this `Otherwise` has no `If`", "Otherwise:"),
    "Else If x:\n    Show 1.": ("this `Else` has no `If`", "Else If x:"),
}


def under_the_carets(error: LogosSyntaxError) -> str:
    _, line, carets = str(error).split("\n")
    start, end = carets.index("^"), carets.rindex("^") + 1
    assert set(carets[start:end]) == {"^"}
    return line[start:end]


@pytest.mark.parametrize("text", CASES)
def test_an_error(text: str) -> None:
    message, quoted = CASES[text]
    error = refused(text)
    assert message in error.message
    assert under_the_carets(error) == quoted
    assert not INSIDES.search(error.message)


def test_an_error_is_shown_with_its_line_and_carets() -> None:
    error = refused("Let y be 1.\n\tLet x bee 5.\n", first_line=2)
    assert (error.line, error.column) == (3, 8)
    assert str(error) == (
        "line 3: expected `be` or a colon after `x`, but found `bee`; did you mean `be`?\n"
        "     Let x bee 5.\n"
        "           ^^^"
    )


def test_errors_come_in_the_order_of_the_text() -> None:
    assert refused("Show 1.\n  Show 2.\nLett x be 5.").line == 2
    assert refused("Lett x be 5.\nShow 1.\n  Show 2.").line == 1


def test_lines_count_as_in_an_editor_whatever_stands_in_them() -> None:
    error = refused('Show "a\u2028b\x0c".\r\nShow 1;')
    assert (error.line, error.column) == (2, 7)
    assert str(error).endswith("    Show 1;\n          ^")


def test_a_later_error_quotes_its_line_without_the_return_that_ended_it() -> None:
    error = LogosSyntaxError("wrong", Position(2, 6, 2, 7), "Show 1.\r\nShow x.\r\n")
    assert str(error) == "line 2: wrong\n    Show x.\n         ^"


DEEP = {
    "brackets": "Show " + "(" * 5000 + "1" + ")" * 5000 + ".",
    "signs": "Show " + "-" * 5000 + "1.",
    "a sum": "Show 1" + " + 1" * 5000 + ".",
    "not": "Show " + "not " * 5000 + "x.",
    "items": "Show " + "item 1 of " * 5000 + "x.",
    "types": "Let x be a new " + "Seq of " * 5000 + "Real.",
    "an If": "If x" + " + 1" * 5000 + ": Show 1.",
    "a Text": 'Show "{1' + " + 1" * 5000 + '}".',
    "blocks": "If x: " * 5000 + "Show 1.",
}


@pytest.mark.parametrize("kind", DEEP)
def test_what_is_too_deep_is_refused_in_a_sentence(kind: str) -> None:
    assert re.search("too deep|open here|nested more than", refused(DEEP[kind]).message)


def test_a_number_of_too_many_digits_is_refused() -> None:
    assert "at most 4000 digits" in refused(f"Show {'9' * 5000}.").message


WORDS = (
    "Let Set Show If Otherwise Else Repeat Return Push Pop Call While for while from to be in of x y "
    "5 1.5 0x . . . : ( ) [ ] , = == + - * / ** < and or not is even between a new Seq Real tensor "
    'by item items through length copy "t" "{x}" "{" } # ## Main To -> $ ; ’ _ 7z'
).split()
spaces = st.sampled_from([" ", " ", " ", "\n", "\n    ", "\t", ""])
soups = st.lists(st.tuples(st.sampled_from(WORDS), spaces), max_size=14).map(
    lambda pairs: "".join(word + space for word, space in pairs)
)


@given(soups | st.text(max_size=30))
@settings(max_examples=500, deadline=None, print_blob=True)
def test_any_text_parses_or_is_refused_with_a_sentence_and_a_place(text: str) -> None:
    try:
        source = parse_source(text)
    except LogosSyntaxError as error:
        assert error.message
        assert not INSIDES.search(re.sub("`[^`]*`", "", error.message))
        assert 1 <= error.line <= text.count("\n") + text.count("\r") + 1
        assert error.column >= 1
        assert "\n" in str(error)
    else:
        assert parse_source(print_source(source)) == source


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("Let total be 1.\nSet totl to 2.\n", "`totl` is not a name here; did you mean `total`?"),
        ("Let total be 1.\ncount += 2.\n", "`count` is not a name here"),
        ("Let y be softmax of pictures.\n", "`Let pictures be a 4 by 3 tensor of Real.`"),
        (
            "Let x be a 2 by 2 tensor of Real.\nLet y be softmax of rmsnorm of x.\n",
            "`softmax of (rmsnorm of x)`",
        ),
    ],
)
def test_what_a_newcomer_stumbles_over(text: str, hint: str) -> None:
    with pytest.raises(logosnb.LogosSyntaxError) as failure:
        logosnb.parse(text)
    assert hint in str(failure.value)
