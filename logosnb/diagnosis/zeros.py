"""Gradients of nothing but zeros, told apart: disconnected, underflowed in f32, exactly zero.

In: `Observed`. Out: a finding for each tensor of wrt whose gradient is zero. May not know: rules.

What underflowed is found by running the derived program again, in f64.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from logosnb.diagnosis.finding import Array, Finding, Observed
from logosnb.running import run
from logosnb.stages.stage import Stage


def zero_gradients(observed: Observed) -> Iterator[Finding]:
    derived = observed.backward
    if derived is None:
        return
    silent = [t for t, name in derived.grads.items() if _is_zero(observed.tensor(name))]
    wide = _in_f64(observed) if any(t in derived.cotangents for t in silent) else {}
    for tensor in silent:
        yield _told_apart(observed, tensor, wide)


def _is_zero(array: Array | None) -> bool:
    return array is not None and array.size > 0 and not array.any()


def _in_f64(observed: Observed) -> Mapping[str, Any]:
    """The same run in f64, where this one was in f32; else nothing."""
    derived = observed.backward
    assert derived is not None
    given = {
        name: observed.inputs.get(name, observed.values.get(name))
        for name in {*derived.program.inputs, *observed.inputs}
    }
    narrow = any(
        isinstance(value, np.ndarray) and value.dtype == np.float32
        for value in observed.values.values()
    )
    return run(derived.program, given) if narrow else {}


def _told_apart(observed: Observed, tensor: str, wide: Mapping[str, Any]) -> Finding:
    derived = observed.backward
    assert derived is not None
    line = _line_of(observed, tensor)
    if tensor not in derived.cotangents:
        seen = (
            f"{observed.output} does not depend on {tensor}: no stage leads from one to the other."
        )
        advice = "look for a misspelt name, or take it out of wrt."
        return Finding("zero gradient: disconnected", tensor, line, seen, advice)
    name = derived.grads[tensor]
    if name in wide and np.any(wide[name]):
        largest = float(np.abs(wide[name]).max())
        seen = f"every element is 0 in f32, and up to {largest:.3g} in f64: it underflowed."
        advice = "run in f64, or scale the loss up and the gradient down again."
        return Finding("zero gradient: underflow", tensor, line, seen, advice)
    return _exactly_zero(observed, tensor, line)


def _line_of(observed: Observed, tensor: str) -> int:
    if tensor in observed.program.declared:
        return observed.program.declared[tensor].line
    return next((s.line for s in observed.program.stages if s.out == tensor), 0)


def _exactly_zero(observed: Observed, tensor: str, line: int) -> Finding:
    """The stage at which the gradient died: one arrives at its result, and none goes on to the tensor."""
    silent = {tensor}
    kind = "zero gradient: exactly zero"
    for stage in observed.program.stages:
        reached = [name for _, name in stage.tensors if name in silent]
        arrived = observed.cotangent(stage.out)
        if reached and arrived is not None and arrived.any():
            advice = f"look at the values that go into line {stage.line}; see the other findings."
            return Finding(kind, tensor, line, _death(observed, stage, reached[0]), advice)
        if reached:
            silent.add(stage.out)
    seen = f"every element is exactly 0: the cotangent of {observed.output} is zero already."
    return Finding(kind, tensor, line, seen, "give a cotangent that is not zero.")


def _death(observed: Observed, stage: Stage, operand: str) -> str:
    """What is said of the stage that passes nothing on to an operand."""
    others = [name for _, name in stage.tensors if name != operand]
    zero = [observed.called(name) for name in others if _is_zero(observed.tensor(name))]
    since = f", since {zero[0]} is all 0" if zero else ""
    return (
        f"every element is exactly 0: a gradient arrives at {observed.called(stage.out)} "
        f"(line {stage.line}), and {stage.op} passes none of it on to "
        f"{observed.called(operand)}{since}."
    )
