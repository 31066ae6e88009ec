"""What depends on what, and which value of a tensor a stage read.

In: a program's stages. Out: for each stage the versions that it read and made, and which tensors
of `wrt` each version depends on. May not know: the text of any rule.

`Set rows …` makes a new version of its tensor; a rule runs after the whole forward and finds the
last one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from logosnb.ops.op import NoGradient, kind_of
from logosnb.stages.stage import Stage

Version = tuple[str, int]


@dataclass(frozen=True)
class Step:
    """One stage with the versions of its operands, of the tensor it made, and of what it replaced."""

    stage: Stage
    reads: Mapping[str, Version]  # hole to version
    makes: Version

    def wanted(self, holes: Iterable[str], reached: Mapping[Version, frozenset[str]]) -> list[str]:
        """Those of the holes whose gradient some tensor of wrt needs."""
        return [h for h in holes if h in self.reads and reached.get(self.reads[h])]


def steps(stages: Iterable[Stage]) -> tuple[tuple[Step, ...], Mapping[str, int]]:
    """Each stage with its versions, and the last version of every tensor that has more than one."""
    latest: dict[str, int] = {}
    found = []
    for stage in stages:
        reads = {hole: (name, latest.get(name, 0)) for hole, name in stage.tensors}
        if stage.definition.writes is not None:
            latest[stage.out] = latest.get(stage.out, 0) + 1
        found.append(Step(stage, reads, (stage.out, latest.get(stage.out, 0))))
    return tuple(found), latest


def differentiated(stage: Stage) -> frozenset[str]:
    """The holes of a stage through which a gradient flows, or would if the op had one."""
    adjoint = stage.definition.adjoint
    tensors = [hole for hole, _ in stage.tensors]
    if isinstance(adjoint, NoGradient):
        return frozenset(tensors)
    if isinstance(adjoint, str):
        return frozenset(hole for hole in tensors if kind_of(hole) == "tensor")
    ruled = {hole for key in adjoint for hole in key.split()}
    return frozenset(hole for hole in tensors if hole in ruled)


@dataclass(frozen=True)
class Reach:
    """Which names of wrt a version depends on: `real` by differentiated operands, `any` at all."""

    real: Mapping[Version, frozenset[str]]
    any: Mapping[Version, frozenset[str]]


def reach(found: Iterable[Step], wrt: Iterable[str]) -> Reach:
    start: dict[Version, frozenset[str]] = {(name, 0): frozenset({name}) for name in wrt}
    real, every = dict(start), dict(start)
    for step in found:
        ruled = differentiated(step.stage)
        flows = [version for hole, version in step.reads.items() if hole in ruled]
        real[step.makes] = _union(real, flows) | start.get(step.makes, frozenset())
        every[step.makes] = (
            _union(every, step.reads.values())
            | _row_names(step.stage, start)
            | start.get(step.makes, frozenset())
        )
    return Reach(real, every)


def _union(known: Mapping[Version, frozenset[str]], versions: Iterable[Version]) -> frozenset[str]:
    return frozenset().union(*(known.get(version, frozenset()) for version in versions))


def _row_names(stage: Stage, start: Mapping[Version, frozenset[str]]) -> frozenset[str]:
    """Int names that serve as row numbers, where wrt asks for them."""
    return _union(start, [(name, 0) for name in row_names(stage)])


def row_names(stage: Stage) -> Iterator[str]:
    for hole, value in stage.operands.items():
        if kind_of(hole) == "row" and isinstance(value, str):
            yield value


def leading_to(output: Version, found: Sequence[Step]) -> Iterator[Step]:
    """The steps that the output's value comes from, the last one first."""
    needed = {output}
    for step in reversed(found):
        if step.makes in needed:
            needed |= set(step.reads.values())
            yield step


def untouched(step: Step) -> Iterator[tuple[str, Version]]:
    """(kind, version) of every operand that the stage's rule leaves alone; kind "tensor" or "ints"."""
    ruled = differentiated(step.stage)
    for hole, version in step.reads.items():
        if hole not in ruled:
            yield kind_of(hole), version
    for name in row_names(step.stage):
        yield "ints", (name, 0)
