"""Ops in a running program: what reaches a meaning, what comes of its result, errors."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from interpreting import values

from logosnb.interpreter import execute
from logosnb.language import tree
from logosnb.language.errors import LogosRuntimeError, ShapeError
from logosnb.language.tree import IntLiteral, Let, Name, Position
from logosnb.ops.op import Mismatch, Op, OpError, Shape
from logosnb.stages.program import Program
from logosnb.stages.stage import Declaration, Stage

AT = Position(3, 1, 3, 10)


def op(meaning: Any, shape: Any = None, **more: Any) -> Op:
    """An op for a test, of tensors x and w."""
    texts = {"about": "", "expansion": "", "adjoint": "", "formula": "", "examples": ()}
    rule = shape or (lambda operands: operands.x)
    return Op(
        name="Test", phrase="test {x} [with {w}]", shape=rule, meaning=meaning, **texts, **more
    )


def program(stage: Stage, *after: tree.Statement, kind: str = "Real") -> Program:
    declares = [tree.Declare(name, IntLiteral(2), IntLiteral(2), kind) for name in ("x", "w")]
    declared = {name: Declaration(name, Shape(2, 2), kind, 1) for name in ("x", "w")}
    main = (*declares, stage, *after)
    return Program(
        tree=tree.Source(main), main=main, functions={}, stages=(), declared=declared, shapes={},
        kinds={}, constants={}, inputs=(), optional=(), unrecognized=(), source="a\nb\nLet y be it.",
    )  # fmt: skip


def staged(definition: Op, operands: dict[str, Any] | None = None, **more: Any) -> Stage:
    options = {"shape": Shape(2, 2), "kind": "Real", "out": "y", **more}
    given = operands or {"x": "x"}
    return Stage(op="Test", definition=definition, operands=given, position=AT, **options)


def run(stage: Stage, *after: tree.Statement, kind: str = "Real", **inputs: Any) -> dict[str, Any]:

    return execute(program(stage, *after, kind=kind), inputs, print)


X = np.array([[1.0, 2.0], [3.0, 4.0]])


def test_a_result_is_a_contiguous_array_of_its_own() -> None:
    found = run(staged(op(lambda x: x.T)), x=X)
    assert found["y"].flags.c_contiguous and not np.shares_memory(found["y"], found["x"])
    assert np.array_equal(found["y"], X.T)
    same = run(staged(op(lambda x: x)), x=X)
    assert not np.shares_memory(same["y"], same["x"])


def test_defaults_and_numbers_reach_the_meaning() -> None:
    definition = op(lambda x, factor, epsilon: x * factor + epsilon, defaults={"epsilon": 0.5})
    found = run(staged(definition, {"x": "x", "factor": 2}), x=X)
    assert np.array_equal(found["y"], X * 2 + 0.5)


def test_ints_among_reals_are_read_as_reals() -> None:
    given = np.array([[1, 2], [3, 4]])
    assert run(staged(op(lambda x: x / 2)), kind="Int", x=given)["y"].dtype == np.float64
    whole = run(staged(op(lambda x: x // 2), kind="Int"), kind="Int", x=given)["y"]
    assert whole.dtype == np.int64 and np.array_equal(whole, given // 2)


def test_an_error_of_a_meaning_names_the_tensor_and_the_line() -> None:
    def fails(x: Any) -> Any:
        raise OpError("row 7 of {x} is not there")

    with pytest.raises(LogosRuntimeError, match="row 7 of `x` is not there") as caught:
        run(staged(op(fails)), x=X)
    assert caught.value.line == 3


def test_shapes_known_only_in_the_run_are_checked_there() -> None:
    def square(operands: SimpleNamespace) -> Shape:
        raise Mismatch("{x} and {w} do not go together", "x", "w")

    definition = op(lambda x, w: x, square)
    stage = staged(definition, {"x": "x", "w": "w"}, shape=None, text="Let y be it.")
    with pytest.raises(ShapeError) as caught:
        run(stage, x=X)
    message = caught.value.message
    assert "Let y be it." in message and "`x` is 2 by 2, `w` is 2 by 2" in message


def test_an_op_that_writes_rows_changes_its_tensor_and_its_items() -> None:
    definition = op(lambda x, w: np.vstack([w[:1], x[1:]]), writes="x")
    item = Let("first", tree.Item(IntLiteral(1), Name("x")))
    before = Let("before", tree.Item(IntLiteral(1), Name("x")))
    stage = staged(definition, {"x": "x", "w": "w"}, out="x")
    built = program(stage, item)
    main = (*built.main[:2], before, *built.main[2:])

    found = execute(replace(built, main=main, memo={}), {"x": X, "w": X * 10}, print)
    assert found["before"] == 1.0 and found["first"] == 10.0 and X[0, 0] == 1.0


def test_fresh_names_are_left_out() -> None:
    assert "y" not in run(staged(op(lambda x: x * 2), fresh=True), x=X)


def test_floating_point_warnings_are_silent() -> None:
    with np.errstate(all="raise"):
        assert run(staged(op(lambda x: x / 0.0)), x=X)["y"][0, 0] == np.inf


def test_ops_from_the_table_in_main_and_in_a_function() -> None:
    source = """
## To twice (a: Tensor) and (b: Tensor) -> Tensor:
    Let c be a matmul b.
    Let d be c plus c.
    Return d.

## Main
Let x be a 2 by 3 tensor of Real.
Let w be a 3 by 2 tensor of Real.
Let y be twice(x, w).
Let z be (x matmul w) scaled by 2.
Let n be 0.
Repeat for i from 1 to 2:
    Let r be row i of y.
    n += item 1 of r.
"""
    x, w = np.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(3, 2)
    found = values(source, x=x, w=w)
    assert np.array_equal(found["y"], 2 * x @ w) and np.array_equal(found["z"], found["y"])
    assert found["n"] == found["y"][:, 0].sum()
    assert set(found) == {"x", "w", "y", "z", "n", "i", "r"}
    with pytest.raises(ShapeError) as caught:
        values(source.replace("twice(x, w)", "twice(x, x)"), x=x, w=w)
    assert caught.value.line == 3 and "`a` is 2 by 3, `b` is 2 by 3" in caught.value.message


def test_a_row_number_must_be_an_int() -> None:
    source = (
        "Let x be a 2 by 2 tensor of Real.\nLet xs be [1.5].\nLet p be xs[1].\nLet r be row p of x."
    )
    with pytest.raises(LogosRuntimeError, match="`p` is a row number, an Int, and is a Real here"):
        values(source, x=X)
