"""A statement of a compiled program: a function of values, in the place of what it computes.

In: which names it reads and binds. Out: `Compute`, and how the interpreter's text calls one. May not
know: what is computed.

A compiled program is run by the interpreter, with Compute statements where kernels serve: so what does
not compile runs beside what does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from logosnb.interpreter.lines import variable
from logosnb.interpreter.section import Section
from logosnb.interpreter.write_statements import bind, write
from logosnb.language.tree import Declare, Statement

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Compute(Statement):
    """run: takes the values of `reads`, in order; gives those of `binds`, a tuple."""

    run: Callable[..., tuple[Any, ...]] = field(repr=False, compare=False)
    reads: tuple[str, ...]
    binds: tuple[str, ...]


@dataclass(frozen=True)
class Supplied(Declare):
    """A declared tensor that the program only reads: the caller's array, not a copy."""


@dataclass(frozen=True)
class Made(Declare):
    """A declared tensor that the program writes and a caller supplies: a copy."""


@write.register
def _(made: Made, section: Section) -> None:
    bind(made.name, f"_inputs[{ascii(made.name)}].copy()", section, made.position)


@write.register
def _(supplied: Supplied, section: Section) -> None:
    view = section.object(read_only)
    bind(supplied.name, f"{view}(_inputs[{ascii(supplied.name)}])", section, supplied.position)


def read_only(array: Array) -> Array:
    view = array.view()
    view.flags.writeable = False
    return view


@write.register
def _(compute: Compute, section: Section) -> None:
    call = f"{section.object(compute.run)}({', '.join(map(variable, compute.reads))})"
    if not compute.binds:
        section.add(call, compute.position)
        return
    names = ", ".join(map(variable, compute.binds))
    section.add(f"({names},) = {call}", compute.position)
    for name in compute.binds:
        if name in section.flat:
            bind(name, variable(name), section, compute.position)
