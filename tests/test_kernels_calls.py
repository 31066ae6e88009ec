"""Calls of a compiled program: what is kept, where results go, what stays behind."""

from __future__ import annotations

import gc
import sys
import weakref

import numpy as np
import psutil
import pytest

import logosnb

TEXT = (
    "Let x be a 8 by 4 tensor of Real.\nLet w be a 4 by 16 tensor of Real.\n"
    "Let dy be a 8 by 16 tensor of Real.\nLet a be x matmul w.\nLet y be tanh of a.\n"
)


def derived() -> logosnb.Backward:
    return logosnb.backward(TEXT, "y", "dy", ["x", "w"])


def given(dtype: str = "f8") -> dict[str, np.ndarray]:
    random = np.random.default_rng(0)
    shapes = {"x": (8, 4), "w": (4, 16), "dy": (8, 16)}
    return {name: random.normal(size=shape).astype(dtype) for name, shape in shapes.items()}


def test_what_is_kept_is_what_it_is_when_all_is_kept() -> None:
    back = derived()
    everything = logosnb.compile(back.program)(given())
    keep = [*back.grads.values(), "y"]
    found = logosnb.compile(back.program, keep=keep)(given())
    assert set(found) == set(keep)
    for name in keep:
        np.testing.assert_array_equal(found[name], everything[name])


def test_a_transpose_that_only_feeds_products_is_not_made() -> None:
    back = derived()
    kept = logosnb.compile(back.program, keep=list(back.grads.values()))
    assert not any("Transpose" in kernel.name for kernel in kept.kernels)
    assert any("Transpose" in kernel.name for kernel in logosnb.compile(back.program).kernels)


def test_an_input_may_be_kept_and_an_unknown_name_not() -> None:
    assert set(logosnb.compile(TEXT, keep=["x", "y"])(given())) == {"x", "y"}
    with pytest.raises(logosnb.LogosError, match="did you mean `dy`"):
        logosnb.compile(TEXT, keep=["dyy"])


@pytest.mark.parametrize("size", [8, 300])
def test_results_go_where_out_says(size: int) -> None:
    text = f"Let x be a {size} by {size} tensor of Real.\nLet y be square of x.\n"
    out = np.empty((size, size))
    result = logosnb.compile(text)({"x": np.full((size, size), 3.0)}, out={"y": out})
    assert result["y"] is out and (out == 9).all()


@pytest.mark.parametrize("size", [3, 200])
def test_out_may_be_the_input_itself_or_lie_on_it(size: int) -> None:
    text = f"Let x be a {size} by {size} tensor of Real.\nLet y be transpose of x.\n"
    x = np.random.default_rng(0).normal(size=(size, size))
    expected = x.T.copy()
    logosnb.compile(text)({"x": x}, out={"y": x})
    np.testing.assert_array_equal(x, expected)


def test_out_may_have_any_strides_and_must_be_writeable() -> None:
    text = "Let x be a 3 by 4 tensor of Real.\nLet y be square of x.\n"
    room = np.zeros((6, 8))
    logosnb.compile(text)({"x": np.full((3, 4), 2.0)}, out={"y": room[::2, ::2]})
    assert room.sum() == 48 and room[::2, ::2].sum() == 48
    fixed = np.zeros((3, 4))
    fixed.flags.writeable = False
    with pytest.raises(logosnb.LogosError, match="cannot be written to"):
        logosnb.compile(text)({"x": np.ones((3, 4))}, out={"y": fixed})


FORMS = {
    "by columns": np.asfortranarray,
    "every other row": lambda a: np.repeat(a, 2, axis=0)[::2],
    "backwards": lambda a: a[::-1].copy()[::-1],
    "big-endian": lambda a: a.astype(">f8"),
    "f16": lambda a: a.astype(np.float16),
    "ints": lambda a: np.round(a * 3).astype(np.int8),
    "list": lambda a: a.tolist(),
}


@pytest.mark.parametrize("form", FORMS)
def test_inputs_of_any_form_are_read_as_the_interpreter_reads_them(form: str) -> None:
    """C27, C28, C29."""
    inputs = {name: FORMS[form](array) for name, array in given().items()}
    before = {name: np.array(array) for name, array in inputs.items()}
    program = derived().program
    expected, found = logosnb.run(program, inputs), logosnb.run(program, inputs, backend="cpu")
    for name, value in found.items():
        np.testing.assert_allclose(value, expected[name], rtol=1e-12, atol=1e-12)
    for name, array in inputs.items():
        np.testing.assert_array_equal(np.array(array), before[name])


def test_a_call_holds_no_reference_to_its_inputs() -> None:
    ready = logosnb.compile(TEXT, keep=["y"])
    inputs = given()
    seen = [weakref.ref(array) for array in inputs.values()]
    counts = [sys.getrefcount(array) for array in inputs.values()]
    result = ready(inputs)
    assert [sys.getrefcount(array) for array in inputs.values()] == counts
    del inputs
    gc.collect()
    assert all(reference() is None for reference in seen)
    assert result["y"].shape == (8, 16)


@pytest.mark.parametrize("size", [8, 200])
def test_ten_thousand_calls_leave_nothing_behind(size: int) -> None:
    text = TEXT.replace("8 by", f"{size} by")
    back = logosnb.backward(text, "y", "dy", ["x", "w"])
    ready = logosnb.compile(back.program, dtype="f32")
    random = np.random.default_rng(0)
    shapes = {"x": (size, 4), "w": (4, 16), "dy": (size, 16)}
    inputs = {n: random.normal(size=s).astype("f4") for n, s in shapes.items()}
    for _ in range(500):
        ready(inputs)
    process = psutil.Process()
    before = process.memory_info().rss
    for _ in range(10_000):
        ready(inputs)["y"]
    assert process.memory_info().rss - before < 4 << 20


def test_the_second_call_with_the_same_program_compiles_nothing() -> None:
    back = derived()
    first = logosnb.compile(back.program, dtype="f32")
    second = logosnb.compile(back.program, dtype="f32")
    assert [k.function for k in first.kernels] == [k.function for k in second.kernels]
