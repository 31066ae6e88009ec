"""An op as other ops, where its block says so: its matrix products then go to BLAS.

In: a Stage, a Workshop. Out: Stages over tensors by name. May not know:
what the ops do.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from logosnb.gradient.sweep import stage_values
from logosnb.kernels.expand import RESULT, own_name
from logosnb.kernels.workshop import Workshop
from logosnb.ops.op import Shape
from logosnb.ops.table import TABLE
from logosnb.ops.template import render
from logosnb.stages.resolve import parse
from logosnb.stages.stage import Operand, Stage


def composed(stage: Stage, shop: Workshop) -> list[Stage]:
    """The stages; none where the block has no such text."""
    if not stage.definition.composition or stage.kind == "Int":
        return []
    numbers = tuple((h, v) for h, v in stage.operands.items() if not isinstance(v, str))
    shapes = tuple((hole, shop.shapes[name]) for hole, name in stage.tensors)
    parts = _parts(stage.op, numbers, shapes)
    names = {own_name(hole): name for hole, name in stage.tensors} | {RESULT: stage.out}
    for part in parts:
        if part.out not in names:
            assert part.shape is not None
            names[part.out] = shop.tensor(part.out, part.shape, part.kind)
    return [_named(part, names, stage) for part in parts]


@lru_cache(maxsize=256)
def _parts(
    op: str, numbers: tuple[tuple[str, Operand], ...], shapes: tuple[tuple[str, Shape], ...]
) -> tuple[Stage, ...]:
    definition = TABLE[op]
    operands = {hole: own_name(hole) for hole, _ in shapes} | dict(numbers)
    by_name = {own_name(hole): shape for hole, shape in shapes}
    stage = Stage(op, definition, RESULT, operands, None, "Real")
    values = stage_values(stage, by_name, dict.fromkeys(by_name, "Real"))
    lines = render(definition.composition, values, set(operands), lambda stem, _: stem)
    declared = [f"Let {n} be a {s.rows} by {s.columns} tensor of Real." for n, s in by_name.items()]
    return parse("\n".join([*declared, *lines]) + "\n").stages


def _named(part: Stage, names: dict[str, str], whole: Stage) -> Stage:
    operands = {
        hole: names.get(value, value) if isinstance(value, str) else value
        for hole, value in part.operands.items()
    }
    return replace(part, out=names[part.out], operands=operands, position=whole.position)
