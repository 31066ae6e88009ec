"""`run` and `grad`: a program with its inputs, on a backend.

In: a program (text or Program), arrays by name. Out: `Result`, `Gradients`. May not know: how a
backend works; it calls one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from logosnb import interpreter, kernels
from logosnb.gradient.backward import (
    Backward,
    appended,
    backward,
    no_program,
    taken_names,
    tensor_names,
)
from logosnb.gradient.names import Names
from logosnb.gradient.refusals import UnknownOutput
from logosnb.inputs import Array, cotangent_for, named, prepared
from logosnb.interpreter.shown import Output
from logosnb.language.errors import LogosError
from logosnb.stages.program import Program
from logosnb.stages.resolve import parse

BACKENDS = ("interpreter", "cpu")
DTYPES = {"interpreter": ("f64",), "cpu": ("f64", "f32")}


class Result(Mapping[str, Any]):
    """What a run left: every name bound in Main to its value, and `shown`, the lines of Show."""

    def __init__(self, values: Mapping[str, Any], shown: Iterable[str]) -> None:
        self._values = values
        self.shown = list(shown)

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return "\n".join([*self.shown, f"Result with {', '.join(self._values) or 'no names'}"])


@dataclass(frozen=True)
class Gradients:
    """value: the output; grads: tensor to the array of its gradient; backward: the derivation;
    result: everything that the run bound, forward and backward."""

    value: Array
    grads: Mapping[str, Array]
    backward: Backward
    result: Result

    def __repr__(self) -> str:
        shapes = ", ".join(
            f"{name} {'×'.join(map(str, g.shape))}" for name, g in self.grads.items()
        )
        return f"Gradients of {shapes or 'nothing'}"


def as_program(program: str | Program) -> Program:
    """A Program as it is; text is parsed, the same text once."""
    if isinstance(program, str):
        return _parsed(program)
    if not isinstance(program, Program):
        raise no_program(program)
    return program


@lru_cache(maxsize=32)
def _parsed(source: str) -> Program:
    return parse(source)


def run(
    program: str | Program,
    inputs: Mapping[str, Any] | None = None,
    *,
    backend: str = "interpreter",
    dtype: str | None = None,
    show: Callable[[str], None] | None = None,
) -> Result:
    """Run a program.

    inputs: arrays by declared name, any real dtype, order and strides, 1-D as one row. show: called
    with each line that Show prints, as it prints it. Raises InputError, ShapeError for the inputs,
    LogosRuntimeError (with the line) for what goes wrong in the run. backend "cpu" runs the program
    in compiled kernels, in the dtype; names that only its loops bind are not in its Result.
    """
    require_backend(backend, dtype)
    ready = as_program(program)
    output = Output(show)
    given = prepared(ready, inputs, dtype or "f64")
    if backend == "interpreter":
        values: Mapping[str, Any] = interpreter.execute(ready, given, output)
    else:
        values = kernels.execute(ready, given, output, dtype or "f64")
    return Result(values, output.lines)


def require_backend(backend: str, dtype: str | None) -> None:
    """Raise LogosError unless there is such a backend, and it computes in the dtype."""
    if backend not in BACKENDS:
        known = ", ".join(f'"{name}"' for name in BACKENDS)
        raise LogosError(f'there is no backend "{backend}" in this version; there is {known}')
    if dtype is not None and dtype not in DTYPES[backend]:
        known = " or ".join(f'"{name}"' for name in DTYPES[backend])
        raise LogosError(f'the backend "{backend}" computes in {known}, not in "{dtype}"')


def with_cotangent(program: Program, of: str) -> tuple[Program, str]:
    """The program with a declaration added of a cotangent for `of`, and the cotangent's name."""
    if of not in program.shapes:
        raise UnknownOutput(of)
    name = Names(taken_names(program)).tensor("cotangent")
    shape = program.shapes[of]
    declaration = f"Let {name} be a {shape.rows} by {shape.columns} tensor of Real."
    return appended(program, declaration), name


def derivation(program: Program, of: str, wrt: tuple[str, ...]) -> tuple[Backward, str]:
    """The backward pass of a program with a cotangent declared for `of`, and the cotangent's name;
    derived once and kept with the program."""
    key = ("derivation", of, wrt)
    if key not in program.memo:
        seeded, name = with_cotangent(program, of)
        program.memo[key] = backward(seeded, of, name, wrt), name
    kept: tuple[Backward, str] = program.memo[key]
    return kept


def real_inputs(program: Program) -> tuple[str, ...]:
    """The inputs that are tensors of Real: what `wrt=None` stands for."""
    return tuple(name for name in program.inputs if program.kinds[name] == "Real")


def grad(
    program: str | Program,
    inputs: Mapping[str, Any] | None = None,
    *,
    of: str,
    wrt: Iterable[str] | str | None = None,
    cotangent: Any = None,
    backend: str = "interpreter",
    dtype: str | None = None,
    show: Callable[[str], None] | None = None,
) -> Gradients:
    """The gradient of Σ of ⊙ cotangent for each tensor in wrt (every Real input if left out).

    cotangent: an array of the output's shape; None only for a 1 by 1 output, where it is one.
    Raises what `backward` and `run` raise.
    """
    forward = as_program(program)
    wanted = real_inputs(forward) if wrt is None else tensor_names(wrt)
    derived, name = derivation(forward, of, wanted)
    given = {**named(inputs), name: cotangent_for(forward, of, cotangent, dtype or "f64")}
    result = run(derived.program, given, backend=backend, dtype=dtype, show=show)
    grads = own_arrays(result, derived)
    value = np.array(result[of]) if of in forward.declared else result[of]
    return Gradients(value, grads, derived, result)


def own_arrays(result: Result, derived: Backward) -> dict[str, Array]:
    """The gradient of each tensor, copied where another tensor has the same or the caller gave it."""
    names = list(derived.grads.values())
    return {
        tensor: np.array(result[name])
        if names.count(name) > 1 or name in derived.program.inputs
        else result[name]
        for tensor, name in derived.grads.items()
    }
