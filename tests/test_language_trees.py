"""Random programs: what is printed is read as the same tree, however it is laid out."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from logosnb.language import tree
from logosnb.language.parser import parse_source
from logosnb.language.printer import print_expression, print_source, print_statement

# Deep trees take a while to draw, and for ever to shrink and print: a failure is told by its blob.
SLOW = settings(
    deadline=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.explicit, Phase.generate),
)

Trees = st.SearchStrategy[Any]

# Words of the language that stay names where nothing else can be meant.
SOFT = (
    "a an item items even odd length copy new tensor with from through by e set show x2 in into for"
)
names = st.sampled_from([word for word in SOFT.split() if word != "through"] + ["x", "y", "größe"])
functions = st.sampled_from(["f", "sqrt", "length", "even", "g_2"])
types = st.recursive(
    st.sampled_from([tree.INT, tree.REAL, tree.BOOL, tree.TEXT, tree.TENSOR]),
    lambda inner: st.builds(lambda element: tree.Type("Seq", element), inner),
    max_leaves=3,
)
ints = st.builds(tree.IntLiteral, st.integers(0, 10**30))
reals = st.builds(tree.RealLiteral, st.floats(0, allow_infinity=False, allow_nan=False))


def tuples(inner: Trees, least: int, most: int) -> Trees:
    return st.lists(inner, min_size=least, max_size=most).map(tuple)


def texts(values: Trees) -> Trees:
    """Texts whose pieces are characters and values in braces; no two strings meet."""
    forms = st.sampled_from(["", ".6", ">10", "<3", "^7.2"])
    piece = st.text(min_size=1, max_size=8) | st.builds(tree.Interpolation, values, forms)
    return st.lists(piece, max_size=4).map(_joined).map(tree.TextLiteral)


def _joined(parts: list[Any]) -> tuple[Any, ...]:
    kept: list[Any] = []
    for part in parts:
        if kept and isinstance(part, str) and isinstance(kept[-1], str):
            kept[-1] += part
        else:
            kept.append(part)
    return tuple(kept)


@st.composite
def expressions(draw: Callable[[Trees], Any], nested: int, depth: int = 3) -> Any:
    """An expression or phrase; a Text in it may hold others, in braces, `nested` deep."""
    if depth == 0 or draw(st.integers(0, 2)) == 0:
        return draw(_leaves(nested))
    return draw(_larger(expressions(nested, depth - 1)))


def _leaves(nested: int) -> Trees:
    leaves = ints | reals | st.builds(tree.Name, names)
    leaves |= st.builds(tree.BoolLiteral, st.booleans()) | st.builds(tree.NewSeq, types)
    leaves |= st.sampled_from([tree.Special("infinity"), tree.Special("nan")])
    return leaves | texts(expressions(nested - 1, 1)) if nested else leaves


def _larger(inner: Trees) -> Trees:
    arithmetic = st.sampled_from(["+", "-", "*", "/", "//", "%", "**", "combined with"])
    signs = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])
    return st.one_of(
        st.builds(tree.Unary, st.sampled_from(["-", "not"]), inner),
        st.builds(tree.Binary, arithmetic, inner, inner),
        st.builds(_spelled, st.sampled_from("+-*/"), inner, inner),
        st.builds(tree.Logic, st.sampled_from(["and", "or"]), inner, inner),
        tuples(inner, 2, 3).flatmap(
            lambda parts: st.builds(
                tree.Comparison, st.just(parts), tuples(signs, len(parts) - 1, len(parts) - 1)
            )
        ),
        st.builds(tree.Between, inner, inner, inner),
        st.builds(tree.Parity, inner, st.sampled_from(["even", "odd"])),
        st.builds(tree.Divisible, inner, inner),
        st.builds(tree.Contains, inner, inner),
        st.builds(tree.Call, functions, tuples(inner, 0, 3)),
        st.builds(tree.Item, inner, inner),
        st.builds(tree.Items, inner, inner, inner),
        st.builds(tree.Length, inner),
        st.builds(tree.Copy, inner),
        st.builds(tree.SeqLiteral, tuples(inner, 0, 3)),
        phrases(inner),
    )


def _spelled(operator: str, left: Any, right: Any) -> tree.Binary:
    word = {"+": "plus", "-": "minus", "*": "times", "/": "divided by"}[operator]
    return tree.Binary(operator, left, right, word)


def phrases(inner: Trees) -> Trees:
    heads = st.sampled_from(["softmax", "rope", "columns", "x"]).map(tree.Word)
    wording = st.sampled_from("of matmul with from through by across and plus is y x".split())
    second = st.sampled_from(["of", "matmul", "scaled", "q"]).map(tree.Word)
    signed_int = st.builds(tree.IntLiteral, st.integers(-99, 99))
    signed_real = st.builds(tree.RealLiteral, st.floats(-9, 9))
    part = wording.map(tree.Word) | signed_int | signed_real | inner
    after_head = second | ints | reals
    from_word = st.builds(
        lambda *parts: (*parts[:2], *parts[2]), heads, after_head, tuples(part, 0, 4)
    )
    from_value = st.builds(
        lambda *parts: (*parts[:2], *parts[2]), inner, second, tuples(part, 0, 4)
    )
    return st.builds(tree.Phrase, from_word | from_value)


values = expressions(nested=2)
small = expressions(nested=0, depth=1)


def targets() -> Trees:
    name = st.builds(tree.Name, names)
    item = st.builds(tree.Item, small, name)
    return name | item | st.builds(tree.Item, small, item)


@st.composite
def statements(draw: Callable[[Trees], Any], depth: int = 2) -> Any:
    if depth == 0 or draw(st.booleans()):
        return draw(st.one_of(*_simple(targets())))
    return draw(st.one_of(*_blocks(statements(depth - 1))))


def _simple(target: Trees) -> list[Trees]:
    size = st.builds(tree.IntLiteral, st.integers(1, 99)) | st.builds(tree.Name, st.just("n"))
    words = st.sampled_from("row rows from of p t 2".split()).map(
        lambda word: tree.IntLiteral(2) if word == "2" else tree.Word(word)
    )
    set_words = tuples(words, 1, 4).map(lambda parts: (tree.Word("rows"), *parts))
    calls = st.builds(tree.Call, functions, tuples(small, 0, 2))
    optional = st.none() | small
    return [
        st.builds(tree.Let, names, small | phrases(small), st.none() | types, st.booleans()),
        st.builds(tree.Declare, names, size, size, st.sampled_from(["Real", "Int"])),
        st.builds(tree.Set, target, small),
        st.builds(tree.SetPhrase, set_words, small),
        st.builds(tree.Update, target, st.sampled_from("+-*/%"), small),
        st.builds(tree.CallStatement, calls),
        st.builds(tree.Show, values),
        st.builds(tree.Push, small, target),
        st.builds(tree.Pop, target, st.none() | names),
        st.just(tree.Break()),
        st.builds(tree.Return, optional, optional),
    ]


def _blocks(inner: Trees) -> list[Trees]:
    body = tuples(inner, 1, 3)
    branches = tuples(st.tuples(small, body), 1, 3)
    return [
        st.builds(tree.If, branches, st.none() | body),
        st.builds(tree.While, small, body),
        st.builds(tree.RepeatRange, names, small, small, body),
        st.builds(tree.RepeatEach, names, small, body),
        st.builds(tree.RepeatForever, body),
    ]


simple = statements(depth=0)
bodies = tuples(statements(), 0, 4)


@st.composite
def sources(draw: Callable[[Trees], Any]) -> tree.Source:
    parameter = st.builds(tree.Parameter, names, types, st.booleans())
    distinct = st.lists(parameter, max_size=3, unique_by=lambda one: one.name).map(tuple)
    result = st.none() | types
    named = draw(st.lists(st.sampled_from(["f", "even", "g_2"]), max_size=2, unique=True))
    made = [tree.Function(name, draw(distinct), draw(result), draw(bodies)) for name in named]
    return tree.Source(draw(bodies), tuple(made))


class Shown:
    """A tree that Hypothesis shows as its program: its own way of printing a deep one takes for ever."""

    def __init__(self, node: tree.Node) -> None:
        self.node = node

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(printed(self.node)))


def printed(node: tree.Node) -> str:
    if isinstance(node, tree.Source):
        return print_source(node)
    if isinstance(node, tree.Statement):
        return print_statement(node)
    assert isinstance(node, tree.Expression)
    return print_expression(node)


@given(values.map(Shown))
@settings(SLOW, max_examples=40)
def test_a_printed_expression_reads_back(shown: Shown) -> None:
    value = shown.node
    assert isinstance(value, tree.Expression)
    again = parse_source(f"Show {print_expression(value)}.")
    assert again.main == (tree.Show(value),)


@given(sources().map(Shown))
@settings(SLOW, max_examples=40)
def test_a_printed_program_reads_back(shown: Shown) -> None:
    source = shown.node
    assert isinstance(source, tree.Source)
    assert parse_source(print_source(source)) == source


@given(sources().map(Shown))
@settings(SLOW, max_examples=25)
def test_comments_line_ends_and_tabs_say_nothing(shown: Shown) -> None:
    source = shown.node
    assert isinstance(source, tree.Source)
    lines = print_source(source).split("\n")
    noisy = [line.replace("    ", "\t") + ('  # (a note. "' if line else "# x:") for line in lines]
    noisy = [line if "\t" not in printed else printed for line, printed in zip(noisy, lines)]
    assert parse_source("\r\n".join(noisy)) == source


BEGINNING = {"set", "show", "a", "for", "in"}


@given(simple.map(Shown), st.randoms(use_true_random=False))
@settings(SLOW, max_examples=40)
def test_a_sentence_may_go_on_on_the_next_line(shown: Shown, random: Any) -> None:
    statement = shown.node
    assert isinstance(statement, tree.Statement)
    printed = print_statement(statement)
    words = printed.split(" ")
    if '"' in printed or ":" in printed or BEGINNING & set(re.findall(r"\w+", printed)):
        return
    spaced = "".join(word + random.choice([" ", "\n   ", "  "]) for word in words).rstrip()
    assert parse_source(spaced).main == (statement,)


@given(sources().map(Shown))
@settings(SLOW, max_examples=25)
def test_every_node_knows_where_it_stands(shown: Shown) -> None:
    source = shown.node
    assert isinstance(source, tree.Source)
    text = print_source(source)
    for statement in parse_source(text, first_line=7).main:
        at = statement.position
        quoted = text.split("\n")[at.line - 7][at.column - 1 :]
        assert quoted.startswith(print_statement(statement).split("\n")[0])
