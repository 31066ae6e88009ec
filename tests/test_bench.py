"""The benchmark's own arithmetic: what is timed computes what the interpreter computes."""

from __future__ import annotations

import numpy as np
import pytest

import logosnb
from logosnb.bench import element_scheme
from logosnb.bench.layers import layers
from logosnb.bench.rows import Row, attention, block, fused_mlp, mlp, row_ops

SMALL = [mlp(8, 4, 16, 3, 1), block(6, 16, 1), *row_ops(64), attention(9, 2, 4), fused_mlp(6, 10)]


def cotangent(row: Row) -> np.ndarray:
    shape = logosnb.parse(row.program).shapes["y"]
    return np.random.default_rng(3).normal(size=shape)


@pytest.mark.parametrize("row", SMALL, ids=lambda row: row.name)
def test_by_hand_is_what_the_derived_program_computes(row: Row) -> None:
    values = {n: v.astype(float) if v.dtype.kind == "f" else v for n, v in row.values().items()}
    dy = cotangent(row)
    expected = logosnb.grad(row.program, values, of="y", wrt=row.wrt, cotangent=dy)
    y, grads = row.byhand(values, dy)
    np.testing.assert_allclose(y, expected.value, rtol=1e-9, atol=1e-12)
    for name in row.wrt:
        np.testing.assert_allclose(grads[name], expected.grads[name], rtol=1e-8, atol=1e-10)


def test_each_element_by_itself_has_the_same_gradient() -> None:
    row = fused_mlp(6, 10)
    values, dy = row.values(), cotangent(row).astype("f4")
    expected = row.byhand(values, dy)[1]["x"]
    np.testing.assert_allclose(element_scheme.step(values, dy)(), expected, rtol=1e-4, atol=1e-5)


def test_layers_are_one_program_after_the_other() -> None:
    text, of, wrt = layers(3)
    program = logosnb.parse(text)
    assert of == "y_2" and len(program.stages) == 3 * 15 and set(wrt) < set(program.inputs)
    assert set(logosnb.backward(program, of, "dy", wrt).grads) == set(wrt)
