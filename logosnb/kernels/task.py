"""Tasks: what a program is made of on its way to kernels, and which may be done in another order.

In: statements without ops, matrix products. Out: `Loops`, `Product`. May not know: machine code.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from logosnb.kernels.nest import Nest
from logosnb.kernels.ranges import Ranges
from logosnb.language import tree
from logosnb.language.tree import Statement
from logosnb.stages.walk import everything

PRODUCTS_A_STATEMENT = 2.0  # multiplications of a matrix product in the time of a simple statement


@dataclass(frozen=True)
class Task:
    """serves: the op or loop that it does; lines: of the program."""

    serves: str
    lines: tuple[int, ...]

    @property
    def reads(self) -> frozenset[str]:
        """Tensors and scalars whose value it takes."""
        raise NotImplementedError

    @property
    def writes(self) -> frozenset[str]:
        """Tensors and scalars that it changes."""
        raise NotImplementedError

    def before(self, other: Task) -> bool:
        """Whether the other, which comes later, must stay later."""
        touched = self.reads | self.writes
        return bool(self.writes & other.reads or touched & other.writes)


@dataclass(frozen=True)
class Loops(Task):
    """Statements without ops."""

    nest: Nest = field(repr=False)

    @cached_property
    def reads(self) -> frozenset[str]:
        return frozenset((*self.nest.tensors, *self.nest.inputs))

    @cached_property
    def writes(self) -> frozenset[str]:
        return frozenset((*self.nest.written, *self.nest.outputs))

    @cached_property
    def operations(self) -> float:
        return work(self.nest.statements, self.nest.ranges)

    @cached_property
    def statement_count(self) -> int:
        return sum(isinstance(node, Statement) for node in everything(self.nest.statements))


@dataclass(frozen=True)
class Product(Task):
    """y = op(a) op(b), the transpose of a or b if it is turned; for each head its own part."""

    y: str
    a: str
    b: str
    rows: int
    inner: int
    columns: int
    turned_a: bool = False
    turned_b: bool = False
    heads: int = 1

    @property
    def reads(self) -> frozenset[str]:
        return frozenset((self.a, self.b))

    @property
    def writes(self) -> frozenset[str]:
        return frozenset((self.y,))

    @property
    def multiplications(self) -> int:
        return self.heads * self.rows * self.inner * self.columns

    @property
    def operations(self) -> float:
        return self.multiplications / PRODUCTS_A_STATEMENT


def work(statements: tuple[Statement, ...], ranges: Ranges) -> float:
    """How many simple statements run, as far as the text tells."""
    return sum(_work(statement, ranges) for statement in statements)


def _work(statement: Statement, ranges: Ranges) -> float:
    match statement:
        case tree.RepeatRange(first=first, last=last, body=body):
            trips = ranges.of(last).high - ranges.of(first).low + 1
            return (trips if 0 <= trips < 1e12 else 16.0) * work(body, ranges)
        case tree.If(branches=branches, otherwise=otherwise):
            bodies = [body for _, body in branches] + [otherwise or ()]
            return max(work(body, ranges) for body in bodies)
        case tree.While(body=body) | tree.RepeatEach(body=body) | tree.RepeatForever(body=body):
            return 16.0 * work(body, ranges)
    return 1.0


def lines_of(tasks: Iterator[Task]) -> tuple[int, ...]:
    return tuple(sorted({line for task in tasks for line in task.lines}))
