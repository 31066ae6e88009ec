"""The gradient of a fused two-layer product with each element by itself: every element of dx computes the
whole hidden layer again, as a kernel with one work item an element does.

In: one row x, the weights, dy. Out: dx, by a compiled kernel on all threads. May not know: LOGOS.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numba import njit, prange, set_num_threads

Array = np.ndarray[Any, Any]


def step(values: Mapping[str, Array], dy: Array) -> Callable[[], Array]:
    """dx of mlp with up w, bias b and down v, for x of one row; the first call compiles."""
    set_num_threads(2)
    x, w, b, v = (np.ascontiguousarray(values[name]) for name in "xwbv")
    turned = np.ascontiguousarray(w.T)
    return lambda: gradient(x[0], turned, w, b[0], v, dy[0])[None]


@njit(parallel=True, fastmath=True)
def gradient(x: Array, turned: Array, w: Array, b: Array, v: Array, dy: Array) -> Array:
    dx = np.empty_like(x)
    for i in prange(x.size):
        total = np.float32(0.0)
        for j in range(b.size):
            hidden, slope = b[j], np.float32(0.0)
            for k in range(x.size):
                hidden += x[k] * turned[j, k]
                slope += dy[k] * v[j, k]
            total += slope * max(np.float32(0.5) * hidden, np.float32(2.0) * hidden) * w[i, j]
        dx[i] = total
    return dx
