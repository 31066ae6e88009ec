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

from logosnb.interpreter.lines import variable
from logosnb.interpreter.section import Section
from logosnb.interpreter.write_statements import bind, write
from logosnb.language.tree import Statement


@dataclass(frozen=True)
class Compute(Statement):
    """run: takes the values of `reads`, in order; gives those of `binds`, a tuple."""

    run: Callable[..., tuple[Any, ...]] = field(repr=False, compare=False)
    reads: tuple[str, ...]
    binds: tuple[str, ...]


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
