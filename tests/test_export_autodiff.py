"""The exported PyTorch and JAX files: their own differentiation gives the derived gradient, op by op."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest
from examples import CASES, arrays, output_name, program_text
from numpy.testing import assert_allclose

import logosnb
from logosnb.notebook.export.autodiff_file import autodiff_file
from logosnb.ops.op import NoGradient

DIFFERENTIATED = [
    case for case in CASES if case[2].cotangent and not isinstance(case[1].adjoint, NoGradient)
]


def loaded(text: str) -> dict:
    scope: dict = {"__name__": "exported"}
    exec(compile(text, "exported.py", "exec"), scope)
    return scope


@pytest.mark.parametrize("library", ["torch", "jax"])
@pytest.mark.parametrize(
    ("name", "op", "example"), DIFFERENTIATED, ids=[case[0] for case in DIFFERENTIATED]
)
def test_the_gradient_of_an_op(name, op, example, library) -> None:
    if find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    text, given, of = program_text(op, example), arrays(op, example), output_name(op, example)
    wrt = list(example.grads)
    cotangent = np.array(example.cotangent, dtype=float)
    wanted = logosnb.grad(text, given, of=of, wrt=wrt, cotangent=cotangent)
    source = autodiff_file(logosnb.parse(text), of, wrt, given, cotangent, library)
    program = logosnb.parse(text)
    parameters = [n for n in program.declared if n in given]
    found = loaded(source)["gradient"](*(given[n] for n in parameters), cotangent)
    for tensor in wrt:
        assert_allclose(
            np.asarray(found[tensor]),
            wanted.grads[tensor],
            rtol=1e-9,
            atol=1e-12,
            err_msg=source,
        )
