"""Random programs against what Python and NumPy say the same arithmetic is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from interpreting import same, values

from logosnb.interpreter.display import show_value
from logosnb.language.errors import LogosRuntimeError

Number = int | float


class Undefined(Exception):
    """No result: a division of Ints by zero, and the like."""


def real(number: Number) -> np.float64:
    try:
        return np.float64(float(number))
    except OverflowError:
        raise Undefined from None


def of_ints(sign: str, a: int, b: int) -> int:
    if sign in ("/", "//", "%") and b == 0:
        raise Undefined
    match sign:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case "//":
            return math.floor(Fraction(a, b))
        case "/":
            return math.trunc(Fraction(a, b))
    return a - b * math.trunc(Fraction(a, b))


def of_reals(sign: str, a: np.float64, b: np.float64) -> float:
    functions: dict[str, Any] = {
        "+": np.add,
        "-": np.subtract,
        "*": np.multiply,
        "/": np.divide,
        "%": np.fmod,
    }
    with np.errstate(all="ignore"):
        return float(np.floor(a / b) if sign == "//" else functions[sign](a, b))


@dataclass(frozen=True)
class Tree:
    """An expression as LOGOS, and its value by the rules above (None where there is none)."""

    text: str
    value: Number | None

    @property
    def is_real(self) -> bool:
        return isinstance(self.value, float)


def joined(sign: str, left: Tree, right: Tree) -> Tree:
    text = f"({left.text} {sign} {right.text})"
    if left.value is None or right.value is None:
        return Tree(text, None)
    try:
        if left.is_real or right.is_real:
            return Tree(text, of_reals(sign, real(left.value), real(right.value)))
        return Tree(text, of_ints(sign, int(left.value), int(right.value)))
    except Undefined:
        return Tree(text, None)


INTS = st.integers(-40, 40) | st.integers(-(10**20), 10**20)
REALS = st.floats(-100, 100).map(lambda x: float(f"{x:.6f}")) | st.sampled_from([0.0, 1e300, 0.5])
SIGNS = st.sampled_from(["+", "-", "*", "/", "//", "%"])
NAMES = ("p", "q", "r", "s")


@st.composite
def programs(draw: st.DrawFn) -> tuple[str, Number | None]:
    """Names bound to numbers, and one expression of them."""
    numbers = [draw(INTS), draw(INTS), draw(REALS), draw(REALS)]
    lines = [f"Let {name} be {number!r}." for name, number in zip(NAMES, numbers)]
    leaves = st.sampled_from([Tree(*pair) for pair in zip(NAMES, numbers)])
    literals = st.integers(0, 9).map(lambda n: Tree(str(n), n))
    trees = st.recursive(
        leaves | literals, lambda inner: st.builds(joined, SIGNS, inner, inner), max_leaves=8
    )
    found = draw(trees)
    return "\n".join([*lines, f"Let result be {found.text}.\n"]), found.value


@settings(max_examples=300, derandomize=True, deadline=None)
@given(programs())
def test_arithmetic_is_that_of_python_and_numpy(program: tuple[str, Number | None]) -> None:
    source, expected = program
    try:
        result = values(source)["result"]
    except LogosRuntimeError:
        assert expected is None, source
        return
    assert expected is not None and same(result, expected), (source, result, expected)


@settings(max_examples=100, derandomize=True, deadline=None)
@given(programs())
def test_what_is_known_of_types_does_not_change_a_result(
    program: tuple[str, Number | None],
) -> None:
    """The same program with names that might hold anything: helpers instead of direct Python."""
    source, expected = program
    hidden = source
    for name in NAMES:
        hidden = hidden.replace(f"Let {name} be", f'Let {name} be "text".\nLet {name} be', 1)
    try:
        result = values(hidden)["result"]
    except LogosRuntimeError:
        assert expected is None, hidden
        return
    assert expected is not None and same(result, expected), (hidden, result, expected)


FUNCTIONS = {
    "sqrt": np.sqrt,
    "exp": np.exp,
    "log": np.log,
    "tanh": np.tanh,
    "sin": np.sin,
    "cos": np.cos,
    "abs": np.abs,
}


@settings(max_examples=200, derandomize=True, deadline=None)
@given(st.sampled_from(sorted(FUNCTIONS)), st.floats(-1e6, 1e6) | st.floats())
def test_functions_are_numpys(name: str, x: float) -> None:
    t = np.array([[x]])
    source = f"Let t be a 1 by 1 tensor of Real.\nLet x be item 1 of t.\nLet y be {name}(x)."
    with np.errstate(all="ignore"):
        expected = float(FUNCTIONS[name](x))
    np.testing.assert_allclose(values(source, t=t)["y"], expected, rtol=1e-14)


@settings(max_examples=200, derandomize=True, deadline=None)
@given(st.floats() | st.floats(-4, 4), st.floats() | st.floats(-4, 4))
def test_powers_are_cs(base: float, exponent: float) -> None:
    source = "Let t be a 1 by 2 tensor of Real.\nLet y be item 1 of t ** item 2 of t."
    with np.errstate(all="ignore"):
        expected = float(np.power(base, exponent))
    np.testing.assert_allclose(
        values(source, t=np.array([[base, exponent]]))["y"], expected, rtol=1e-14
    )


@settings(max_examples=200, derandomize=True, deadline=None)
@given(st.lists(st.integers(-5, 5), max_size=5), st.integers(-3, 8), st.integers(-3, 3))
def test_an_index_never_counts_from_the_end(xs: list[int], k: int, shift: int) -> None:
    source = f"Let xs be {xs}.\nLet k be {k}.\nLet y be item k + {shift} of xs."
    source = source.replace("+ -", "- ")
    if 1 <= k + shift <= len(xs):
        assert values(source)["y"] == xs[k + shift - 1]
    else:
        try:
            values(source)
        except LogosRuntimeError as error:
            assert f"item {k + shift} of xs" in error.message
        else:
            raise AssertionError(source)


@settings(max_examples=100, derandomize=True, deadline=None)
@given(st.integers(-3, 3), st.integers(-3, 3), st.integers(-2, 2), st.integers(-2, 3))
def test_bounds_of_indices_hold(first: int, start: int, step: int, offset: int) -> None:
    """Whatever lower bound is derived for k, an access outside is an error, never another item."""
    source = f"""
Let xs be [1, 2, 3].
Let k be {start}.
Let sum be 0.
Repeat for i from {first} to 2:
    sum = sum + xs[k * i + {offset}].
    k += {step}.
""".replace("+ -", "- ").replace("+= -", "-= ")
    total, k, fits = 0, start, True
    for i in range(first, 3):
        place = k * i + offset
        fits = fits and 1 <= place <= 3
        total += place if fits else 0
        k += step
    try:
        assert values(source)["sum"] == total and fits
    except LogosRuntimeError as error:
        assert not fits and "of xs" in error.message


@settings(max_examples=200, derandomize=True, deadline=None)
@given(st.floats(allow_nan=False))
def test_a_real_shown_reads_back(x: float) -> None:
    text = show_value(x)
    assert float(text) == x and "e" not in text and not text.endswith(".0")
