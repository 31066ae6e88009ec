"""Units that pass no gradient, rows that are masked whole, choices that a rounding error may turn.

In: `Observed`. Out: findings, a stage at most one of each kind. May not know: gradients; all of this
shows in the values of the forward pass.

A unit is a column: it is dead or saturated where it is so in every row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from logosnb.diagnosis.finding import Array, Finding, Observed, verb
from logosnb.stages.stage import Stage

FLAT = 0.01  # a slope below this share of the steepest counts as saturated
ENOUGH_ROWS = 8  # below this some units are silent by chance: only a whole dead layer is told


def silent_units(observed: Observed) -> Iterator[Finding]:
    """Relus that are 0 in every row, and sigmoids, tanhs and softcaps on the flat in every row."""
    for stage in observed.program.stages:
        y = observed.tensor(stage.out)
        if y is None or not y.size or not np.isfinite(y).all():
            continue
        if stage.op == "Relu":
            yield from _dead(observed, stage, y)
        elif stage.definition.steepness is not None:
            yield from _saturated(observed, stage, y)


def _tells(silent: Array, rows: int) -> bool:
    return bool(silent.all() or (silent.any() and rows >= ENOUGH_ROWS))


def _dead(observed: Observed, stage: Stage, y: Array) -> Iterator[Finding]:
    silent: Array = np.all(y == 0, axis=0)
    if not _tells(silent, len(y)):
        return
    x = observed.tensor(str(stage.operands["x"]))
    highest = float(x[:, silent].max()) if x is not None else 0.0
    seen = (
        f"{_units(silent)} of the relu {verb(int(silent.sum()), 'is', 'are')} 0 in every one of {len(y)} "
        f"rows, so no gradient passes; the largest element that went into them is {highest:.3g}."
    )
    advice = (
        "a smaller step, biases that begin at or above 0, `leaky square of` or `gelu of` in place of "
        "relu, or inputs that are centred."
    )
    yield Finding("dead units", observed.called(stage.out), stage.line, seen, advice)


def _steepness(stage: Stage, y: Array) -> Array:
    """The slope of a saturating op where its result is y, as a share of the steepest."""
    assert stage.definition.steepness is not None
    numbers = {h: float(v) for h, v in stage.operands.items() if not isinstance(v, str)}
    return stage.definition.steepness(y, **numbers)


def _saturated(observed: Observed, stage: Stage, y: Array) -> Iterator[Finding]:
    silent: Array = np.all(_steepness(stage, y) < FLAT, axis=0)
    if not _tells(silent, len(y)):
        return
    seen = (
        f"{_units(silent)} of {stage.op} {verb(int(silent.sum()), 'is', 'are')} on the flat in every one "
        f"of {len(y)} rows: the slope is below {FLAT:.0%} of the steepest."
    )
    advice = "smaller weights before it, normalised inputs (`rmsnorm of`), or a larger cap for a softcap."
    yield Finding("saturated units", observed.called(stage.out), stage.line, seen, advice)


def _units(silent: Array) -> str:
    numbers = [int(n) + 1 for n in np.flatnonzero(silent)]
    listed = ", ".join(map(str, numbers[:5])) + (" …" if len(numbers) > 5 else "")
    word = verb(len(numbers), "unit", "units")
    return f"{len(numbers)} of {silent.size} {word} ({verb(len(numbers), 'column', 'columns')} {listed})"


# ---- masked rows ------------------------------------------------------------------------------

LOGITS: Mapping[str, str] = {"Softmax": "x", "CrossEntropy": "z"}


def masked_rows(observed: Observed) -> Iterator[Finding]:
    """Rows of −infinity alone that go into a softmax, and rows of attention that come out empty."""
    for stage in observed.program.stages:
        rows = _masked(observed, stage)
        if rows is None or not rows.any():
            continue
        listed = ", ".join(str(int(n) + 1) for n in np.flatnonzero(rows)[:5])
        count = int(rows.sum())
        seen = (
            f"{count} of {rows.size} {verb(count, 'row', 'rows')} that {stage.op} reads "
            f"{verb(count, 'is', 'are')} masked whole (row {listed}): nothing to choose from, and zeros."
        )
        advice = "let each row see at least itself, or leave such rows out of the loss."
        yield Finding("masked row", observed.called(stage.out), stage.line, seen, advice)


def _masked(observed: Observed, stage: Stage) -> Array | None:
    if stage.op in LOGITS:
        logits = observed.tensor(str(stage.operands[LOGITS[stage.op]]))
        return None if logits is None else np.asarray(np.isneginf(logits).all(axis=1))
    if "Attention" in stage.op and "v" in stage.operands:
        y, v = observed.tensor(stage.out), observed.tensor(str(stage.operands["v"]))
        if y is not None and v is not None and (v != 0).any(axis=1).all():
            return np.asarray((y == 0).all(axis=1))
    return None


# ---- ties -------------------------------------------------------------------------------------


def ties(observed: Observed) -> Iterator[Finding]:
    """Rows whose argmax, or whose last chosen expert, is decided by order alone."""
    for stage in observed.program.stages:
        chosen = _choice(observed, stage)
        if chosen is None:
            continue
        scores, count = chosen
        rows = _tied(scores, count)
        if rows.any():
            yield _tie(observed, stage, rows, count)


def _choice(observed: Observed, stage: Stage) -> tuple[Array, int] | None:
    """The scores among which a stage chooses, and how many it takes."""
    x = observed.tensor(str(stage.operands.get("x")))
    if x is None:
        return None
    if stage.op == "ArgMax":
        return x, 1
    router = observed.tensor(str(stage.operands.get("r")))
    if stage.op == "Moe" and router is not None:
        with np.errstate(all="ignore"):
            return x @ router, int(stage.operands["chosen"])
    return None


def _tied(scores: Array, count: int) -> Array:
    """Rows in which the last that is taken equals the first that is not."""
    if scores.shape[1] <= count:
        return np.zeros(len(scores), dtype=bool)
    ordered = -np.sort(-scores, axis=1)
    same: Array = ordered[:, count - 1] == ordered[:, count]
    return same


def _tie(observed: Observed, stage: Stage, rows: Array, count: int) -> Finding:
    number = int(np.flatnonzero(rows)[0]) + 1
    what = "the largest element" if count == 1 else f"the {count} largest scores"
    tied = int(rows.sum())
    seen = (
        f"in {tied} of {rows.size} rows (first row {number}) {what} "
        f"{verb(count, 'is', 'are')} not the only one of that size: {stage.op} takes the first."
    )
    advice = (
        "do not lean on which one is chosen: a rounding error, or another backend, may turn it."
    )
    return Finding("tie", observed.called(stage.out), stage.line, seen, advice)
