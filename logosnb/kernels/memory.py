"""Memory for the tensors that a program makes, lent again when nobody holds it any more.

In: shapes. Out: arrays. May not know: programs.

A fresh array of megabytes costs more in page faults than most kernels take to fill it. A buffer goes
back to the pool when the last array on it, or view of one, is gone: the arrays hold the `Lease`.
"""

from __future__ import annotations

import threading
from math import prod
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
SMALL = 1 << 16  # bytes below which NumPy's own allocation is as quick
MOST = 1 << 30  # bytes that the pool keeps in all

_lock = threading.Lock()
_free: dict[int, list[Array]] = {}
_kept = 0


class Lease:
    """One buffer while arrays lie on it."""

    def __init__(self, buffer: Array, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self._buffer = buffer
        self.__array_interface__ = {
            "version": 3,
            "shape": shape,
            "typestr": dtype.str,
            "data": (buffer.ctypes.data, False),
        }

    def __del__(self) -> None:
        global _kept
        size = self._buffer.nbytes
        with _lock:
            if _kept + size <= MOST:
                _kept += size
                _free.setdefault(size, []).append(self._buffer)


def empty(shape: tuple[int, ...], dtype: Any) -> Array:
    """A C-contiguous array with anything in it."""
    global _kept
    kind = np.dtype(dtype)
    size = prod(shape) * kind.itemsize
    if size < SMALL:
        return np.empty(shape, kind)
    with _lock:
        waiting = _free.get(size)
        buffer = waiting.pop() if waiting else None
        _kept -= size if buffer is not None else 0
    if buffer is None:
        buffer = np.empty(size, np.uint8)
    return np.asarray(Lease(buffer, shape, kind))


def zeros(shape: tuple[int, ...], dtype: Any) -> Array:
    array = empty(shape, dtype)
    array.fill(0)
    return array
