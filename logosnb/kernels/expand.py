"""An op as the loops of its expansion, with the op's own words for its tensors.

In: a Stage whose shapes are known. Out: `Expansion`: the statements of its block's text over tensors
named as its holes, `y` the result. May not know: how loops are compiled.

The text is read once for each op, set of clauses and shapes; the kernels that come of it are the same
for every program and, since sizes are arguments, for every size.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from logosnb.gradient.sweep import stage_values
from logosnb.language import tree
from logosnb.language.parser import parse_source
from logosnb.ops.op import Shape, kind_of
from logosnb.ops.table import TABLE
from logosnb.ops.template import render
from logosnb.stages.stage import Stage

RESULT = "y"


@dataclass(frozen=True)
class Expansion:
    """declared: the tensors that the text makes, the result first; statements: what follows."""

    declared: tuple[tree.Declare, ...]
    statements: tuple[tree.Statement, ...]


def expansion(stage: Stage, shapes: Mapping[str, Shape], kinds: Mapping[str, str]) -> Expansion:
    """The expansion of a stage whose every row number is a literal or known."""
    operands = tuple(
        (hole, own_name(hole) if kind_of(hole) in ("tensor", "ints") else value)
        for hole, value in stage.operands.items()
    )
    tensors = tuple((hole, shapes[name], kinds[name]) for hole, name in stage.tensors)
    return _expansion(stage.op, operands, tensors, stage.shape, stage.kind)


def own_name(hole: str) -> str:
    """The name of an operand inside its op's text: no local of any text is called so."""
    return f"x_{hole}"


@lru_cache(maxsize=512)
def _expansion(
    op: str,
    operands: tuple[tuple[str, Any], ...],
    tensors: tuple[tuple[str, Shape, str], ...],
    shape: Shape,
    kind: str,
) -> Expansion:
    definition = TABLE[op]
    written = definition.writes
    out = RESULT if written is None else own_name(written)
    stage = Stage(op, definition, out, dict(operands), shape, kind)
    shapes = {own_name(hole): found for hole, found, _ in tensors}
    kinds = {own_name(hole): found for hole, _, found in tensors}
    values = stage_values(stage, shapes, kinds)
    lines = render(
        definition.expansion, values, {hole for hole, _ in operands}, lambda stem, _: stem
    )
    statements = parse_source("\n".join(lines) + "\n").main
    declared = tuple(s for s in statements if isinstance(s, tree.Declare))
    return Expansion(declared, tuple(s for s in statements if not isinstance(s, tree.Declare)))
