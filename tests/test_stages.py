"""From text to stages: inputs, constants, shapes, nested operands, and every way to be refused."""

from __future__ import annotations

import pytest

import logosnb
from logosnb.ops.phrase import fill, match
from logosnb.ops.table import find, nearest

TWO = "Let x be a 4 by 3 tensor of Real.\nLet w be a 3 by 2 tensor of Real.\n"


def test_stages_shapes_declared_and_inputs() -> None:
    program = logosnb.parse(TWO + "Let y be x matmul w.\nLet z be softmax of y.\n")
    assert [(s.op, s.out) for s in program.stages] == [("Matmul", "y"), ("Softmax", "z")]
    assert program.stages[0].operands == {"a": "x", "b": "w"}
    assert list(program.declared) == ["x", "w"] and program.declared["w"].line == 2
    assert program.shapes == {"x": (4, 3), "w": (3, 2), "y": (4, 2), "z": (4, 2)}
    assert program.inputs == ("x", "w") and program.unrecognized == ()


def test_an_operand_in_parentheses_is_bound_to_a_fresh_name_first() -> None:
    program = logosnb.parse(TWO + "Let matmul_1 be 3.\nLet y be silu of (x matmul w).\n")
    first, second = program.stages
    assert first.fresh and first.out not in ("x", "w", "y", "matmul_1")
    assert second.operands == {"x": first.out}
    deep = logosnb.parse(TWO + "Let y be ((x matmul w) plus (x matmul w)) scaled by 2.\n")
    assert [s.op for s in deep.stages] == ["Matmul", "Matmul", "Plus", "Scale"]


def test_a_tensor_that_is_also_written_is_no_input() -> None:
    program = logosnb.parse(
        "Let cache be a 4 by 2 tensor of Real.\nLet row be a 1 by 2 tensor of Real.\n"
        "Let total be a 1 by 1 tensor of Real.\nLet p be 2.\n"
        "Set rows from p of cache to row.\nSet item 1 of total to item 1 of row.\n"
        "Let y be softmax of cache.\n"
    )
    assert program.inputs == ("row",) and set(program.optional) == {"cache", "total"}
    assert program.constants == {"p": 2}


def test_sizes_and_numbers_may_be_constants() -> None:
    program = logosnb.parse(
        "Let n be 2.\nLet m be n * 3.\nLet half be 1 / 2.0.\nLet x be an n by m tensor of Real.\n"
        "Let y be x scaled by half.\nLet z be x scaled by -2.\n"
    )
    assert program.shapes["x"] == (2, 6)
    assert program.stages[0].operands["factor"] == 0.5
    assert program.stages[1].operands["factor"] == -2
    assert program.unrecognized == ()


def test_a_name_that_is_set_again_is_no_constant() -> None:
    with pytest.raises(logosnb.LogosSyntaxError, match="bound to a constant"):
        logosnb.parse("Let n be 2.\nSet n to 3.\nLet x be a n by n tensor of Real.\n")


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("rmsnorm of x across 1 head", "rmsnorm of x across 1 heads"),
        (
            "attention of q over k and v across 4 heads sharing 1 key head",
            "attention of q over k and v across 4 heads sharing 1 key heads",
        ),
    ],
)
def test_singular_and_plural_read_alike(said: str, read: str) -> None:
    first, second = find(said.split()), find(read.split())
    assert first is not None and second is not None and first.bindings == second.bindings


def test_the_first_clause_begins_with_with_and_later_ones_with_and() -> None:
    phrase = "rmsnorm of {x} [with residual {r}] [and weight {w}] [across {heads} heads]"
    assert match(phrase, "rmsnorm of x with weight w".split()) == {"x": "x", "w": "w"}
    assert match(phrase, "rmsnorm of x with residual r and weight w".split()) is not None
    assert match(phrase, "rmsnorm of x with residual r with weight w".split()) is None
    assert match(phrase, "rmsnorm of x and weight w".split()) is None
    assert fill(phrase, {"x": "x", "w": "w"}) == "rmsnorm of x with weight w"


@pytest.mark.parametrize(
    ("typed", "likely"),
    [
        ("softmx of x", "softmax of x"),
        ("layernrom of x", "layernorm of x"),
        ("x scled by 2", "x scaled by 2"),
        ("colum sums of x", "column sums of x"),
        ("rmsnorm of x with wieght w", "rmsnorm of x with weight w"),
        ("cross entropy of z with target t", "cross entropy of z with targets t"),
    ],
)
def test_a_near_miss_names_the_likely_phrase(typed: str, likely: str) -> None:
    assert nearest(typed.split()) == likely


