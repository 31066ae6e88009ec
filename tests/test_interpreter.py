"""Every row of LANGUAGE.md section 1, run."""

from __future__ import annotations

import math

import pytest
from interpreting import same, shown, value, values

INF, NAN = math.inf, math.nan


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("1_000_000", 1000000),
        ("0xff", 255),
        ("0b1010", 10),
        ("0o755", 493),
        ("1.5e-3", 0.0015),
        ("infinity", INF),
        ("nan", NAN),
        ("2 ** 200", 2**200),
        ("1 + 2.5", 3.5),
        ("3 times 4 plus 1 minus 2", 11),
        ("7 divided by 2", 3),
        ("-7 / 2", -3),
        ("7 / -2", -3),
        ("-7 // 2", -4),
        ("-7 % 2", -1),
        ("7 % -2", 1),
        ("7.0 / 2", 3.5),
        ("-7.5 // 2", -4.0),
        ("-7.5 % 2", -1.5),
        ("-2 ** 2", -4),
        ("2 * 3 ** 2", 18),
        ("2 ** 3 ** 2", 512),
        ("2.0 ** -1", 0.5),
        ("2 ** -1.0", 0.5),
        ("1.0 / 0", INF),
        ("-1.0 / 0.0", -INF),
        ("1.0 / -0.0", -INF),
        ("0.0 / 0.0", NAN),
        ("infinity // 2", INF),
        ("1.0 % 0.0", NAN),
        ("5.0 % infinity", 5.0),
        ("10.0 ** 400", INF),
        ("0.0 ** -1", INF),
        ("(-8.0) ** 0.5", NAN),
        ("(-10.0) ** 401", -INF),
        ("10 - 3 - 2", 5),
        ("10 - (3 - 2)", 9),
        ("12 / 2 / 3", 2),
        ("12 / (6 / 3)", 6),
        ("-(1 - 3)", 2),
    ],
)
def test_numbers_and_arithmetic(expression: str, expected: object) -> None:
    assert same(value(expression), expected)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("sqrt(4)", 2.0),
        ("sqrt(-1)", NAN),
        ("exp(1000)", INF),
        ("log(0)", -INF),
        ("log(-1.0)", NAN),
        ("tanh(infinity)", 1.0),
        ("sin(infinity)", NAN),
        ("cos(0)", 1.0),
        ("abs(-3)", 3),
        ("abs(-3.5)", 3.5),
        ("min(3, 2)", 2),
        ("min(3, 2.5, 7)", 2.5),
        ("max(3, 2.5)", 3.0),
        ("max(nan, 1)", NAN),
        ("min(1.0, nan)", NAN),
        ("floor(-2.5)", -3),
        ("ceil(-2.5)", -2),
        ("round(2.5)", 3),
        ("round(-2.5)", -3),
        ("round(0.49999999999999994)", 0),
        ("pow(2, 10)", 1024),
        ("pow(2.0, 0.5)", math.sqrt(2)),
        ('length("héllo")', 5),
        ("length of [1, 2]", 2),
    ],
)
def test_builtins(expression: str, expected: object) -> None:
    assert same(value(expression), expected)


