"""What a diagnosis says: findings, each with its place, what was seen and what to try.

In: nothing. Out: `Finding`, `Diagnosis`, and `Observed`, what the detectives look at. May not know:
how anything is detected or shown in a notebook.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from logosnb.gradient.backward import Backward
from logosnb.stages.program import Program

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong, or may be.

    kind: a few words that name it, the same for every finding of its sort; tensor; line: of the forward
    program, 0 where no line is meant; seen: what was seen, a sentence; advice: what to try, a sentence.
    """

    kind: str
    tensor: str
    line: int
    seen: str
    advice: str

    def __str__(self) -> str:
        where = f"line {self.line}, " if self.line else ""
        return f"{self.kind}: {where}{self.tensor}\n    {self.seen}\n    Try: {self.advice}"


@dataclass(frozen=True)
class Diagnosis:
    """The findings, the most alarming first."""

    findings: tuple[Finding, ...]

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    def of(self, kind: str) -> tuple[Finding, ...]:
        """The findings of one kind."""
        return tuple(finding for finding in self.findings if finding.kind == kind)

    def __str__(self) -> str:
        return "\n".join(map(str, self.findings)) or "nothing found that looks wrong"


@dataclass(frozen=True)
class Observed:
    """A run to be looked at.

    values: every tensor by name, forward and backward, as the run left them; inputs: what was given;
    backward and output: None where no gradient was computed.
    """

    program: Program
    values: Mapping[str, Any]
    inputs: Mapping[str, Any]
    backward: Backward | None = None
    output: str | None = None

    def tensor(self, name: str) -> Array | None:
        """A tensor's value; None for what is none or what the run did not bind."""
        value = self.values.get(name)
        return value if isinstance(value, np.ndarray) else None

    def called(self, name: str) -> str:
        """A tensor as a person knows it: the text has no name for an operand in parentheses."""
        for stage in self.program.stages:
            if stage.fresh and stage.out == name:
                return f"the {stage.op} inside line {stage.line}"
        return name

    def cotangent(self, name: str) -> Array | None:
        """The gradient that reached a tensor of the forward; None where none did."""
        if self.backward is None or name not in self.backward.cotangents:
            return None
        return self.tensor(self.backward.cotangents[name])


def element_name(index: tuple[int, ...]) -> str:
    """`row 2, column 3`, counted from one."""
    return f"row {index[0] + 1}, column {index[1] + 1}"


def root_mean_square(array: Array) -> float:
    """Of the finite elements, without overflow; 0 where there are none."""
    finite = np.abs(array[np.isfinite(array)].astype(np.float64))
    largest = float(finite.max(initial=0.0))
    return largest * float(np.sqrt(np.mean((finite / largest) ** 2))) if largest else 0.0


def verb(count: int, one: str, many: str) -> str:
    return one if count == 1 else many
