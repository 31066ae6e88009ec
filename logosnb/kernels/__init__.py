"""Kernels: any LOGOS program as fast code.

In: a Program and prepared inputs. Out: the value of every name of Main. What does not compile runs
with the interpreter, statement by statement, and a note says which and why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from logosnb.stages.program import Program

if TYPE_CHECKING:
    from logosnb.kernels.plan import Plan


def build_all(program: Program, dtype: str, keep: Iterable[str] | None = None) -> Plan:
    """The plan of a program with every kernel built."""
    from logosnb.kernels.plan import planned

    plan = planned(program, dtype, (), keep)
    for kernel in plan.kernels:
        _ = kernel.function
    return plan


def execute(
    program: Program,
    inputs: Mapping[str, np.ndarray[Any, Any]],
    show: Callable[[str], None],
    dtype: str = "f64",
    keep: Iterable[str] | None = None,
    out: Mapping[str, np.ndarray[Any, Any]] | None = None,
) -> Mapping[str, Any]:
    """Run a program with kernels of the dtype; inputs, show and errors as for the interpreter. keep: the
    names that are wanted, all if None. out: arrays to write results into, of their shape and dtype."""
    from logosnb.kernels.run import execute_planned

    return execute_planned(program, inputs, show, dtype, keep, out)