@pytest.mark.parametrize("name", ["sqrt", "exp", "log", "tanh", "sin", "cos", "abs"])
@pytest.mark.parametrize("real", ["-2.5", "-0.0", "0.0", "800.0", "infinity", "-infinity", "nan"])
def test_builtins_of_a_name_are_those_of_an_expression(name: str, real: str) -> None:
    direct = value(f"{name}(x)", f"Let x be {real}.")
    assert same(direct, value(f"{name}({real})"))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("1 == 1.0", True),
        ("2 ** 53 + 1 == 2.0 ** 53", False),
        ("1 equals 2", False),
        ("1 is not 2", True),
        ("true == 1", False),
        ('"a" is "a"', True),
        ('"a" == 1', False),
        ("[1, 2] == [1.0, 2]", True),
        ("[true] == [1]", False),
        ("nan == nan", False),
        ("[nan] == [nan]", False),
        ("3 is greater than 2", True),
        ("3 is at most 2", False),
        ('"abc" is less than "abd"', True),
        ("3 is between 3 and 5", True),
        ("6 is between 3 and 5", False),
        ("-4 is even", True),
        ("-3 is odd", True),
        ("9 is divisible by 3", True),
        ("1 <= 5 <= 9", True),
        ("1 < 5 < 3", False),
        ('1 < 5 == 5.0 and "x" == "x"', True),
        ("true and 3", True),
        ("0.0 or []", False),
        ('"" or [0]', True),
        ("not 1 == 2", True),
        ("not nan", False),
        ("false and 1 / 0 == 1", False),
        ("true or 1 / 0 == 1", True),
        ("[1.5, nan] contains 1.5", True),
        ("[nan] contains nan", False),
        ("[true] contains 1", False),
        ('["a"] contains "a"', True),
        ('"hello" contains "ell"', True),
        ("[[1], [2]] contains [2]", True),
    ],
)
def test_comparison_and_logic(expression: str, expected: bool) -> None:
    assert value(expression) is expected


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("Show 5.0.", "5"),
        ("Show 1.0 / 3.0.", "0.3333333333333333"),
        ("Show true.", "true"),
        ("Show infinity.", "inf"),
        ("Show -infinity.", "-inf"),
        ("Show nan.", "NaN"),
        ("Show -0.0.", "-0"),
        ("Show 1e22.", "10000000000000000000000"),
        ("Show 1.5e-7.", "0.00000015"),
        ('Show [1.0, 2, "a", true, [3]].', "[1, 2, a, true, [3]]"),
        ('Show "a {1 + 1} b".', "a 2 b"),
        ('Show "{2.0 / 3:.6}|{1:.2}|{nan:.1}".', "0.666667|1.00|NaN"),
        (
            'Show "{7:>4}|{"x":>3}|{7:<3}|{7:^3}|{7:5}|{1.5:>8.2}".',
            "   7|  x|7  | 7 |    7|    1.50",
        ),
        ('Show 5.0 combined with " of " combined with true.', "5 of true"),
        ("Show 10 ** 5000 == 1.", "false"),
    ],
)
def test_output(statement: str, expected: str) -> None:
    assert shown(statement) == [expected]


def test_an_int_of_any_length_is_shown() -> None:
    assert shown("Show 10 ** 5000.") == ["1" + "0" * 5000]


def test_a_tensor_is_shown_as_its_rows() -> None:
    source = "Let t be a 2 by 2 tensor of Real.\nSet item 3 of t to 1.5.\nShow t."
    assert shown(source) == ["[0, 0]\n[1.5, 0]"]


def test_binding_and_types() -> None:
    found = values(
        "Let x: Real be 5.\nLet mutable y be 1.\ny = y + 1.\nmut z = 4.\nSet x to 7.\n"
        "Let xs: Seq of Real be [1, 2].\nLet grid be a new Seq of Seq of Real.\nPush [1] to grid.\n"
        "x -= 1.\nz *= 2.5.\nLet n be 7.\nn /= 2.\nLet m be -7.\nm %= 4.\nLet class be 1.\nLet _far be 2."
    )
    expected = {"x": 6.0, "y": 2, "z": 10.0, "xs": [1.0, 2.0], "grid": [[1.0]], "n": 3, "m": -3}
    assert found == {**expected, "class": 1, "_far": 2}
    assert all(type(found[name]) is type(expected[name]) for name in expected)
    assert type(found["xs"][0]) is float and type(found["grid"][0][0]) is float


def test_names_that_python_would_confuse_are_apart() -> None:
    assert values("Let ﬁ be 1.\nLet fi be 2.\nLet print be 3.") == {"ﬁ": 1, "fi": 2, "print": 3}


def test_sequences() -> None:
    found = values(
        "Let xs be [5, 6, 7, 8].\nLet middle be items 2 through 3 of xs.\n"
        "Let none be items 3 through 2 of xs.\nPop from xs into last.\nSet item 1 of xs to 1.\n"
        'Set xs[2] to 9.\nxs[3] += 1.\nLet c be item 2 of "héy".\nLet i be 1.\n'
        "Let next be item i + 1 of xs * 2.\nPop from xs."
    )
    assert found["middle"] == [6, 7] and found["none"] == [] and found["last"] == 8
    assert found["xs"] == [1, 9] and found["c"] == "é" and found["next"] == 18


