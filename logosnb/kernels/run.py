"""Runs a planned program.

In: a Program, prepared inputs, a dtype. Out: the value of every name of Main. May not know: how a
kernel is made.

Where a kernel meets what it cannot name (an index out of range, an Int beyond 64 bits), the whole
program is run again by the interpreter, which names it: so that errors are the same on both. Where a
kernel for finite numbers meets others, it is run again by the general loops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from logosnb import interpreter
from logosnb.kernels.compute import read_only
from logosnb.kernels.plan import Plan, planned
from logosnb.kernels.segment import NeedsGeneral, NeedsInterpreter, Segment
from logosnb.stages.program import Program

Array = np.ndarray[Any, Any]


class Ready:
    """A program planned for a dtype, for what is wanted and for what a caller supplies besides inputs."""

    def __init__(
        self,
        program: Program,
        dtype: str,
        supplied: frozenset[str],
        keep: tuple[str, ...] | None,
    ) -> None:
        self.program, self.dtype, self.supplied, self.keep = program, dtype, supplied, keep
        self.plan = planned(program, dtype, supplied, keep)
        self.shown = program.inputs if keep is None else [n for n in keep if n in program.inputs]

    def run(
        self,
        inputs: Mapping[str, Array],
        show: Callable[[str], None],
        out: Mapping[str, Array],
    ) -> Mapping[str, Any]:
        """out: arrays that results are written into where the whole program is one segment."""
        again = Again(show)
        try:
            return self._run(self.plan, inputs, again.first, out)
        except NeedsGeneral:
            plan = planned(self.program, self.dtype, self.supplied, self.keep, general=True)
        except NeedsInterpreter:
            return self._wanted(_interpreted(self.program, inputs, again.later(), self.dtype))
        try:
            return self._run(plan, inputs, again.later(), out)
        except NeedsInterpreter:
            return self._wanted(_interpreted(self.program, inputs, again.later(), self.dtype))

    def _run(
        self,
        plan: Plan,
        inputs: Mapping[str, Array],
        show: Callable[[str], None],
        out: Mapping[str, Array],
    ) -> Mapping[str, Any]:
        if plan.whole is not None:
            return self._at_once(plan.whole, inputs, out)
        return self._wanted(interpreter.execute(plan.program, inputs, show))

    def _at_once(
        self, segment: Segment, inputs: Mapping[str, Array], out: Mapping[str, Array]
    ) -> Mapping[str, Any]:
        made = segment.run([inputs[name] for name in segment.face.reads], (), out)
        if self.shown:
            made.add({name: read_only(inputs[name]) for name in self.shown})
        return made

    def _wanted(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        return values if self.keep is None else {name: values[name] for name in self.keep}


class Again:
    """Show for a program that may be run again from its start: what was shown is not shown twice."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show
        self._shown = 0

    def first(self, line: str) -> None:
        self._shown += 1
        self._show(line)

    def later(self) -> Callable[[str], None]:
        """Show, past the lines that were shown so far."""
        left = self._shown

        def show(line: str) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                self.first(line)

        return show


def ready(
    program: Program, dtype: str, supplied: Iterable[str], keep: tuple[str, ...] | None
) -> Ready:
    """The program, planned; once for each dtype and what is wanted."""
    own = frozenset(supplied) & frozenset(program.optional)
    key = ("ready", dtype, own, keep)
    if key not in program.memo:
        program.memo[key] = Ready(program, dtype, own, keep)
    kept: Ready = program.memo[key]
    return kept


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
