"""Vanishing and exploding gradients: how the size of the cotangent changes from stage to stage.

In: `Observed`. Out: a finding where the size changes by more than FACTOR along the longest path from
the output back. May not know: why an op shrinks or grows a gradient.

The size is the root mean square, which does not grow with the number of elements as the norm does. The
path begins at the first tensor that is no single number: before it stands the mean of a loss.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from logosnb.diagnosis.finding import Finding, Observed, root_mean_square
from logosnb.ops.table import TABLE

FACTOR = 1e4
FEWEST = 4  # tensors on a path; over fewer a factor says little


def saturates(op: str) -> bool:
    return op in TABLE and TABLE[op].steepness is not None


@dataclass(frozen=True)
class Point:
    """A tensor on the path: its name as a person knows it, the size of its cotangent, and the stage that
    reads it."""

    tensor: str
    size: float
    line: int
    op: str


def changing_norms(observed: Observed) -> Iterator[Finding]:
    points = path(observed)
    if len(points) < FEWEST or not points[0].size:
        return
    sized = [point for point in points if point.size]
    smallest, largest = min(sized, key=lambda p: p.size), max(sized, key=lambda p: p.size)
    if sized[0].size > FACTOR * smallest.size:
        yield _finding("vanishing gradient", sized[: sized.index(smallest) + 1])
    elif largest.size > FACTOR * sized[0].size:
        yield _finding("exploding gradient", sized[: sized.index(largest) + 1])


def path(observed: Observed) -> list[Point]:
    """The longest path of finite cotangents from the output back to a tensor of wrt or an input."""
    depth: dict[str, int] = {}
    before: dict[str, str] = {}
    makers = {stage.out: stage for stage in observed.program.stages}
    for stage in observed.program.stages:
        read = [name for _, name in stage.tensors if _size(observed, name) is not None]
        if read and stage.out not in read:
            before[stage.out] = max(read, key=lambda name: depth.get(name, 0))
            depth[stage.out] = depth.get(before[stage.out], 0) + 1
    name: str | None = observed.output
    found: list[Point] = []
    via = None
    while name is not None and len(found) <= len(makers):
        size = _size(observed, name)
        if size is not None and observed.program.shapes[name] != (1, 1):
            found.append(
                Point(observed.called(name), size, via.line if via else 0, via.op if via else "")
            )
        via = makers.get(name)
        name = before.get(name)
    return found


def _size(observed: Observed, name: str) -> float | None:
    array = observed.cotangent(name)
    finite = array is not None and bool(np.isfinite(array).all())
    return root_mean_square(array) if finite and array is not None else None


def _finding(kind: str, points: list[Point]) -> Finding:
    first, last = points[0], points[-1]
    falls = kind == "vanishing gradient"
    pairs = list(zip(points, points[1:]))
    worst = (min if falls else max)(pairs, key=lambda pair: pair[1].size / pair[0].size)
    share = worst[1].size / worst[0].size
    word = "falls" if falls else "grows"
    seen = (
        f"from {first.tensor} back to {last.tensor}, over {len(pairs)} stages, the gradient's root mean "
        f"square {word} from {first.size:.3g} to {last.size:.3g}; most at line {worst[1].line}, "
        f"{worst[1].op}, by ×{share:.3g}."
    )
    return Finding(kind, last.tensor, worst[1].line, seen, _advice(falls, points, worst[1].op))


def _advice(falls: bool, points: list[Point], worst_op: str) -> str:
    if not falls:
        return (
            "begin with smaller weights (about 1/√rows of each), normalise between the layers "
            "(`rmsnorm of`), or lower the step."
        )
    if worst_op == "Softmax":
        return (
            "a softmax that is sure passes almost nothing: scale its logits down; near the least loss "
            "it is as it should be."
        )
    saturating = sorted({point.op for point in points if saturates(point.op)})
    if saturating:
        return (
            f"{' and '.join(saturating)} shrinks every gradient: use relu or gelu there, add the "
            "layer's input to its output (`x plus`), or normalise (`rmsnorm of`)."
        )
    return (
        "begin with larger weights (about 1/√rows of each), add the layer's input to its output "
        "(`x plus`), or normalise (`rmsnorm of`)."
    )
