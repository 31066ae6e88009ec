"""A program that is parsed, resolved and checked: what every later folder reads.

In: the tree and what the resolver found. Out: `Program`. May not know: gradients, how it is run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from logosnb.language.printer import print_source
from logosnb.language.tree import Function, Source, Statement
from logosnb.ops.op import Shape
from logosnb.stages.stage import Declaration, Stage


@dataclass(frozen=True, eq=False)
class Program:
    """A LOGOS program.

    tree: as parsed. main and functions: the resolved tree, where each op statement has become one
    `Stage` (or several: operands in parentheses are bound to fresh names first); every other
    statement is as in `language.tree`. stages: those of Main outside loops and branches, in order.
    declared: tensor name to Declaration. shapes: rows and columns of every tensor of Main. kinds:
    "Real" or "Int" for each of those. constants: Int and Real names of Main bound once, outside
    blocks, to a constant. inputs: the tensors that must be supplied. optional: declared tensors
    that are also written, zeros unless supplied. unrecognized: (line, text) of each statement that
    is no stage, declaration, constant or Show. memo: what later folders keep for this program, so that
    it is derived and compiled once. Equal to any program that says the same, comments aside.
    """

    tree: Source
    main: tuple[Statement, ...]
    functions: Mapping[str, Function]
    stages: tuple[Stage, ...]
    declared: Mapping[str, Declaration]
    shapes: Mapping[str, Shape]
    kinds: Mapping[str, str]
    constants: Mapping[str, int | float]
    inputs: tuple[str, ...]
    optional: tuple[str, ...]
    unrecognized: tuple[tuple[int, str], ...]
    source: str = field(repr=False)
    first_line: int = 1
    memo: dict[object, Any] = field(default_factory=dict, repr=False)

    def __str__(self) -> str:
        return print_source(self.tree)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Program) and self.tree == other.tree

    def __hash__(self) -> int:
        return hash(self.tree)
