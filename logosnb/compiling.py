"""`compile`: a program made ready to run again and again on a backend.

In: a program, a backend, a dtype. Out: `Compiled`. May not know: how kernels are made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from logosnb.inputs import prepared
from logosnb.interpreter.shown import Output
from logosnb.kernels import build_all, execute
from logosnb.language.errors import LogosError, ShapeError
from logosnb.running import Result, as_program, require_backend
from logosnb.stages.program import Program


class Compiled:
    """A program whose kernels are built: call it with inputs, as often as you like.

    kernels: what was built, in the order in which it runs; each has its name, the statements that it
    serves in `name`, its `source`, and the `bytes` and `operations` that it moves. notes: what stays
    with the interpreter and why, a line each.
    """

    def __init__(self, program: Program, dtype: str) -> None:
        self.program = program
        self.dtype = dtype
        plan = build_all(program, dtype)
        self.kernels = tuple(plan.kernels)
        self.notes = tuple(plan.notes)

    def __call__(
        self,
        inputs: Mapping[str, Any] | None = None,
        out: Mapping[str, Any] | None = None,
        show: Callable[[str], None] | None = None,
    ) -> Result:
        """Run with the inputs.

        out: arrays, by name, that tensors of the result are written into, of the shape and dtype that
        the result has; the Result then holds these arrays.
        """
        output = Output(show)
        values = execute(
            self.program, prepared(self.program, inputs, self.dtype), output, self.dtype
        )
        for name, array in (out or {}).items():
            values[name] = _into(array, values, name)
        return Result(values, output.lines)

    def __repr__(self) -> str:
        return "\n".join([f"Compiled, {self.dtype}", *map(repr, self.kernels), *self.notes])


def _into(array: Any, values: Mapping[str, Any], name: str) -> Any:
    value = values.get(name)
    if not isinstance(value, np.ndarray):
        raise LogosError(f"`{name}` is no tensor of the program, so `out` cannot hold it")
    if not isinstance(array, np.ndarray) or (array.shape, array.dtype) != (
        value.shape,
        value.dtype,
    ):
        shape = " by ".join(map(str, value.shape))
        raise ShapeError(f"`out` for `{name}` must be an array, {shape}, of {value.dtype}")
    array[...] = value
    return array


def compile(  # the public name
    program: str | Program, *, backend: str = "cpu", dtype: str = "f64"
) -> Compiled:
    """The program with all its kernels built. Raises what parsing raises, and LogosError for a backend
    or dtype that there is not."""
    require_backend(backend, dtype)
    if backend != "cpu":
        raise LogosError(f'the backend "{backend}" has nothing to compile; there is "cpu"')
    return Compiled(as_program(program), dtype)