ERRORS = {
    "near phrase": ("Let y be softmx of x.", ["softmx of x", "did you mean `softmax of x`"]),
    "near name": ("Let y be softmax of xx.", ["`xx`", "did you mean `x`"]),
    "call": ("Let y be softmax(x).", ["softmax of x"]),
    "unbound op": ("Show softmax of x.", ["bound to a name first"]),
    "product": ("Let y be x * w.", ["`*`", "hadamard", "matmul"]),
    "scalar operand": ("Let n be 3.\nLet y be softmax of n.", ["`n` is not a tensor"]),
    "second binding": ("Let y be softmax of x.\nLet y be softmax of x.", ["bound once", "line 4"]),
    "declared again": ("Let x be a 2 by 2 tensor of Real.", ["bound once"]),
    "scalar again": ("Let x be 5.", ["`x` is a tensor already"]),
    "no constant": ("Let y be x scaled by q.", ["`q`"]),
    "not whole": ("Let y be rmsnorm of x across 1.5 heads.", ["whole number"]),
    "Real for Int": ("Let y be rows w of x.", ["tensor of Int"]),
    "unknown function": ("Show sqroot(2).", ["`sqroot`", "did you mean `sqrt`"]),
    "arity": ("Show sqrt(2, 3).", ["takes 1 argument"]),
    "zero heads": ("Let y be rmsnorm of x across 0 heads.", ["counts from one"]),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_say_what_and_where(name: str) -> None:
    statement, words = ERRORS[name]
    with pytest.raises(logosnb.LogosSyntaxError) as error:
        logosnb.parse(TWO + statement + "\n")
    said = str(error.value)
    assert all(word in said for word in words), said
    assert error.value.line >= 3 and "^" in said


SHAPES = {
    "matmul": ("Let y be w matmul x.", ["`w` is 3 by 2", "`x` is 4 by 3"]),
    "plus": ("Let y be x plus w.", ["`x` is 4 by 3", "`w` is 3 by 2"]),
    "broadcast a": ("Let r be row 1 of x.\nLet y be r plus x.", ["`r` is 1 by 3", "`x` is 4 by 3"]),
    "heads": ("Let y be rmsnorm of x across 2 heads.", ["`x` is 4 by 3"]),
    "nested": ("Let y be silu of (w matmul x).", ["`w` is 3 by 2", "`x` is 4 by 3"]),
}


@pytest.mark.parametrize("name", SHAPES)
def test_a_wrong_shape_names_the_statement_both_tensors_and_both_shapes(name: str) -> None:
    statement, words = SHAPES[name]
    with pytest.raises(logosnb.ShapeError) as error:
        logosnb.parse(TWO + statement + "\n")
    said = str(error.value)
    assert all(word in said for word in [*words, statement.splitlines()[-1]]), said


def test_a_name_clash_of_operand_and_wording_still_reads() -> None:
    program = logosnb.parse(
        "Let matmul be a 2 by 2 tensor of Real.\nLet row be a 2 by 2 tensor of Real.\n"
        "Let y be row matmul matmul.\nLet z be row 1 of row.\n"
    )
    assert [s.op for s in program.stages] == ["Matmul", "RowGather"]


def test_a_program_is_equal_to_what_it_prints() -> None:
    program = logosnb.parse(TWO + "# a comment\nLet y be x  matmul w. # and another\n")
    assert logosnb.parse(str(program)) == program
    assert program != logosnb.parse(TWO + "Let y be x matmul x_t.\n".replace("x_t", "w") * 0)


# ---- constants ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("7 % 3", 1),
        ("-7 % 2", -1),
        ("-7 / 2", -3),
        ("-7 // 2", -4),
        ("2 ** 3", 8),
        ("-2 ** 2", -4),
        ("1.0 / 4.0", 0.25),
        ("1 / sqrt(4)", 0.5),
    ],
)
def test_a_constant_has_the_value_that_a_run_gives_it(expression: str, value: float) -> None:
    text = f"Let c be {expression}.\n"
    assert logosnb.parse(text).constants["c"] == value == logosnb.run(text)["c"]


HUGE = "1" + "0" * 400


@pytest.mark.parametrize(
    "expression",
    [
        *(f"{HUGE} + 1.5", f"{HUGE} / 3.0", f"sqrt({HUGE})", "1e308 * 10.0", "2 ** 100000"),
        *("1 / 0", "1.0 / 0.0", "2 ** -1", "1 % 0"),
    ],
)
def test_what_has_no_finite_value_is_no_constant(expression: str) -> None:
    assert not logosnb.parse(f"Let c be {expression}.\n").constants


def test_a_typed_constant_that_its_type_does_not_hold_is_left_to_the_run() -> None:
    for text in (f"Let c: Real be {HUGE}.\n", "Let c: Int be 2.5.\n"):
        assert not logosnb.parse(text).constants
        with pytest.raises(logosnb.LogosRuntimeError):
            logosnb.run(text)


@pytest.mark.parametrize(
    "phrase",
    [
        "x scaled by c",
        "x softcapped at c",
        "rmsnorm of x with epsilon c",
        "l2norm of x with epsilon c",
    ],
)
def test_a_number_too_large_for_a_real_is_refused_at_its_statement(phrase: str) -> None:
    text = f"Let x be a 1 by 2 tensor of Real.\nLet c be {HUGE}.\nLet y be {phrase}.\n"
    with pytest.raises(logosnb.LogosSyntaxError, match="too large for a Real") as error:
        logosnb.parse(text)
    assert error.value.line == 3


def test_a_size_counts_from_one_whether_literal_or_name() -> None:
    for text in (
        "Let n be 0.\nLet x be a n by 2 tensor of Real.\n",
        "Let x be a 0 by 2 tensor of Real.\n",
    ):
        with pytest.raises(logosnb.LogosSyntaxError, match="from one up"):
            logosnb.parse(text)
