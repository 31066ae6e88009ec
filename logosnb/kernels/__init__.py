"""Kernels: any LOGOS program as fast code.

In: a Program and prepared inputs. Out: the value of every name of Main. What does not compile runs
with the interpreter, statement by statement, and a note says which and why.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from logosnb.stages.program import Program

if TYPE_CHECKING:
    from logosnb.kernels.plan import Plan


def build_all(program: Program, dtype: str) -> Plan:
    """The plan of a program with every kernel built."""
    from logosnb.kernels.plan import planned

    plan = planned(program, dtype)
    for kernel in plan.kernels:
        _ = kernel.function
    return plan


def execute(
    program: Program,
    inputs: Mapping[str, np.ndarray[Any, Any]],
    show: Callable[[str], None],
    dtype: str = "f64",
) -> dict[str, Any]:
    """Run a program with kernels of the dtype; inputs, show and errors as for the interpreter."""
    from logosnb.kernels.run import execute_planned

    return execute_planned(program, inputs, show, dtype)
