"""What is known of a program before it runs: types of names, lower bounds of Ints."""

from __future__ import annotations

from math import inf

import pytest

from logosnb.interpreter.bounds import lows_of
from logosnb.stages.resolve import parse
from logosnb.stages.typing import program_types, tensor

FUNCTION = """
## To f (a: Real) and (xs: mutable Seq of Real) -> Seq of Int:
    Push a to xs.
    Let first be item 1 of xs.
    Return [1].

## Main
"""


def types(main: str) -> dict[str, str]:
    found = program_types(parse(FUNCTION + main))[0].names
    return {name: str(kind) for name, kind in found.items()}


@pytest.mark.parametrize(
    ("main", "name", "kind"),
    [
        ("Let x be 1.", "x", "Int"),
        ("Let x be 1 / 2.", "x", "Int"),
        ("Let x be 1 / 2.0.", "x", "Real"),
        ("Let x: Real be 1.", "x", "Real"),
        ("Let x be 1.\nx += 0.5.", "x", "Number"),
        ("Let x: Real be 1.\nx += 1.", "x", "Real"),
        ('Let x be 1.\nSet x to "a".', "x", "Any"),
        ("Let y be x.\nLet x be 1 < 2.", "y", "Bool"),
        ("Let x be [].", "x", "Seq of Nothing"),
        ("Let x be [].\nPush 1 to x.\nSet item 1 of x to 2.5.", "x", "Seq of Number"),
        ("Let x be a new Seq of Real.\nPush 1 to x.", "x", "Seq of Real"),
        ("Let x be [[1]].\nPush 0.5 to x[1].", "x", "Seq of Seq of Number"),
        ("Let x be [1, 2].\nPop from x into y.", "y", "Int"),
        ('Repeat for x in "ab": Show x.', "x", "Text"),
        ("Repeat for x in [0.5]: Show x.", "x", "Real"),
        ("Let x be [1].\nLet y be f(1, x).", "x", "Seq of Number"),
        ("Let x be [1].\nLet y be f(1, x).", "y", "Seq of Int"),
        ("Let t be a 1 by 1 tensor of Int.\nLet x be item 1 of t.", "x", "Int"),
        ("Let x be max(1, 2.5).", "x", "Real"),
        ("Let x be floor(2.5).", "x", "Int"),
        ("Let x be [].\nPush x to x.", "x", "Any"),
    ],
)
def test_types_of_names(main: str, name: str, kind: str) -> None:
    assert types(main)[name] == kind


def test_a_tensor_stays_one_whatever_it_is_set_to() -> None:
    found = program_types(parse("Let t be a 1 by 1 tensor of Int.\nSet t to 5."))[0].names
    assert found == {"t": tensor("Int")}


def test_types_inside_a_function() -> None:
    inside = program_types(parse(FUNCTION))[1]["f"].names
    assert {name: str(kind) for name, kind in inside.items()} == {
        "a": "Real",
        "xs": "Seq of Real",
        "first": "Real",
    }


@pytest.mark.parametrize(
    ("main", "bound"),
    [
        ("Let k be 3.", 3),
        ("Let k be 3.\nSet k to 2.\nk += 1.", 2),
        ("Let k be 3.\nRepeat forever:\n    k -= 1.", -inf),
        ("Let k be 3.\nRepeat forever:\n    k = k * 2 + k / 2 - 1.", 3),
        ("Repeat for k from 2 to 9: Show k.", 2),
        (
            "Repeat for i from 1 to 9:\n    Repeat for j from 1 to 9:\n        Let k be (i - 1) * 9 + j.",
            1,
        ),
        ("Repeat for i from 1 to 9:\n    Let k be (i - 2) * 9 + 1.", -inf),
        ("Repeat for i from 1 to 9:\n    Let k be (i - 2) / 2.", -inf),
        ("Repeat for i from 1 to 9:\n    Let k be i % -3.", 0),
        ("Let xs be [1].\nLet k be length of xs.", 0),
        ("Let xs be [1].\nLet k be item 1 of xs.", -inf),
        ("Let xs be [1].\nLet k be max(item 1 of xs, 1).", 1),
        ("Let k be min(4, 7).", 4),
        ("Let k be 10 ** 50.", 0),
        ("Let k be 2 - 10 ** 50.", -inf),
    ],
)
def test_lower_bounds(main: str, bound: float) -> None:
    assert lows_of(parse(main).main)["k"] == bound


def test_a_bound_that_falls_for_ever_leaves_the_others_alone() -> None:
    lows = lows_of(
        parse("Let k be 3.\nLet i be 5.\nRepeat forever:\n    i -= 1.\n    k += 1.").main
    )
    assert lows == {"k": 3, "i": -inf}