def test_values_are_copied_on_binding_pushing_and_passing() -> None:
    source = """
## To spoil (xs: Seq of Int) -> Seq of Int:
    Set item 1 of xs to 99.
    Return xs.

## To same (xs: Seq of Int) -> Seq of Int:
    Return xs.

## To grow (xs: mutable Seq of Real) and (by: Real):
    Push by to xs.

## Main
Let xs be [1, 2].
Let ys be xs.
Push 3 to ys.
Let grid be [xs, ys].
Let inner be item 1 of grid.
Set item 1 of inner to 7.
Set grid[2][1] to 8.
Let zs be spoil(xs).
Let us be same(xs).
Push 4 to us.
Let rs be [0.5].
Call grow with rs and 2.
grow(rs, 3).
"""
    found = values(source)
    assert found["xs"] == [1, 2] and found["ys"] == [1, 2, 3] and found["zs"] == [99, 2]
    assert found["grid"] == [[1, 2], [8, 2, 3]] and found["inner"] == [7, 2]
    assert found["us"] == [1, 2, 4] and found["rs"] == [0.5, 2.0, 3.0]


def test_a_mutable_argument_does_not_change_what_is_passed_beside_it() -> None:
    source = """
## To both (xs: Seq of Int) and (ys: mutable Seq of Int) -> Int:
    Push 5 to ys.
    Return length of xs.

## Main
Let xs be [1].
Let n be both(xs, xs).
"""
    assert values(source) == {"xs": [1, 5], "n": 1}


def test_functions() -> None:
    source = """
## To half (x: Real) -> Real:
    Return 0 if x < 0.
    Return x / 2.

## To fact (n: Int) -> Int:
    Return 1 if n <= 1.
    Return n * fact(n - 1).

## To even (n: Int) -> Bool:
    If n == 0:
        Return true.
    Return odd(n - 1).

## To odd (n: Int) -> Bool:
    If n == 0:
        Return false.
    Return even(n - 1).

## To five -> Int:
    Return 5.

## To quiet:
    Show "quiet".
    Return.

## Main
Let h be half(3).
Let z be half(-3).
Let f be fact(30).
Let e be even(2001).
Let v be five().
quiet().
Call quiet.
"""
    found = values(source)
    assert found == {"h": 1.5, "z": 0.0, "f": math.factorial(30), "e": False, "v": 5}
    assert type(found["z"]) is float
    assert shown(source) == ["quiet", "quiet"]


CONTROL = """
Let log be "".
Repeat for i from 1 to 3:
    If i == 1:
        log = log combined with "a".
    Otherwise If i == 2:
        log = log combined with "b".
    Otherwise:
        log = log combined with "c".
Repeat for i from 3 to 1:
    log = "never".
Let n be 0.
While n < 2:
    n += 1.
Repeat while n < 4:
    n += 1.
Repeat forever:
    n += 1.
    If n > 6: Break.
Let xs be [1, 2].
Repeat for x in xs:
    Push x * 10 to xs.
Repeat for c in "xy":
    log = c combined with log.
Let limit be 3.
Repeat for k from 1 to limit:
    limit = 100.
"""


def test_control() -> None:
    found = values(CONTROL)
    assert found["log"] == "yxabc" and found["n"] == 7 and found["xs"] == [1, 2, 10, 20]
    assert found["k"] == 3 and found["i"] == 3


def test_return_in_main_ends_the_program() -> None:
    assert values("Let x be 1.\nReturn if x == 1.\nLet y be 2.") == {"x": 1}


def test_conditions_are_evaluated_once_and_in_order() -> None:
    source = """
## To seen (n: Int) -> Int:
    Show n.
    Return n.

## Main
Let chain be seen(1) < seen(2) < seen(3).
Let cut be seen(3) < seen(2) < seen(1).
Let xs be [0, 0].
Set item 1 of xs to 1.
xs[seen(2)] += seen(5).
Let q be seen(8) / seen(2).
"""
    assert shown(source) == ["1", "2", "3", "3", "2", "2", "5", "8", "2"]
    assert values(source)["xs"] == [1, 5]


def test_a_name_may_change_its_type() -> None:
    assert values("Let x be 1.\nSet x to x + 0.5.\nLet y be x * 2.")["y"] == 3.0
    assert values('Let x be 1.\nSet x to "a".\nLet y be x combined with 1.')["y"] == "a1"
    mixed = "Let xs be [].\nPush 1 to xs.\nPush 2.5 to xs.\nLet s be item 1 of xs + xs[2]."
    assert values(mixed)["s"] == 3.5
    assert values("Let xs be [].\nPush xs to xs.\nPush xs to xs.")["xs"] == [[], [[]]]
