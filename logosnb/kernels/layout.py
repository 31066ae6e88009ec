"""Where each tensor lies while a sequence runs: what is kept, and scratch that is used again.

In: what each step touches, which tensors are made and kept. Out: `Layout`. May not know: machine code,
values.

A tensor that nobody reads any more gives its place to a later one. Small results share one block of
memory; a large one has its own, so that who holds one result does not hold them all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

LINE = 64  # bytes: every tensor begins at a line of the cache
SMALL = 1 << 14  # bytes up to which results share a block


@dataclass
class Layout:
    """offsets: byte offset of each scratch tensor; scratch: bytes in all; shared: byte offset of each
    small result; block: their bytes in all; own: large results."""

    offsets: dict[str, int] = field(default_factory=dict)
    scratch: int = 0
    shared: dict[str, int] = field(default_factory=dict)
    block: int = 0
    own: list[str] = field(default_factory=list)


def layout(
    touched: Sequence[Sequence[str]],
    made: Iterable[str],
    kept: frozenset[str],
    size: Callable[[str], int],
) -> Layout:
    """touched: the tensors of each step; size: the bytes of a tensor."""
    found = Layout()
    for name in made:
        if name in kept:
            _keep(name, size(name), found)
    passing = [name for name in made if name not in kept]
    _place_scratch(_lifetimes(touched, passing), size, found)
    return found


def _keep(name: str, size: int, found: Layout) -> None:
    if size > SMALL:
        found.own.append(name)
        return
    found.shared[name] = found.block
    found.block += rounded(size)


def rounded(size: int) -> int:
    return -(-size // LINE) * LINE


def _lifetimes(
    touched: Sequence[Sequence[str]], names: Iterable[str]
) -> dict[str, tuple[int, int]]:
    """The first and last step that touch each tensor."""
    lives: dict[str, tuple[int, int]] = {}
    wanted = set(names)
    for step, tensors in enumerate(touched):
        for name in tensors:
            if name in wanted:
                lives[name] = (lives.get(name, (step, step))[0], step)
    return lives


def _place_scratch(
    lives: dict[str, tuple[int, int]], size: Callable[[str], int], found: Layout
) -> None:
    """Each tensor at the lowest place that is free for as long as it lives, the largest first."""
    placed: list[tuple[int, int, int, int]] = []  # start, end in bytes; first, last step
    for name in sorted(lives, key=lambda name: (-size(name), lives[name])):
        first, last = lives[name]
        wide = rounded(size(name))
        start = 0
        for low, high, begun, ended in sorted(placed):
            if begun <= last and first <= ended and low < start + wide and start < high:
                start = high
        placed.append((start, start + wide, first, last))
        found.offsets[name] = start
        found.scratch = max(found.scratch, start + wide)
