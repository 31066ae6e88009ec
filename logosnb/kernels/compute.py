"""A statement of a compiled program: a function of values, in the place of what it computes.

In: which names it reads and binds. Out: `Compute`, and how the interpreter's text calls one. May not
know: what is computed.

A compiled program is run by the interpreter, with Compute statements where kernels serve: so what does
not compile runs beside what does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
    """A declared tensor that the program writes: a copy of what was supplied, or zeros made for it."""


@write.register
def _(made: Made, section: Section) -> None:
    own = section.object(_own)
    bind(made.name, f"{own}(_inputs, {ascii(made.name)})", section, made.position)


def _own(inputs: Mapping[str, Any], name: str) -> Array:
    """The tensor for the program alone: zeros were made for this run, what a caller gave is copied."""
    array: Array = inputs[name]
    return array if isinstance(inputs.get(MADE), dict) and name in inputs[MADE] else array.copy()


MADE = "made for this run"  # no name of a program has spaces


@write.register
def _(supplied: Supplied, section: Section) -> None:
    view = section.object(_read_only)
    bind(supplied.name, f"{view}(_inputs[{ascii(supplied.name)}])", section, supplied.position)


def _read_only(array: Array) -> Array:
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
