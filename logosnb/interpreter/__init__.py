"""The interpreter: runs any LOGOS program in f64, and is the definition of what it means.

In: a Program, and the tensors supplied to it. Out: the value of every name of Main. May not know:
kernels, gradients.

A program becomes Python text (compile.py, with one write_*.py for each kind of thing), in which
static types allow Python's own operators wherever they mean the same, and helpers elsewhere
(arithmetic.py, sequences.py, values.py). stages.py runs ops; errors.py finds the line of an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from logosnb.interpreter.compile import compiled
from logosnb.interpreter.depth import deep_recursion
from logosnb.interpreter.errors import located
from logosnb.interpreter.lines import original
from logosnb.stages.program import Program

__all__ = ["execute"]


def execute(
    program: Program,
    inputs: Mapping[str, np.ndarray[Any, Any]],
    show: Callable[[str], None],
) -> dict[str, object]:
    """Run a program and give every name bound in Main with its value.

    inputs: 2-D, C-contiguous float64 or int64 arrays by declared name, never written to; a declared
    tensor that is not there starts as zeros. show: called with each text that Show prints. Tensors
    come back as 2-D arrays of their own, other values as int, float, bool, str and list. Raises
    LogosRuntimeError and ShapeError with the line; KeyboardInterrupt passes through.
    """
    ready = compiled(program)
    try:
        with deep_recursion():
            found = ready.build(show)(inputs)
    except Exception as failure:
        error = located(failure, ready, program)
        if error is failure:
            raise
        raise error from None
    names = {name: value for key, value in found.items() if (name := _name(key)) is not None}
    return {name: value for name, value in names.items() if name not in ready.hidden}


def _name(key: str) -> str | None:
    """The LOGOS name of a local variable of Main that holds a value."""
    return original(key) if key.startswith(("v_", "u_")) else None
