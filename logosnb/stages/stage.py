"""A stage: one op applied to named tensors, as a statement of the resolved tree.

In: nothing. Out: `Stage`, `Declaration`. May not know: how stages are found, run or differentiated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from logosnb.language.tree import Statement
from logosnb.ops.op import Op, Shape, kind_of

Operand = str | int | float  # a tensor or Int name, or a number


@dataclass(frozen=True)
class Declaration:
    """`Let name be a rows by columns tensor of kind.`"""

    name: str
    shape: Shape
    kind: str  # "Real" or "Int"
    line: int


@dataclass(frozen=True)
class Stage(Statement):
    """`Let out be <op of operands>.`, or the op that writes rows of `out`.

    op: the op's name in the table; definition: its block. operands: hole to tensor name, to number
    (constants are resolved), or for a "row" hole to an int or the name of an Int; what was left out
    is absent. shape: of the result, None inside functions, where shapes are known at run time.
    kind: "Real" or "Int". fresh: bound for an operand in parentheses, not by the program's text.
    text: the statement as the program says it.
    """

    op: str
    definition: Op = field(repr=False, compare=False)
    out: str
    operands: Mapping[str, Operand]
    shape: Shape | None
    kind: str
    text: str = field(default="", compare=False)
    fresh: bool = False

    @property
    def line(self) -> int:
        return self.position.line

    @property
    def tensors(self) -> tuple[tuple[str, str], ...]:
        """(hole, tensor name) of every tensor operand, in the order of the phrase."""
        return tuple(
            (hole, str(name))
            for hole, name in self.operands.items()
            if kind_of(hole) in ("tensor", "ints")
        )
