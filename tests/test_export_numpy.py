"""The exported NumPy file: every worked example, forward and backward, as the interpreter has it."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from examples import CASES, IDS, arrays, output_name, program_text
from numpy.testing import assert_allclose

import logosnb
from logosnb.notebook.export.numpy_file import numpy_file
from logosnb.ops.op import NoGradient


def loaded(text: str) -> dict:
    scope: dict = {"__name__": "exported"}
    exec(compile(text, "exported.py", "exec"), scope)
    return scope


def called(program, returned, given):
    text = numpy_file(program, returned, given, "A test.")
    parameters = [name for name in program.declared if name in given]
    return loaded(text)["gradient"](*(given[name] for name in parameters)), text


@pytest.mark.parametrize(("_", "op", "example"), CASES, ids=IDS)
def test_an_op_forward(_, op, example) -> None:
    program, given = logosnb.parse(program_text(op, example)), arrays(op, example)
    name = output_name(op, example)
    found, text = called(program, {name: name}, given)
    wanted = logosnb.run(program, given)[name]
    assert found[name].dtype == wanted.dtype, text
    assert_allclose(found[name], wanted, rtol=1e-12, atol=1e-14, err_msg=text)


BACKWARD = [
    case for case in CASES if case[2].cotangent and not isinstance(case[1].adjoint, NoGradient)
]


@pytest.mark.parametrize(("_", "op", "example"), BACKWARD, ids=[case[0] for case in BACKWARD])
def test_an_op_backward(_, op, example) -> None:
    text, given = program_text(op, example), arrays(op, example)
    of = output_name(op, example)
    gradients = logosnb.grad(
        text, given, of=of, wrt=list(example.grads), cotangent=example.cotangent
    )
    derived = gradients.backward
    (cotangent,) = [name for name in derived.program.inputs if name not in given] or ["cotangent"]
    every = given | {cotangent: np.array(example.cotangent, dtype=float)}
    found, source = called(derived.program, derived.grads, every)
    for name, wanted in gradients.grads.items():
        assert_allclose(found[name], wanted, rtol=1e-12, atol=1e-14, err_msg=source)


def test_the_file_runs_alone_and_prints(tmp_path) -> None:
    text = (
        "Let x be a 2 by 3 tensor of Real.\nLet lambda be a 3 by 2 tensor of Real.\n"
        "Let t be a 2 by 1 tensor of Int.\n"
        "Let z be x matmul lambda.\nLet loss be cross entropy of z with targets t.\n"
    )
    given = {
        "x": np.arange(6.0).reshape(2, 3),
        "lambda": np.ones((3, 2)),
        "t": np.array([[1], [2]]),
    }
    program = logosnb.parse(text)
    source = numpy_file(program, {"loss": "loss"}, given, "A test.")
    file = tmp_path / "exported.py"
    file.write_text(source)
    ran = subprocess.run(
        [sys.executable, "-I", str(file)], capture_output=True, text=True, cwd=tmp_path
    )
    assert ran.returncode == 0, ran.stderr
    assert "0.69314718" in ran.stdout
    assert "logosnb" not in source and source.count("import") == 1
    with pytest.raises(IndexError, match="a target is outside 1 … 2"):
        loaded(source)["gradient"](given["x"], given["lambda"], [[0], [1]])
