"""Kernels: any LOGOS program as fast code.

In: a Program and prepared inputs. Out: the value of every name of Main. What does not compile runs
with the interpreter, statement by statement, and a note says which and why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from logosnb.kernels.threads import uninterrupted
from logosnb.stages.program import Program

if TYPE_CHECKING:
    from logosnb.kernels.run import Ready


def prepare(
    program: Program,
    dtype: str,
    supplied: Iterable[str] = (),
    keep: tuple[str, ...] | None = None,
) -> Ready:
    """The program, planned. supplied: what a caller gives; keep: the names that are wanted, all if
    None."""
    if not _load.cache_info().currsize:
        uninterrupted(_load)
    from logosnb.kernels.run import ready

    return ready(program, dtype, supplied, keep)


@cache
def _load() -> None:
    """Numba and what stands on it: half a second, the first time."""
    import scipy.linalg.cython_blas  # noqa: F401

    import logosnb.kernels.run  # noqa: F401


def execute(
    program: Program,
    inputs: Mapping[str, np.ndarray[Any, Any]],
    show: Callable[[str], None],
    dtype: str = "f64",
) -> Mapping[str, Any]:
    """Run a program with kernels of the dtype; inputs, show and errors as for the interpreter."""
    return prepare(program, dtype, inputs).run(inputs, show, {})
