"""Runs a sequence of kernels, in one call of machine code, by one thread or by several at once.

In: a table of steps and what they take. Out: a status. May not know: what a kernel computes.

Each step is cut into pieces. A thread claims the next piece of a step by an atomic counter; when none
is left it waits until all are done, and goes on to the next step. So a thread that comes late, or never,
costs time and nothing else, and what is computed does not depend on who computes it.

table: a row a step: the kernel's address, where its words begin, the first and last number of its loop,
how many pieces. addresses: of the arrays of this run. memory: of this run: the stop flag, the worst
status and two counters a step, of pieces claimed and done; then scalars; then bases; then small
tensors. places: how many items the state has, where scalars and bases begin in memory, in bytes; then
for each base, which of the addresses (−1: memory itself) and how many bytes after it.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from numba import int64, uint8

from logosnb.kernels.build import build_caller, source_of

if TYPE_CHECKING:
    from logosnb.kernels.native import asked, call, fetch_add, give_way, ints, pause, set_bases

STATE = 2  # items of the state before the counters
HEAD = 3  # items of `places` before the pairs
ARGUMENTS = (int64[:, ::1], int64[::1], int64[::1], int64[::1], uint8[::1], int64)


def lay_out(table: Any, words: Any, places: Any, addresses: Any, memory: Any, yield_: int) -> int:
    """What several threads need before the first of them starts."""
    set_bases(places, addresses, memory)
    return 0


def alone(table: Any, words: Any, places: Any, addresses: Any, memory: Any, yield_: int) -> int:
    """All pieces of all steps, in order, after the laying out."""
    set_bases(places, addresses, memory)
    start, word = memory.ctypes.data, words.ctypes.data
    scalars, bases = ints(start + places[1]), ints(start + places[2])
    for step in range(table.shape[0]):
        first, trips = table[step, 2], table[step, 3] - table[step, 2] + 1
        pieces = table[step, 4]
        for piece in range(pieces):
            begin = first + trips * piece // pieces
            end = first + trips * (piece + 1) // pieces - 1
            at = ints(word + 8 * table[step, 1])
            status: int = call(table[step, 0], bases, scalars, at, begin, end, piece)
            if status != 0:
                return status
    return 0


def together(table: Any, words: Any, places: Any, addresses: Any, memory: Any, yield_: int) -> int:
    """The pieces that no other thread has claimed; returns when all steps are done."""
    start, word = memory.ctypes.data, words.ctypes.data
    scalars, bases = ints(start + places[1]), ints(start + places[2])
    for step in range(table.shape[0]):
        first, trips = table[step, 2], table[step, 3] - table[step, 2] + 1
        pieces = table[step, 4]
        claimed, done = start + 16 + 16 * step, start + 24 + 16 * step
        while True:
            piece = fetch_add(claimed, 1)
            if piece >= pieces:
                break
            begin = first + trips * piece // pieces
            end = first + trips * (piece + 1) // pieces - 1
            at = ints(word + 8 * table[step, 1])
            status = call(table[step, 0], bases, scalars, at, begin, end, piece)
            if status != 0:
                ints(start)[1] = status
            fetch_add(done, 1)
        waited = 0
        while asked(done) < pieces:
            waited += 1
            if waited < 2000:
                pause()
            else:
                give_way(yield_)
        if asked(start + 8) != 0:
            return asked(start + 8)  # type: ignore[no-any-return]
    return 0


@cache
def compiled(function: Any) -> Any:
    """`lay_out`, `alone` or `together` as machine code."""
    return build_caller(source_of(function), int64(*ARGUMENTS))


def _address(array: Any) -> int:
    return array.ctypes.data  # type: ignore[no-any-return]


@cache
def addresser() -> Any:
    """A compiled function that says where an array's items begin."""
    return build_caller(source_of(_address), None)
