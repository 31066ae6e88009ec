"""Adds up what the pieces of a kernel gathered apart, in the order of the pieces.

In: a tensor and the copies of it. Out: a Kernel. May not know: what was gathered.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from logosnb.kernels.build import source_of
from logosnb.kernels.kernel import Kernel
from logosnb.kernels.workshop import Workshop

if TYPE_CHECKING:
    from logosnb.kernels.native import reals32


def add_up(bases: Any, scalars: Any, words: Any, first: int, last: int, piece: int) -> int:
    """Items first … last of every copy, added to the tensor. words: its slot, which those of the copies
    follow; how many they are."""
    y = reals32(bases[words[0]])
    for copy in range(1, words[1] + 1):
        x = reals32(bases[words[0] + copy])
        for k in range(first - 1, last):
            y[k] += x[k]
    return 0


def adding(name: str, copies: Sequence[str], shop: Workshop) -> Kernel:
    text = source_of(add_up)
    if shop.kinds[name] == "Int":
        text = text.replace("reals32", "ints")
    elif shop.dtype == "f64":
        text = text.replace("reals32", "reals64")
    shape = shop.shapes[name]
    size = shape.rows * shape.columns
    return Kernel(
        f"sum of {len(copies) + 1} pieces of {name}",
        (),
        text,
        text,
        (name,),
        frozenset((name,)),
        (1, size),
        float(size * len(copies)),
        shop.bytes(name) * (len(copies) + 1),
        literals=(len(copies),),
    )
