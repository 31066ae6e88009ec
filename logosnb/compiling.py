"""`compile`: a program made ready to run again and again on a backend.

In: a program, a backend, a dtype. Out: `Compiled`. May not know: how kernels are made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from logosnb.inputs import Array, dtype_of, prepared
from logosnb.interpreter.shown import Output
from logosnb.kernels import prepare
from logosnb.language.errors import LogosError, ShapeError
from logosnb.language.words import closest
from logosnb.running import Result, as_program, require_backend
from logosnb.stages.program import Program
from logosnb.stages.walk import bound_names


class Compiled:
    """A program whose kernels are built: call it with inputs, as often as you like.

    kernels: what was built, in the order in which it runs; each has the ops or loop that it serves in
    `name`, their `lines`, its `source`, and the `bytes` and `operations` that it moves. notes: what stays
    with the interpreter and why, a line each. keep: the names that a call's Result holds; all if None.
    """

    def __init__(self, program: Program, dtype: str, keep: tuple[str, ...] | None = None) -> None:
        self.program = program
        self.dtype = dtype
        self.keep = keep
        self._ready = prepare(program, dtype, (), keep)
        self._inputs = frozenset(program.inputs)
        self.kernels = tuple(self._ready.plan.kernels)
        self.notes = tuple(self._ready.plan.notes)
        for kernel in self.kernels:
            kernel.build()

    def __call__(
        self,
        inputs: Mapping[str, Any] | None = None,
        out: Mapping[str, Any] | None = None,
        show: Callable[[str], None] | None = None,
    ) -> Result:
        """Run with the inputs.

        out: arrays, by name, that tensors of the result are written into, of the shape and dtype that
        the result has; the Result then holds these arrays. An array of `out` that is also an input, or
        lies on one, gets its values when the run is over.
        """
        output = Output(show)
        given = prepared(self.program, inputs, self.dtype)
        usual = given.keys() == self._inputs
        ready = self._ready if usual else prepare(self.program, self.dtype, given, self.keep)
        if not out:
            return Result(ready.run(given, output, {}), output.lines)
        wanted = {name: self._required(array, name) for name, array in out.items()}
        direct = {n: a for n, a in wanted.items() if _may_be_written(a, given)}
        return Result(_with_out(ready.run(given, output, direct), wanted), output.lines)

    def _required(self, array: Any, name: str) -> Array:
        """An array of `out`, which must be what the result is."""
        shape = self.program.shapes.get(name)
        if shape is None or (self.keep is not None and name not in self.keep):
            raise LogosError(f"`{name}` is no tensor of the result, so `out` cannot hold it")
        dtype = dtype_of(self.program.kinds[name], self.dtype)
        if not isinstance(array, np.ndarray) or (array.shape, array.dtype) != (shape, dtype):
            said = " by ".join(map(str, shape))
            raise ShapeError(f"`out` for `{name}` must be an array, {said}, of {dtype}")
        if not array.flags.writeable:
            raise LogosError(f"`out` for `{name}` is an array that cannot be written to")
        return array

    def __repr__(self) -> str:
        return "\n".join([f"Compiled, {self.dtype}", *map(repr, self.kernels), *self.notes])


def _may_be_written(array: Array, inputs: Mapping[str, Array]) -> bool:
    """Whether kernels may write into it while they read the inputs."""
    shared = any(np.may_share_memory(array, given) for given in inputs.values())
    return bool(array.flags.c_contiguous) and not shared


def _with_out(values: Mapping[str, Any], out: Mapping[str, Array]) -> Mapping[str, Any]:
    late = {name: array for name, array in out.items() if values[name] is not array}
    for name, array in late.items():
        array[...] = values[name]
    return {**values, **late} if late else values


def compile(  # the public name
    program: str | Program,
    *,
    backend: str = "cpu",
    dtype: str = "f64",
    keep: Iterable[str] | None = None,
) -> Compiled:
    """The program with all its kernels built.

    keep: the names of Main that a Result is to hold. What is not kept takes no memory longer than it is
    needed, and a transpose that only feeds products is not made at all; None keeps everything.
    Raises what parsing raises, and LogosError for a backend, dtype or name that there is not."""
    require_backend(backend, dtype)
    if backend != "cpu":
        raise LogosError(f'the backend "{backend}" has nothing to compile; there is "cpu"')
    ready = as_program(program)
    return Compiled(ready, dtype, None if keep is None else _names(keep, ready))


def _names(keep: Iterable[str], program: Program) -> tuple[str, ...]:
    names = tuple(dict.fromkeys([keep] if isinstance(keep, str) else keep))
    known = {*program.shapes, *bound_names(program.main)}
    for name in names:
        if name not in known:
            near = closest(name, sorted(known))
            hint = f"; did you mean `{near}`?" if near else ""
            raise LogosError(f"the program binds no `{name}`, so it cannot be kept{hint}")
    return names
