"""What an op is: one frozen block that says everything about it.

In: nothing. Out: `Op`, `Example`, `Shape` and the exceptions that a shape rule or a meaning
raises. May not know: trees, stages, kernels.

The texts of a block
--------------------
`phrase`      the wording: `{name}` is an operand, `[…]` may be left out, ` / ` inside brackets
              separates alternatives. What kind of operand a hole takes follows from its name
              (`KINDS`); a name not listed there is a tensor.
`expansion`   LOGOS loops that compute the result `{y}` from the operands.
`adjoint`     for each operand, or for several that share work (`"x r w"`), LOGOS that binds
              `{dx}` (`{dr}`, `{dw}`), the gradient of that operand, from `{dy}`, the cotangent of
              the result. A text that is only a hole (`"{dy}"`) hands that tensor on as it is.

Holes in these texts: `{x}` an operand (a tensor's name, or the number given), `{y}` the result,
`{dy}`, `{dx}`; `{x.rows}`, `{x.columns}`, `{x.size}`, `{x.kind}` sizes and element type of a
tensor (`{y.rows}` too); any key of `sizes`. `[w| …]` stays only where operand `w` is given,
`[!w| …]` only where it is not; `[dx| …]` only where that gradient is wanted, `[dx or dw| …]` where
either is. Guards stand in a line or round whole lines, and may nest. Other names that a text binds
are its own: the transform renames them where the program has them already.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]
Operands = SimpleNamespace  # tensors as Shape, numbers as numbers, None where left out


class Shape(NamedTuple):
    rows: int
    columns: int

    def __str__(self) -> str:
        return f"{self.rows} by {self.columns}"


# What a hole takes, by its name. "count" is an Int literal or constant; "number" an Int or Real
# constant of either sign; "row" an Int literal or the name of an Int; "ints" an Int tensor.
KINDS: Mapping[str, str] = {
    "heads": "count",
    "key_heads": "count",
    "window": "count",
    "chunk": "count",
    "chosen": "count",
    "experts": "count",
    "first": "count",
    "last": "count",
    "every": "count",
    "shift": "count",
    "factor": "number",
    "scale": "number",
    "cap": "number",
    "epsilon": "number",
    "multiplier": "whole",
    "low": "whole",
    "high": "whole",
    "position": "row",
    "indices": "ints",
    "targets": "ints",
    "lookup": "ints",
}


def kind_of(hole: str) -> str:
    """The kind of operand that a hole takes: "tensor", "ints", "count", "whole", "number" or "row"."""
    return KINDS.get(hole, "tensor")


class Mismatch(Exception):
    """Raised by a shape rule: `reason` may name holes, `{a}`, which the lifter fills with names."""

    def __init__(self, reason: str, *holes: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.holes = holes  # the tensors whose names and shapes the error shows


class OpError(Exception):
    """Raised by a meaning for values it cannot take; `{table}` in `reason` is filled with the name."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def require(condition: bool, reason: str, *holes: str) -> None:
    """Raise Mismatch unless `condition` holds."""
    if not condition:
        raise Mismatch(reason, *holes)


Rows = list[list[float]]


@dataclass(frozen=True)
class Example:
    """A worked example small enough to check by hand.

    statement: one LOGOS statement binding `y` (or a `Set rows …` on `t`); inputs: each tensor as
    rows (Int tensors hold ints only where the hole's kind is "ints" or `integers` lists them);
    value: the result; cotangent and grads: the gradient of Σ value ⊙ cotangent, for each operand
    that has one. setup: lines before the statement, e.g. "Let p be 2."
    """

    statement: str
    inputs: Mapping[str, Rows]
    value: Rows
    cotangent: Rows | None = None
    grads: Mapping[str, Rows] = field(default_factory=dict)
    integers: tuple[str, ...] = ()
    setup: str = ""
    note: str = ""


@dataclass(frozen=True)
class NoGradient:
    """Why an op has no derivative at all: it is a step function of its inputs."""

    why: str


NOT_DERIVED = "not derived"


@dataclass(frozen=True, kw_only=True)
class Op:
    """One op, whole. See the file header for the texts.

    shape: from the operands (tensors as Shape, numbers as numbers, None where left out) to the
    result's Shape; raises Mismatch. meaning: NumPy in f64 (int64 for Int tensors), keyword
    arguments named as the holes, defaults filled in, each tensor a C-contiguous 2-D array that it
    must not write to; gives a new 2-D array; raises OpError. kind: "Real", "Int", or the holes
    whose common type the result has (Int only where all are). sizes: further numbers for the texts.
    adjoint: see header; operands without an entry are left alone (their tensors are not differentiated).
    broadcasts: operands whose adjoint has the result's shape and is summed back by the transform.
    reads: what the adjoint's texts read is found from their holes. writes: for `Set …` ops the hole
    that is written. spelling: the result of Real operands as one Python expression that NumPy, PyTorch
    and JAX share, `{xp}` the library, for exported files; left out, they write the expansion.
    """

    name: str
    phrase: str | tuple[str, ...]
    about: str
    shape: Callable[[Operands], tuple[int, int]]
    meaning: Callable[..., Array]
    expansion: str
    adjoint: Mapping[str, str] | NoGradient | str
    formula: str
    examples: tuple[Example, ...]
    kind: str | tuple[str, ...] = "Real"
    defaults: Mapping[str, Any] = field(default_factory=dict)
    sizes: Callable[[Operands], Mapping[str, Any]] = lambda operands: {}
    broadcasts: tuple[str, ...] = ()
    writes: str | None = None
    composition: str = ""  # the same as statements of other ops, for kernels: products go to BLAS
    spelling: str = ""
    steepness: Callable[..., Array] | None = None  # of an op that saturates: slope at y / steepest
    integers: tuple[str, ...] = ()  # tensor holes that must be Int tensors (x of `requantized`, …)

    @property
    def phrases(self) -> tuple[str, ...]:
        return (self.phrase,) if isinstance(self.phrase, str) else self.phrase
