"""A stage run: operands gathered, the op's meaning called, the result put in its place.

In: a Stage and a way to read names. Out: an array. May not know: the rest of the program.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from logosnb.language.errors import ShapeError
from logosnb.ops.op import Mismatch, OpError, Shape, kind_of
from logosnb.stages.lift import mismatch_sentence, shape_operands
from logosnb.stages.stage import Stage

Array = np.ndarray[Any, Any]


class Failure(Exception):
    """A sentence about what went wrong, that does not know its line yet."""


def apply(stage: Stage, read: Mapping[str, Any]) -> Array:
    """The result of a stage; `read` maps each name among its operands to its value."""
    definition = stage.definition
    operands: dict[str, Any] = {**definition.defaults}
    for hole, value in stage.operands.items():
        operands[hole] = _operand(stage, hole, read[value] if isinstance(value, str) else value)
    if stage.shape is None:
        _check_shapes(stage, operands)
    try:
        with np.errstate(all="ignore"):
            result = definition.meaning(**operands)
    except OpError as error:
        raise Failure(error.reason.format_map(_names(stage))) from None
    return np.ascontiguousarray(result, dtype=np.int64 if _whole(stage, operands) else np.float64)


def _whole(stage: Stage, operands: Mapping[str, Any]) -> bool:
    """Whether the result is a tensor of Int."""
    kind = stage.definition.kind
    if isinstance(kind, str):
        return kind == "Int"
    return all(operands[hole].dtype.kind == "i" for hole in kind)


def _names(stage: Stage) -> dict[str, str]:
    every = {hole: hole for hole in stage.definition.defaults}
    return every | {hole: f"`{value}`" for hole, value in stage.operands.items()}


def _operand(stage: Stage, hole: str, value: Any) -> Any:
    """Int tensors become Real where the op computes in Reals."""
    if not isinstance(value, np.ndarray) or kind_of(hole) == "ints":
        return value
    definition = stage.definition
    real = definition.kind == "Real" and hole not in definition.integers
    return value.astype(np.float64) if real and value.dtype.kind == "i" else value


def _check_shapes(stage: Stage, operands: dict[str, Any]) -> None:
    """Inside functions shapes are known only now."""
    known = {h: Shape(*v.shape) if isinstance(v, np.ndarray) else v for h, v in operands.items()}
    try:
        stage.definition.shape(shape_operands(stage.definition, known))
    except Mismatch as mismatch:
        sentence = mismatch_sentence(mismatch, stage.text, dict(stage.operands), known)
        raise ShapeError(sentence, stage.position) from None
