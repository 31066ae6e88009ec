"""The interpreter: runs any LOGOS program in f64. What it says is what the language means.

In: a Program and prepared inputs. Out: the value of every name of Main. May not know: kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from logosnb.stages.program import Program


def execute(
    program: Program,
    inputs: Mapping[str, np.ndarray[Any, Any]],
    show: Callable[[str], None],
) -> dict[str, Any]:
    """Run a program.

    inputs: declared tensors as 2-D C-contiguous float64 or int64 arrays; they are copied. show is
    called with each line that Show prints. Raises LogosRuntimeError with the line.
    """
    from logosnb.interpreter.compile import compiled

    return compiled(program).run(inputs, show)
