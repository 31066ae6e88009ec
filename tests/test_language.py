"""What LOGOS says, form by form: each row of the language's table as the tree that it stands for."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest
from pygments import lex
from pygments.token import Error, Keyword

from logosnb.language import tree
from logosnb.language.lexer import LogosLexer
from logosnb.language.parser import parse_source
from logosnb.language.printer import print_expression, print_source
from logosnb.language.tree import (
    Between,
    Binary,
    Comparison,
    IntLiteral,
    Item,
    Let,
    Name,
    Phrase,
    RealLiteral,
    Unary,
    Word,
)
from logosnb.language.words import BUILTINS, closest

A, B, X, Y, XS = Name("a"), Name("b"), Name("x"), Name("y"), Name("xs")
ONE, FIVE = IntLiteral(1), IntLiteral(5)


def statement(text: str) -> tree.Statement:
    (only,) = parse_source(text).main
    return only


def expression(text: str) -> tree.Expression:
    shown = statement(f"Show {text}.")
    assert isinstance(shown, tree.Show)
    return shown.value


def words(text: str) -> tuple[Word, ...]:
    return tuple(Word(word) for word in text.split())


def test_the_builtins_are_those_of_the_language() -> None:
    assert list(BUILTINS) == (
        "sqrt exp log tanh sin cos abs min max floor ceil round pow length".split()
    )
    assert {name for name, least in BUILTINS.items() if least == 2} == {"min", "max", "pow"}


# ---- statements -------------------------------------------------------------------------------

SEQ_OF_REAL = tree.Type("Seq", tree.REAL)
STATEMENTS = {
    "Let x be 5.": Let("x", FIVE),
    "let x be 5.": Let("x", FIVE),
    "Let x: Int be 5.": Let("x", FIVE, tree.INT),
    "Let x: Float be 5.": Let("x", FIVE, tree.REAL),
    "Let mutable x be 5.": Let("x", FIVE, None, True),
    "Let mut x be 5.": Let("x", FIVE, None, True),
    "Let mutable be 5.": Let("mutable", FIVE),
    "x = 5.": Let("x", FIVE),
    "mut x = 5.": Let("x", FIVE, None, True),
    "mut x: Real = 5.": Let("x", FIVE, tree.REAL, True),
    "set = 5.": Let("set", FIVE),
    "Set x to 5.": tree.Set(X, FIVE),
    "Set item 1 of xs to 5.": tree.Set(Item(ONE, XS), FIVE),
    "Set item a + 1 of xs to 5.": tree.Set(Item(Binary("+", A, ONE), XS), FIVE),
    "Set xs[1] to 5.": tree.Set(Item(ONE, XS), FIVE),
    "xs[1] = 5.": tree.Set(Item(ONE, XS), FIVE),
    "xs[1][a] = 5.": tree.Set(Item(A, Item(ONE, XS)), FIVE),
    "Set row p of t to x.": tree.SetPhrase(words("row p of t"), X),
    "Set row 1 of t to x.": tree.SetPhrase((Word("row"), ONE, *words("of t")), X),
    "Set rows from p of t to x.": tree.SetPhrase(words("rows from p of t"), X),
    "x += 1.": tree.Update(X, "+", ONE),
    "x -= 1.": tree.Update(X, "-", ONE),
    "x *= 1.": tree.Update(X, "*", ONE),
    "x /= 1.": tree.Update(X, "/", ONE),
    "x %= 1.": tree.Update(X, "%", ONE),
    "xs[1] += 5.": tree.Update(Item(ONE, XS), "+", FIVE),
    "f(a).": tree.CallStatement(tree.Call("f", (A,))),
    "f().": tree.CallStatement(tree.Call("f", ())),
    "Call f.": tree.CallStatement(tree.Call("f", ())),
    "Call f with a and b.": tree.CallStatement(tree.Call("f", (A, B))),
    "Call f(a, b).": tree.CallStatement(tree.Call("f", (A, B))),
    "Show x.": tree.Show(X),
    "Push 5 to xs.": tree.Push(FIVE, XS),
    "Pop from xs.": tree.Pop(XS),
    "Pop from xs into y.": tree.Pop(XS, "y"),
    "Break.": tree.Break(),
    "Return.": tree.Return(),
    "Return 5.": tree.Return(FIVE),
    "Return 5 if a.": tree.Return(FIVE, A),
    "Return x\nif a.": tree.Return(X, A),
    "Let x be a 4 by 8 tensor of Real.": tree.Declare("x", IntLiteral(4), IntLiteral(8), "Real"),
    "Let x be an n by 8 tensor of Int.": tree.Declare("x", Name("n"), IntLiteral(8), "Int"),
    "Let x be a 4 by 8 tensor of Float.": tree.Declare("x", IntLiteral(4), IntLiteral(8), "Real"),
    "Let xs be a new Seq of Real.": Let("xs", tree.NewSeq(tree.REAL)),
    "Let xs: Seq of Real be [].": Let("xs", tree.SeqLiteral(()), SEQ_OF_REAL),
    "While a: Break.": tree.While(A, (tree.Break(),)),
    "Repeat while a: Break.": tree.While(A, (tree.Break(),)),
    "Repeat forever: Break.": tree.RepeatForever((tree.Break(),)),
    "Repeat for i from 1 to 5: Show x.": tree.RepeatRange("i", ONE, FIVE, (tree.Show(X),)),
    "Repeat for item in items: Show x.": tree.RepeatEach("item", Name("items"), (tree.Show(X),)),
    "repeat for x in xs:\n\tShow x.": tree.RepeatEach("x", XS, (tree.Show(X),)),
}


@pytest.mark.parametrize("text", STATEMENTS)
def test_a_statement(text: str) -> None:
    assert statement(text) == STATEMENTS[text]
    assert parse_source(print_source(parse_source(text))) == parse_source(text)


OTHERWISE_IF = ["Otherwise If", "Else If", "elif", "otherwise if", "else if"]


@pytest.mark.parametrize("word", OTHERWISE_IF)
@pytest.mark.parametrize("last", ["Otherwise", "Else", "else"])
def test_branches(word: str, last: str) -> None:
    text = f"If a:\n    Show 1.\n{word} b:\n    Show 5.\n{last}:\n    Show x.\n"
    branches = ((A, (tree.Show(ONE),)), (B, (tree.Show(FIVE),)))
    assert statement(text) == tree.If(branches, (tree.Show(X),))
    on_one_line = f"If a: Show 1. {word} b: Show 5. {last}: Show x."
    assert statement(on_one_line) == statement(text)


# ---- expressions ------------------------------------------------------------------------------


def compared(operator: str) -> Comparison:
    return Comparison((X, Y), (operator,))


EXPRESSIONS = {
    "1_000_000": IntLiteral(10**6),
    "0xff": IntLiteral(255),
    "0b1010": IntLiteral(10),
    "0o755": IntLiteral(493),
    "1.5e-3": RealLiteral(0.0015),
    "1e-05": RealLiteral(1e-5),
    "infinity": tree.Special("infinity"),
    "nan": tree.Special("nan"),
    "true": tree.BoolLiteral(True),
    "x + 1 * 5": Binary("+", X, Binary("*", ONE, FIVE)),
    "x plus y": Binary("+", X, Y),
    "x minus y": Binary("-", X, Y),
    "x times y": Binary("*", X, Y),
    "x divided by y": Binary("/", X, Y),
    "x // y % 5": Binary("%", Binary("//", X, Y), FIVE),
    "x - y - 1": Binary("-", Binary("-", X, Y), ONE),
    "-x ** y": Unary("-", Binary("**", X, Y)),
    "x ** -1": Binary("**", X, Unary("-", ONE)),
    "x ** y ** 5": Binary("**", X, Binary("**", Y, FIVE)),
    "x * -y": Binary("*", X, Unary("-", Y)),
    "x == y": compared("=="),
    "x equals y": compared("=="),
    "x is y": compared("=="),
    "x is equal to y": compared("=="),
    "x != y": compared("!="),
    "x is not y": compared("!="),
    "x is greater than y": compared(">"),
    "x is less than y": compared("<"),
    "x is at least y": compared(">="),
    "x is at most y": compared("<="),
    "1 <= x <= 5": Comparison((ONE, X, FIVE), ("<=", "<=")),
    "(x < y) < 1": Comparison((compared("<"), ONE), ("<",)),
    "x is between 1 and 5": Between(X, ONE, FIVE),
    "x is between 1 and 5 and y": tree.Logic("and", Between(X, ONE, FIVE), Y),
    "x is not between 1 and 5": Unary("not", Between(X, ONE, FIVE)),
    "x is even": tree.Parity(X, "even"),
    "x is not odd": Unary("not", tree.Parity(X, "odd")),
    "x + 1 is divisible by 5": tree.Divisible(Binary("+", X, ONE), FIVE),
    "xs contains x": tree.Contains(XS, X),
    "not x < y": Unary("not", compared("<")),
    "not x and y": tree.Logic("and", Unary("not", X), Y),
    "a or b and x": tree.Logic("or", A, tree.Logic("and", B, X)),
    "sqrt(x)": tree.Call("sqrt", (X,)),
    "max(x, y, 1)": tree.Call("max", (X, Y, ONE)),
    "length of xs + 1": Binary("+", tree.Length(XS), ONE),
    "copy of xs": tree.Copy(XS),
    "[1, x, []]": tree.SeqLiteral((ONE, X, tree.SeqLiteral(()))),
    "a new Seq of Seq of Int": tree.NewSeq(tree.Type("Seq", tree.INT)),
    "x combined with y": Binary("combined with", X, Y),
    "item 1 of xs": Item(ONE, XS),
    "xs[1]": Item(ONE, XS),
    "xs[1][a]": Item(A, Item(ONE, XS)),
    "item a + 1 of xs * 5": Binary("*", Item(Binary("+", A, ONE), XS), FIVE),
    "item (a) of f(x)": Item(A, tree.Call("f", (X,))),
    "item 1 of item 5 of xs": Item(ONE, Item(FIVE, XS)),
    "item 1 of xs[5]": Item(ONE, Item(FIVE, XS)),
    "item item of xs": Item(Name("item"), XS),
    "item plus item": Binary("+", Name("item"), Name("item")),
    "items 1 through 5 of xs": tree.Items(ONE, FIVE, XS),
    "items a + 1 through length of xs of y": tree.Items(Binary("+", A, ONE), tree.Length(XS), Y),
    "a plus b": Binary("+", A, B),
    "(a) + (\n  1  # one\n)": Binary("+", A, ONE),
}


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_an_expression(text: str) -> None:
    assert expression(text) == EXPRESSIONS[text]
    assert expression(print_expression(expression(text))) == expression(text)


def test_a_negative_power_is_that_of_the_number_negated() -> None:
    assert expression("-2 ** 2") == Unary("-", Binary("**", IntLiteral(2), IntLiteral(2)))


def test_an_operator_is_printed_as_it_was_typed() -> None:
    assert print_expression(expression("x plus y * a")) == "x plus y * a"
    assert expression("x plus y") == expression("x + y")


# ---- phrases ----------------------------------------------------------------------------------

PHRASES = {
    "softmax of x": words("softmax of x"),
    "x matmul w": words("x matmul w"),
    "x scaled by -0.5": (*words("x scaled by"), RealLiteral(-0.5)),
    "row 3 of t": (Word("row"), IntLiteral(3), *words("of t")),
    "row (a + 1) of t": (Word("row"), Binary("+", A, ONE), *words("of t")),
    "columns 33 through 96 of every 96 of x": (
        *(Word("columns"), IntLiteral(33), Word("through"), IntLiteral(96)),
        *(*words("of every"), IntLiteral(96), *words("of x")),
    ),
    "rope of q with cos c and sin s": words("rope of q with cos c and sin s"),
    "x clamped between -128 and 127": (
        *(*words("x clamped between"), IntLiteral(-128), Word("and"), IntLiteral(127)),
    ),
    "silu of (x matmul w)": (*words("silu of"), Phrase(words("x matmul w"))),
    "(x matmul w) hadamard b": (Phrase(words("x matmul w")), *words("hadamard b")),
    "squared error of a and b": words("squared error of a and b"),
    "a joined with b across 8 heads": (
        *(*words("a joined with b across"), IntLiteral(8), Word("heads")),
    ),
    "softmax of item": words("softmax of item"),
    "item matmul w": words("item matmul w"),
}


@pytest.mark.parametrize("text", PHRASES)
def test_a_phrase(text: str) -> None:
    assert statement(f"Let y be {text}.") == Let("y", Phrase(PHRASES[text]))
    assert print_expression(Phrase(PHRASES[text])) == text


def test_plus_and_minus_join_phrases_in_brackets() -> None:
    matmul = Phrase(words("x matmul w"))
    assert expression("(x matmul w) plus b") == Binary("+", matmul, B)
    assert expression("b minus (x matmul w)") == Binary("-", B, matmul)


# ---- Text -------------------------------------------------------------------------------------

TEXTS: dict[str, tuple[str | tree.Interpolation, ...]] = {
    '""': (),
    '"plain # no comment. None"': ("plain # no comment. None",),
    r'"\"a\\\n\t"': ('"a\\\n\t',),
    '"{{x}}"': ("{x}",),
    '"{x}"': (tree.Interpolation(X),),
    '"a {x:.6}{y:>10} b"': (
        *("a ", tree.Interpolation(X, ".6"), tree.Interpolation(Y, ">10"), " b"),
    ),
    '"{f("{x}.")}"': (
        tree.Interpolation(tree.Call("f", (tree.TextLiteral((tree.Interpolation(X), ".")),))),
    ),
}


@pytest.mark.parametrize("text", TEXTS)
def test_a_text(text: str) -> None:
    assert expression(text) == tree.TextLiteral(TEXTS[text])
    assert print_expression(expression(text)) == text


# ---- sections and layout ----------------------------------------------------------------------

INT_A, REAL_B = tree.Parameter("a", tree.INT), tree.Parameter("b", tree.REAL)
HEADERS = {
    "## To f (a: Int) and (b: Real) -> Real:": tree.Function("f", (INT_A, REAL_B), tree.REAL, ()),
    "## To f (a: Int, b: Float) -> Real": tree.Function("f", (INT_A, REAL_B), tree.REAL, ()),
    "## To f (a: Int,\n  b: Real):": tree.Function("f", (INT_A, REAL_B), None, ()),
    "## To f:": tree.Function("f", (), None, ()),
    "## To f () -> Int  # a note": tree.Function("f", (), tree.INT, ()),
    "## To f (xs: mutable Seq of Real)": tree.Function(
        "f", (tree.Parameter("xs", SEQ_OF_REAL, True),), None, ()
    ),
}


@pytest.mark.parametrize("text", HEADERS)
def test_a_section(text: str) -> None:
    assert parse_source(text).functions == (HEADERS[text],)
    assert parse_source(print_source(parse_source(text))) == parse_source(text)


def test_what_stands_before_any_section_is_of_main() -> None:
    source = parse_source("Show 1.\n## To f:\n    Show 5.\n## Main\n  Show x.\n  Show y.")
    assert source.main == tuple(tree.Show(value) for value in (ONE, X, Y))
    assert source.functions == (tree.Function("f", (), None, (tree.Show(FIVE),)),)


def test_main_is_printed_last_so_that_it_can_be_gone_on_with() -> None:
    source = parse_source("## Main\nShow 1.\n## To f:\nReturn.")
    assert print_source(source) == "## To f:\n    Return.\n\n## Main\nShow 1.\n"


SAME = [
    "If a:\n    If b:\n        Show 1.\n    Show 5.\nShow x.\n",
    "If a:\r\n\tIf b:\r\n\t\tShow 1.\r\n\tShow 5.\r\nShow x.",
    "if a:  # why\n  if b:\n\n  # odd\n      Show 1.\n\n  Show 5.\nShow x.  # end",
    "If a:\n    If b: Show 1.\n    Show 5.\nShow\n  x.",
    "    If a:\n        If b:\n            Show 1.\n        Show 5.\n    Show x.",
    "\ufeffIf a:\n  If b: Show\n    1.\n  Show 5. \nShow x\n.\n",
]


@pytest.mark.parametrize("text", SAME)
def test_layout(text: str) -> None:
    assert parse_source(text) == parse_source(SAME[0])


@pytest.mark.parametrize("text", ["", "\n", "# only a note", "## Main", "## Main\n  # a note\n"])
def test_an_empty_program(text: str) -> None:
    assert parse_source(text) == tree.Source(())


def test_two_statements_on_a_line() -> None:
    assert parse_source("Let x be 5. Show x.").main == (Let("x", FIVE), tree.Show(X))
    assert statement("Repeat forever: Show 1. Break.") == tree.RepeatForever(
        (tree.Show(ONE), tree.Break())
    )


def test_otherwise_goes_with_the_nearest_if_of_its_line_or_indentation() -> None:
    inner = tree.If(((B, (tree.Show(ONE),)),), (tree.Show(FIVE),))
    assert statement("If a: If b: Show 1. Otherwise: Show 5.") == tree.If(((A, (inner,)),))
    outer = tree.If(((A, (tree.If(((B, (tree.Show(ONE),)),)),)),), (tree.Show(FIVE),))
    assert statement("If a: If b: Show 1.\nOtherwise: Show 5.") == outer


def test_positions_count_from_one_and_from_the_first_line() -> None:
    source = parse_source('Let x be 5.\n  \nShow "{x:.2} {y + 1}".', first_line=10)
    shown = source.main[1]
    assert shown.position == tree.Position(12, 1, 12, 23)
    assert isinstance(shown, tree.Show)
    assert isinstance(shown.value, tree.TextLiteral)
    piece = shown.value.parts[2]
    assert isinstance(piece, tree.Interpolation)
    assert piece.value.position == tree.Position(12, 15, 12, 20)


# ---- the rest ---------------------------------------------------------------------------------


def test_the_likely_word() -> None:
    assert closest("Lett", ["Let", "Set"]) == "Let"
    assert closest("itn", ["Int", "Real"]) == "Int"
    assert closest("zebra", ["Let", "Set"]) is None


def test_five_hundred_ops_parse_in_well_under_half_a_second() -> None:
    parse_source("Show 1.")
    line = "Let y be rope of q with cos c and sin s from position p across 8 heads.\n"
    started = time.process_time()
    assert len(parse_source(line * 500).main) == 500
    assert time.process_time() - started < 0.5


def test_importing_the_parser_builds_no_grammar() -> None:
    said = "import logosnb.language.parser, logosnb.language.grammar as g; print(g.language.cache_info())"
    run = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True)
    assert "misses=0" in run.stdout


def test_colours_cover_every_character() -> None:
    text = "## To f (a: Int) -> Real:\n" + "\n".join([*STATEMENTS, *HEADERS]) + "\n"
    text += "\n".join(f"Show {value}." for value in [*EXPRESSIONS, *TEXTS])
    tokens = list(lex(text, LogosLexer()))
    assert "".join(value for _, value in tokens) == text + "\n"
    assert not [value for kind, value in tokens if kind is Error]
    assert (Keyword, "Let") in tokens
