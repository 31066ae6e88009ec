"""A stage written back as the statement of LOGOS that it is.

In: a stage, a name for its result, names for its operands. Out: one sentence. May not know: rules.
"""

from __future__ import annotations

from collections.abc import Mapping

from logosnb.ops.phrase import fill
from logosnb.ops.template import written
from logosnb.stages.stage import Stage


def statement_text(stage: Stage, out: str, tensors: Mapping[str, str]) -> str:
    """`Let out be <the op's phrase over the given tensors>.`"""
    operands = {hole: written(value) for hole, value in stage.operands.items()} | dict(tensors)
    return f"Let {out} be {fill(stage.definition.phrases[0], operands)}."
