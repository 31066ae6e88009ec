"""Where each base of a run comes from: an address, or a place in the run's own memory.

In: a layout, what is read from outside, groups of copies. Out: `Places`: slots of tensors and the table
that sequence.lay_out reads. May not know: kernels, values.

Memory of a run, in bytes: the state; scalars; bases; small results; scratch, unless it is large enough
for a buffer of its own, which then is the last of the addresses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from logosnb.kernels.layout import SMALL, Layout, rounded
from logosnb.kernels.sequence import STATE

Array = np.ndarray[Any, Any]
MEMORY = -1  # the root of what lies in the run's own memory


class Places:
    """scalars_at, results_at: bytes from the start of memory; memory, scratch: bytes of each."""

    def __init__(
        self, layout: Layout, reads: Sequence[str], steps: int, scalars: int, bases: int
    ) -> None:
        self.layout = layout
        near = layout.scratch <= SMALL
        self.state = STATE + 2 * steps
        self.scalars_at = 8 * self.state
        self.bases_at = self.scalars_at + 8 * scalars
        self.results_at = rounded(self.bases_at + 8 * bases)
        scratch_at = self.results_at + rounded(layout.block)
        self.memory = scratch_at + (layout.scratch if near else 0)
        self.scratch = 0 if near else layout.scratch
        outside = [*reads, *layout.own]
        self.pairs: list[tuple[int, int]] = [(MEMORY, 0)]
        self.slots: dict[str, int] = {}
        for root, name in enumerate(outside):
            self._place(name, root, 0)
        for name, offset in layout.shared.items():
            self._place(name, MEMORY, self.results_at + offset)
        for name, offset in layout.offsets.items():
            self._place(name, *((MEMORY, scratch_at + offset) if near else (len(outside), offset)))

    def _place(self, name: str, root: int, offset: int) -> None:
        self.slots[name] = len(self.pairs)
        self.pairs.append((root, offset))

    def groups(self, groups: Mapping[tuple[int, str], Sequence[str]]) -> dict[tuple[int, str], int]:
        """Slots in a row for each group of copies: the first of each."""
        found = {}
        for key, members in groups.items():
            found[key] = len(self.pairs)
            self.pairs += [self.pairs[self.slots[member]] for member in members]
        return found

    def table(self) -> Array:
        flat = [item for pair in self.pairs for item in pair]
        return np.array([self.state, self.scalars_at, self.bases_at, *flat], np.int64)


def base_count(
    reads: Sequence[str], layout: Layout, groups: Mapping[tuple[int, str], Sequence[str]]
) -> int:
    own = len(layout.own) + len(layout.shared) + len(layout.offsets)
    return 1 + len(reads) + own + sum(map(len, groups.values()))
