"""Matrix products through BLAS, its transposes as flags, cut into pieces of our own.

In: addresses and sizes. Out: the kernel `product`, and BLAS held to one thread while our threads
call it. May not know: programs.

A product y = op(a) op(b) of matrices by rows is yᵀ = op(b)ᵀ op(a)ᵀ by columns, which is BLAS's order: so
a and b change places and nothing is copied.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numba.extending import get_cython_function_address

if TYPE_CHECKING:
    from logosnb.kernels.functions import fast_add
    from logosnb.kernels.native import gemm32, reals32

SHARED = 250_000  # multiplications from which BLAS may take threads of its own


def product(bases: Any, scalars: Any, words: Any, first: int, last: int, piece: int) -> int:
    """Rows, or columns, first … last of y for each of several pairs of matrices.

    words: slots of y, a, b; gemm's address; whether a and b are transposed; rows, inner, columns of the
    product; widths of a, b, y in memory; pairs, and items from one matrix to the next in a, b, y; whether
    the piece is one of columns.
    """
    y, a, b = reals32(bases[words[0]]), bases[words[1]], bases[words[2]]
    turn_a, turn_b = words[4], words[5]
    rows, inner, columns = words[6], words[7], words[8]
    wide_a, wide_b, wide_y = words[9], words[10], words[11]
    start = first - 1
    from_y = bases[words[0]]
    if words[16] != 0:
        columns = last - first + 1
        b += 4 * start * (wide_b if turn_b else 1)
        from_y += 4 * start
    else:
        rows = last - first + 1
        a += 4 * start * (1 if turn_a else wide_a)
        from_y += 4 * start * wide_y
    for pair in range(words[12]):
        y = reals32(from_y + 4 * pair * words[15])
        left, right = reals32(a + 4 * pair * words[13]), reals32(b + 4 * pair * words[14])
        gemm32(
            words[3], turn_b, turn_a, columns, rows, inner, np.float32(1.0), right, wide_b, left,
            wide_a, np.float32(0.0), y, wide_y,
        )  # fmt: skip
    return 0


def vector_product(bases: Any, scalars: Any, words: Any, first: int, last: int, piece: int) -> int:
    """Items first … last of a row times a matrix: BLAS's product reads a matrix for one row no faster
    than for sixteen.

    words: slots of y, of the row and of the matrix; whether the matrix is transposed; items of the
    row; width of the matrix in memory.
    """
    y, x, w = reals32(bases[words[0]]), reals32(bases[words[1]]), reals32(bases[words[2]])
    inner, wide = words[4], words[5]
    if words[3] != 0:
        for j in range(first - 1, last):
            total = np.float32(0.0)
            for i in range(inner):
                total = fast_add(total, x[i] * w[j * wide + i])
            y[j] = total
        return 0
    for j in range(first - 1, last):
        y[j] = np.float32(0.0)
    for i in range(inner):
        factor, row = x[i], i * wide
        for j in range(first - 1, last):
            y[j] += factor * w[row + j]
    return 0


def of_dtype(text: str, dtype: str) -> str:
    """A kernel that is written for f32, for the dtype."""
    if dtype == "f32":
        return text
    for name in ("gemm", "reals", "exp", "tanh"):
        text = text.replace(f"{name}32", f"{name}64")
    return text.replace("np.float32", "np.float64").replace("4 * ", "8 * ")


@cache
def gemm_address(dtype: str) -> int:
    """Where SciPy's BLAS has its product."""
    name = "dgemm" if dtype == "f64" else "sgemm"
    address: int = get_cython_function_address("scipy.linalg.cython_blas", name)
    return address


class _Held:
    """SciPy's BLAS at one thread while anyone needs it so."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.holders = 0
        self.before: list[tuple[Any, int]] = []

    def enter(self) -> None:
        with self.lock:
            if self.holders == 0:
                self.before = [(library, library.get_num_threads()) for library in _libraries()]
                for library, _ in self.before:
                    library.set_num_threads(1)
            self.holders += 1

    def leave(self) -> None:
        with self.lock:
            self.holders -= 1
            if self.holders == 0:
                for library, count in self.before:
                    library.set_num_threads(count)


_held = _Held()


@contextmanager
def one_thread() -> Iterator[None]:
    """Within, a product runs in the thread that calls it, whatever its size."""
    _held.enter()
    try:
        yield
    finally:
        _held.leave()


@cache
def _libraries() -> list[Any]:
    """The BLAS libraries that SciPy's products may come from: all that are loaded but NumPy's own."""
    import scipy.linalg.cython_blas  # noqa: F401  # loads it
    from threadpoolctl import ThreadpoolController

    found = ThreadpoolController().lib_controllers
    return [library for library in found if library.user_api == "blas" and _is_scipys(library)]


def _is_scipys(library: Any) -> bool:
    return "numpy.libs" not in str(library.filepath)
