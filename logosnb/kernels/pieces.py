"""Cuts the steps of a segment into pieces, and adds what pieces gather apart.

In: kernels in order, the number of threads. Out: `Cut`: the steps, into how many pieces each is cut, and
which copies of a tensor its pieces take. May not know: memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from logosnb.kernels import threads
from logosnb.kernels.adding import adding
from logosnb.kernels.kernel import Kernel
from logosnb.kernels.workshop import Workshop


@dataclass
class Cut:
    """kernels and counts: the steps, with how many pieces; groups: (step, tensor) to the tensor and the
    copies of it that later pieces take in its place; copies: copy to what it is one of."""

    kernels: list[Kernel] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    groups: dict[tuple[int, str], list[str]] = field(default_factory=dict)
    copies: dict[str, str] = field(default_factory=dict)

    def touched(self, step: int) -> tuple[str, ...]:
        """Every tensor and copy that a step touches."""
        own = self.kernels[step].tensors
        return (*own, *(name for tensor in own for name in self.groups.get((step, tensor), ())))

    @property
    def shared_work(self) -> float:
        """Simple statements in steps that are cut."""
        return sum(k.operations for k, count in zip(self.kernels, self.counts) if count > 1)


def cut(kernels: Sequence[Kernel], shop: Workshop) -> Cut:
    """The steps for as many threads as this process may use."""
    found = Cut()
    for kernel in kernels:
        count = kernel.pieces(threads.count(), shop.items)
        step = _add(kernel, count, found)
        for name in kernel.summed if count > 1 else ():
            copies = [f"{name}, copy {piece} of step {step}" for piece in range(1, count)]
            found.copies |= dict.fromkeys(copies, name)
            adder = adding(name, copies, shop)
            for taker in (step, _add(adder, adder.pieces(threads.count(), shop.items), found)):
                found.groups[taker, name] = [name, *copies]
    return found


def _add(kernel: Kernel, count: int, found: Cut) -> int:
    found.kernels.append(kernel)
    found.counts.append(count)
    return len(found.kernels) - 1
