"""Runs a planned program.

In: a Program, prepared inputs, a dtype. Out: the value of every name of Main. May not know: how a
kernel is made.

Where a kernel meets what it cannot name (an index out of range, an Int beyond 64 bits), the whole
program is run again by the interpreter, which names it: so that errors are the same on both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from logosnb import interpreter
from logosnb.kernels.compute import MADE
from logosnb.kernels.kernel import NeedsInterpreter
from logosnb.kernels.plan import planned
from logosnb.stages.program import Program

Array = np.ndarray[Any, Any]


def execute_planned(
    program: Program,
    inputs: Mapping[str, Array],
    show: Callable[[str], None],
    dtype: str,
) -> dict[str, Any]:
    shown = 0

    def counted(line: str) -> None:
        nonlocal shown
        shown += 1
        show(line)

    plan = planned(program, dtype)
    try:
        made = plan.zeros(inputs)
        given: dict[str, Any] = {**inputs, **made, MADE: made}
        return interpreter.execute(plan.program, given, counted)
    except NeedsInterpreter:
        wide = {n: a.astype(np.float64) if a.dtype.kind == "f" else a for n, a in inputs.items()}
        return _narrowed_result(interpreter.execute(program, wide, _skipping(show, shown)), dtype)


def _narrowed_result(values: Mapping[str, Any], dtype: str) -> dict[str, Any]:
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
