"""Runs a sequence of kernels, in one call of machine code, by one thread or by several at once.

In: a table of steps and what they take. Out: a status. May not know: what a kernel computes.

Each step is cut into pieces. A thread claims the next piece of a step by an atomic counter; when none
is left it waits until all are done, and goes on to the next step. So a thread that comes late, or never,
costs time and nothing else, and what is computed does not depend on who computes it.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from numba import int64

from logosnb.kernels.build import build_caller, source_of

if TYPE_CHECKING:
    from logosnb.kernels.native import asked, call, fetch_add, give_way, ints, pause

# A row of the table: the kernel's address, where its words begin, first and last number of its loop, how
# many pieces. The state: the stop flag, which an interrupt sets; the worst status; then two counters a
# step, of pieces claimed and done.
COUNTERS = 2
TABLE, VECTOR = int64[:, ::1], int64[::1]


def alone(table: Any, bases: Any, scalars: Any, words: Any, state: Any, yield_: int) -> int:
    """All pieces of all steps, in order."""
    base, scalar, word = ints(bases.ctypes.data), ints(scalars.ctypes.data), words.ctypes.data
    for step in range(table.shape[0]):
        first, trips = table[step, 2], table[step, 3] - table[step, 2] + 1
        pieces = table[step, 4]
        for piece in range(pieces):
            start = first + trips * piece // pieces
            end = first + trips * (piece + 1) // pieces - 1
            at = ints(word + 8 * table[step, 1])
            if call(table[step, 0], base, scalar, at, start, end, piece) != 0:
                return 1
    return 0


def together(table: Any, bases: Any, scalars: Any, words: Any, state: Any, yield_: int) -> int:
    """The pieces that no other thread has claimed; returns when all steps are done."""
    base, scalar, word = ints(bases.ctypes.data), ints(scalars.ctypes.data), words.ctypes.data
    counters = state.ctypes.data + 16
    for step in range(table.shape[0]):
        first, trips = table[step, 2], table[step, 3] - table[step, 2] + 1
        pieces = table[step, 4]
        claimed, done = counters + 16 * step, counters + 16 * step + 8
        while True:
            piece = fetch_add(claimed, 1)
            if piece >= pieces:
                break
            start = first + trips * piece // pieces
            end = first + trips * (piece + 1) // pieces - 1
            at = ints(word + 8 * table[step, 1])
            if call(table[step, 0], base, scalar, at, start, end, piece) != 0:
                state[1] = 1
            fetch_add(done, 1)
        waited = 0
        while asked(done) < pieces:
            waited += 1
            if waited < 2000:
                pause()
            else:
                give_way(yield_)
        if asked(state.ctypes.data + 8) != 0:
            return 1
    return 0


@cache
def runner(several: bool) -> Any:
    """The compiled `together` or `alone`."""
    function = together if several else alone
    arguments = (TABLE, VECTOR, VECTOR, VECTOR, VECTOR, int64)
    return build_caller(source_of(function), int64(*arguments))


def _address(array: Any) -> int:
    return array.ctypes.data  # type: ignore[no-any-return]


@cache
def _addresses() -> Any:
    return build_caller(source_of(_address), None)


def address(array: Any) -> int:
    """Where an array's items begin."""
    found: int = _addresses()(array)
    return found
