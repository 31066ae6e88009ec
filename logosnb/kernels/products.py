"""Matrix products and views, which go to BLAS through NumPy rather than to loops.

In: a Stage. Out: a function of its operands' arrays in the kernels' dtype, or None where the op is no
product. May not know: loops.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from logosnb.stages.stage import Stage

Array = np.ndarray[Any, Any]


def product(stage: Stage) -> Callable[..., Array] | None:
    """The stage as a call of BLAS or a copy; tensors of Int stay with the exact loops."""
    if stage.kind == "Int":
        return None
    if stage.op == "Matmul":
        return np.matmul
    if stage.op == "Transpose":
        return lambda x: np.ascontiguousarray(x.T)
    if stage.op == "HeadMatmul":
        heads = int(stage.operands["heads"])
        return lambda x, w: _by_heads(x, w, heads)
    return None


def _by_heads(x: Array, w: Array, heads: int) -> Array:
    parts = x.reshape(x.shape[0], heads, -1).swapaxes(0, 1)
    result = np.matmul(parts, w.reshape(heads, parts.shape[2], -1))
    return np.ascontiguousarray(result.swapaxes(0, 1)).reshape(x.shape[0], -1)
