"""Runs a planned program.

In: a Program, prepared inputs, a dtype. Out: the value of every name of Main. May not know: how a
kernel is made.

Where a kernel meets what it cannot name (an index out of range, an Int beyond 64 bits), the whole
program is run again by the interpreter, which names it: so that errors are the same on both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from logosnb import interpreter
from logosnb.kernels.compute import read_only
from logosnb.kernels.plan import Plan, planned
from logosnb.kernels.segment import NeedsInterpreter, Segment
from logosnb.stages.program import Program

Array = np.ndarray[Any, Any]


class Ready:
    """A program planned for a dtype, for what is wanted and for what a caller supplies besides inputs."""

    def __init__(self, program: Program, plan: Plan, keep: tuple[str, ...] | None) -> None:
        self.program, self.plan, self.keep = program, plan, keep
        self.shown = program.inputs if keep is None else [n for n in keep if n in program.inputs]

    def run(
        self,
        inputs: Mapping[str, Array],
        show: Callable[[str], None],
        out: Mapping[str, Array],
    ) -> Mapping[str, Any]:
        if self.plan.whole is not None:
            try:
                return self._at_once(self.plan.whole, inputs, out)
            except NeedsInterpreter:
                return self._wanted(_interpreted(self.program, inputs, show, self.plan.dtype))
        return self._wanted(_between(self.program, self.plan, inputs, show))

    def _at_once(
        self, segment: Segment, inputs: Mapping[str, Array], out: Mapping[str, Array]
    ) -> Mapping[str, Any]:
        made = segment.run([inputs[name] for name in segment.face.reads], (), out)
        if self.shown:
            made.add({name: read_only(inputs[name]) for name in self.shown})
        return made

    def _wanted(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        return values if self.keep is None else {name: values[name] for name in self.keep}


def ready(
    program: Program, dtype: str, supplied: Iterable[str], keep: tuple[str, ...] | None
) -> Ready:
    return Ready(program, planned(program, dtype, supplied, keep), keep)


def _between(
    program: Program, plan: Plan, inputs: Mapping[str, Array], show: Callable[[str], None]
) -> Mapping[str, Any]:
    """Kernels among statements of the interpreter."""
    shown = 0

    def counted(line: str) -> None:
        nonlocal shown
        shown += 1
        show(line)

    try:
        return interpreter.execute(plan.program, inputs, counted)
    except NeedsInterpreter:
        return _interpreted(program, inputs, _skipping(show, shown), plan.dtype)


def _interpreted(
    program: Program, inputs: Mapping[str, Array], show: Callable[[str], None], dtype: str
) -> Mapping[str, Any]:
    wide = {n: a.astype(np.float64) if a.dtype.kind == "f" else a for n, a in inputs.items()}
    values = interpreter.execute(program, wide, show)
    narrow = dtype == "f32"
    return {
        name: value.astype(np.float32)
        if narrow and isinstance(value, np.ndarray) and value.dtype.kind == "f"
        else value
        for name, value in values.items()
    }


def _skipping(show: Callable[[str], None], count: int) -> Callable[[str], None]:
    """Show, past the lines that the kernels' run has shown already."""
    left = count

    def later(line: str) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            show(line)

    return later
