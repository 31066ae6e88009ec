"""One op as a program, run with its meaning and with its expansion, for the tests of the ops.

In: a statement and arrays by name. Out: results, gradients, refusals. Both runs must give the same.
"""

from __future__ import annotations

import numpy as np
import pytest
from checked import check
from numpy.testing import assert_allclose

import logosnb
from logosnb.gradient.sweep import stage_values
from logosnb.ops.template import render


def random(seed: int, *shapes: tuple[int, int]) -> list[np.ndarray]:
    generator = np.random.default_rng(seed)
    return [generator.normal(size=shape) for shape in shapes]


def declared(inputs: dict[str, np.ndarray]) -> str:
    return "".join(
        f"Let {name} be a {value.shape[0]} by {value.shape[1]} tensor of "
        f"{'Int' if value.dtype.kind == 'i' else 'Real'}.\n"
        for name, value in inputs.items()
    )


def prepared(inputs: dict) -> dict[str, np.ndarray]:
    return {name: np.array(value) for name, value in inputs.items()}


def expanded(text: str, head: str) -> str:
    """The program with its last statement, an op, written out as that op's expansion."""
    program = logosnb.parse(text)
    stage = program.stages[-1]
    values = stage_values(stage, program.shapes, program.kinds)
    lines = render(stage.definition.expansion, values, set(stage.operands), lambda stem, _: stem)
    return head + "\n".join(lines) + "\n"


def both(statement: str, setup: str = "", **given) -> np.ndarray:
    """The result of one op; its expansion gives the same, to the last bits of a sum."""
    inputs = prepared(given)
    head = declared(inputs) + (setup and f"{setup}\n")
    text = f"{head}{statement}\n"
    name = logosnb.parse(text).stages[-1].out
    meant = logosnb.run(text, inputs)[name]
    written = logosnb.run(expanded(text, head), inputs)[name]
    assert written.dtype == meant.dtype
    assert_allclose(written, meant, rtol=1e-12, atol=1e-14)
    return meant


def refused(statement: str, *words: str, setup: str = "", **given) -> None:
    """The op refuses with these words at its line, and its expansion does not run either."""
    inputs = prepared(given)
    head = declared(inputs) + (setup and f"{setup}\n")
    text = f"{head}{statement}\n"
    with pytest.raises(logosnb.LogosRuntimeError) as error:
        logosnb.run(text, inputs)
    assert all(word in str(error.value) for word in words), str(error.value)
    assert error.value.line == text.count("\n")
    with pytest.raises(logosnb.LogosRuntimeError):
        logosnb.run(expanded(text, head), inputs)


def gradients(statement: str, cotangent, of: str = "y", **given) -> dict[str, np.ndarray]:
    inputs = prepared(given)
    found = logosnb.grad(f"{declared(inputs)}{statement}\n", inputs, of=of, cotangent=cotangent)
    return dict(found.grads)


def agrees(statement: str, seed: int, of: str = "y", setup: str = "", **given) -> None:
    """Every gradient that the op has agrees with central differences."""
    inputs = prepared(given)
    text = f"{declared(inputs)}{setup and setup + chr(10)}{statement}\n"
    report = check(text, inputs, of=of, seed=seed)
    assert report.rows and report.ok, f"{statement} seed {seed}\n{report}"
