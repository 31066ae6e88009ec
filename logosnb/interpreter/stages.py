"""Runs a stage: one op on the tensors of a running program.

In: a Stage, and the values of the names among its operands. Out: a new 2-D, C-contiguous float64
or int64 array (an op that writes rows changes its tensor in place), or a Fault that names tensors.
May not know: Python code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from logosnb.interpreter.fault import Fault
from logosnb.interpreter.values import kind
from logosnb.language.errors import ShapeError
from logosnb.ops.op import KINDS, Mismatch, OpError, Shape, kind_of
from logosnb.stages.lift import mismatch_sentence, shape_operands
from logosnb.stages.stage import Stage

Array = np.ndarray[Any, Any]


def runner(stage: Stage) -> Callable[..., Array]:
    """A function of the values of the stage's names, in the order of its operands."""
    holes = [hole for hole, value in stage.operands.items() if isinstance(value, str)]
    fixed = {hole: value for hole, value in stage.operands.items() if not isinstance(value, str)}

    def run(*values: Any) -> Array:
        operands = {**fixed, **dict(zip(holes, values))}
        _require_kinds(stage, operands)
        if stage.shape is None:
            _require_shapes(stage, operands)
        return _finished(stage, operands, _result(stage, operands))

    return run


def _require_kinds(stage: Stage, operands: Mapping[str, Any]) -> None:
    """Tensors are tensors, and row numbers Ints: in a function only a run can tell."""
    for hole, value in operands.items():
        name = f"`{stage.operands[hole]}`"
        if kind_of(hole) in ("tensor", "ints") and not isinstance(value, np.ndarray):
            raise Fault(f"{name} must be a tensor here, and is {kind(value)}")
        if kind_of(hole) == "row" and type(value) is not int:
            raise Fault(f"{name} is a row number, an Int, and is {kind(value)} here")


def _require_shapes(stage: Stage, operands: Mapping[str, Any]) -> None:
    """The op's shape rule on the shapes of this run."""
    known: dict[str, object] = {
        hole: Shape(*value.shape) if isinstance(value, np.ndarray) else value
        for hole, value in operands.items()
    }
    try:
        stage.definition.shape(shape_operands(stage.definition, known))
    except Mismatch as mismatch:
        sentence = mismatch_sentence(mismatch, stage.text, dict(stage.operands), known)
        raise Fault(sentence, ShapeError) from None


def _result(stage: Stage, operands: Mapping[str, Any]) -> Array:
    op = stage.definition
    given = {hole: _as_read(stage, hole, value) for hole, value in operands.items()}
    try:
        with np.errstate(all="ignore"):
            return op.meaning(**{**op.defaults, **given})
    except OpError as error:
        names = {hole: f"`{value}`" for hole, value in stage.operands.items()}
        raise Fault(error.reason.format_map({hole: hole for hole in KINDS} | names)) from None


def _as_read(stage: Stage, hole: str, value: Any) -> Any:
    """An Int tensor among Real ones is read as Reals."""
    whole = kind_of(hole) == "ints" or hole in stage.definition.integers
    if stage.kind == "Int" or whole or not isinstance(value, np.ndarray):
        return value
    return value.astype(np.float64, copy=False)


def _finished(stage: Stage, operands: Mapping[str, Any], result: Array) -> Array:
    """The result as an array of the stage's kind that shares nothing with another."""
    written = stage.definition.writes
    if written is not None:
        target: Array = operands[written]
        if target.dtype.kind == "i" and result.dtype.kind != "i":
            raise Fault(f"`{stage.out}` is a tensor of Int and takes no Real rows")
        target[...] = result
        return target
    element = np.int64 if stage.kind == "Int" else np.float64
    finished = np.ascontiguousarray(result, dtype=element)
    shared = finished.base is not None or any(finished is value for value in operands.values())
    return finished.copy() if shared else finished
