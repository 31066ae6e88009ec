"""The first NaN or infinity of a run, forward and backward, and the operands that made it.

In: `Observed`. Out: at most one finding for the forward and one for the backward. May not know: what
an op computes; it looks at which operands were finite.

An infinity among the inputs is how masks are written, so it is no finding by itself; what it makes is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from logosnb.diagnosis.finding import Array, Finding, Observed, element_name
from logosnb.language import tree
from logosnb.ops.op import kind_of
from logosnb.stages.stage import Stage

KIND = "not finite"
ADVICE: Mapping[str, str] = {
    "Log": "hold its operand above zero: `x plus tiny` with a small positive tensor, or a loss that "
    "takes logits, such as `cross entropy of`.",
    "Exp": "subtract the largest element first, or use `softmax of`, which does.",
    "Sqrt": "hold what is under the root above zero: add a small positive tensor.",
    "Softmax": "look at the row that went in: +infinity or NaN in it.",
    "L2Norm": "give it a larger epsilon.",
}
OTHERWISE = "scale its operands down, normalise them (`rmsnorm of`), or run in f64."


def first_not_finite(observed: Observed) -> Iterator[Finding]:
    """The input that has NaN, else the stage that made the first NaN or infinity; then the same for
    the backward pass."""
    forward = _input(observed) or _stage(observed)
    if forward is not None:
        yield forward
    backward = _backward(observed)
    if backward is not None:
        yield backward


def _input(observed: Observed) -> Finding | None:
    for name in observed.inputs:
        array = observed.tensor(name)
        if array is not None and array.dtype.kind == "f" and np.isnan(array).any():
            where = element_name(_first(np.isnan(array)))
            line = observed.program.declared[name].line
            seen = f"the input `{name}` itself has NaN, first at {where}"
            return Finding(KIND, name, line, seen + ".", "look at where this array comes from.")
    return None


def _first(bad: Array) -> tuple[int, int]:
    row, column = np.argwhere(bad)[0]
    return int(row), int(column)


def _lost(array: Array | None, given: bool = False) -> Array | None:
    """Which elements are lost: NaN, and infinities too unless they were given so; None for none."""
    if array is None or array.dtype.kind != "f":
        return None
    bad: Array = np.isnan(array) if given else ~np.isfinite(array)
    return bad if bad.any() else None


# ---- the forward ------------------------------------------------------------------------------


def _stage(observed: Observed) -> Finding | None:
    """Infinities that come of an input's own (a mask added to scores) are passed over."""
    masked = {name for name in observed.inputs if _lost(observed.tensor(name)) is not None}
    for stage in observed.program.stages:
        from_mask = any(name in masked for _, name in stage.tensors)
        bad = _lost(observed.tensor(stage.out), given=from_mask)
        if bad is not None:
            return _made(observed, stage, bad)
        if from_mask and _lost(observed.tensor(stage.out)) is not None:
            masked.add(stage.out)
    return None


def _made(observed: Observed, stage: Stage, bad: Array) -> Finding:
    index, name = _first(bad), observed.called(stage.out)
    value = observed.values[stage.out][index]
    operands = "; ".join(_operand(observed, name, index, bad.shape) for _, name in stage.tensors)
    seen = (
        f"{stage.op} makes the first one of the forward pass: {name} is {_number(value)} at "
        f"{element_name(index)} ({_count(bad)}), from {operands}."
    )
    return Finding(KIND, name, stage.line, seen, ADVICE.get(stage.op, OTHERWISE))


def _count(bad: Array) -> str:
    count = int(bad.sum())
    return f"{count} of {bad.size} elements"


def _operand(observed: Observed, name: str, index: tuple[int, int], shape: tuple[int, ...]) -> str:
    """The operand's element, or the row or column that went into an element of the result."""
    array = observed.tensor(name)
    name = observed.called(name)
    if array is None:
        return name
    if array.shape == shape:
        return f"{name} = {_number(array[index])} there"
    if array.shape[0] == shape[0]:
        return f"row {index[0] + 1} of {name}: {_span(array[index[0]])}"
    if array.shape[1] == shape[1]:
        return f"column {index[1] + 1} of {name}: {_span(array[:, index[1]])}"
    return f"{name}: {_span(array)}"


def _span(array: Array) -> str:
    if not np.isfinite(array).all():
        return f"{int((~np.isfinite(array)).sum())} of its elements are NaN or Inf"
    return f"from {_number(array.min(initial=0))} to {_number(array.max(initial=0))}"


def _number(value: float) -> str:
    return f"{value:.4g}"


# ---- the backward -----------------------------------------------------------------------------


def _backward(observed: Observed) -> Finding | None:
    """The first tensor of the derived program that is lost although the stage whose rule it is has a
    finite result, or whatever comes first where the forward was lost already."""
    derived = observed.backward
    if derived is None:
        return None
    above = derived.forward.first_line + len(derived.forward.source.rstrip("\n").split("\n"))
    for statement in derived.program.main:
        number = statement.position.line - above  # the line of the backward's own text
        bad = _lost(observed.tensor(_bound(statement) or ""))
        if number >= 1 and bad is not None:
            return _made_backward(observed, str(_bound(statement)), number, bad)
    return None


def _bound(statement: tree.Statement) -> str | None:
    """The tensor that a statement of Main binds."""
    if isinstance(statement, tree.Declare):
        return statement.name
    return statement.out if isinstance(statement, Stage) else None


def _made_backward(observed: Observed, name: str, number: int, bad: Array) -> Finding:
    derived = observed.backward
    assert derived is not None
    index, line = _first(bad), derived.origins[number - 1]
    stage = next((s for s in observed.program.stages if s.line == line), None)
    text = _writing_line(derived.source, name, number)
    seen = (
        f"the first one of the backward pass: {name} is {_number(observed.values[name][index])} at "
        f"{element_name(index)} ({_count(bad)}), by line {text}{_rule(observed, stage, index, bad)}."
    )
    advice = ADVICE.get(stage.op, OTHERWISE) if stage else OTHERWISE
    return Finding(f"{KIND}, backward", name, line, seen, advice)


def _rule(observed: Observed, stage: Stage | None, index: tuple[int, int], bad: Array) -> str:
    """The stage whose rule made it, with the values of its operands, its result and its cotangent."""
    if stage is None:
        return ""
    named = [name for hole, name in stage.tensors if kind_of(hole) == "tensor"]
    parts = [_operand(observed, name, index, bad.shape) for name in [*named, stage.out]]
    cotangent = observed.backward.cotangents.get(stage.out) if observed.backward else None
    if cotangent:
        parts.append(_operand(observed, cotangent, index, bad.shape))
    return f", the rule of {stage.op} (line {stage.line}), from {'; '.join(parts)}"


def _writing_line(source: str, name: str, number: int) -> str:
    """The number and text of the line that writes the tensor's elements, or binds it."""
    lines = source.splitlines()
    for later, text in enumerate(lines[number - 1 :], number):
        if f" of {name} to " in text:
            return f"{later} of the backward, `{text.strip()}`"
    return f"{number} of the backward, `{lines[number - 1].strip()}`"
