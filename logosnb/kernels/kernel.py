"""A kernel: a task with its source, its machine code, and the step of a sequence that calls it.

In: a Task, a Workshop. Out: `Kernel`. May not know: memory, other kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from logosnb.kernels import blas
from logosnb.kernels.build import build, source_of
from logosnb.kernels.emit_cpu import Writer
from logosnb.kernels.task import Loops, Product
from logosnb.kernels.workshop import Workshop
from logosnb.language import tree
from logosnb.stages.walk import everything

WORTH = 100_000  # simple statements, some 10 microseconds, from which a step is cut into pieces
PRIVATE = 4  # a summed tensor gets a copy a piece where the loop does this many times its size
LEAST_ROWS = 16  # of a product's piece
WIDE = 128  # rows of a product's piece from which more pieces cost little
LONG = 5e7  # simple statements after which an interrupt must be heard within the sequence


@dataclass
class Kernel:
    """One step of a program.

    name: the ops or loop that it serves; lines: theirs in the program; text: its source, without names
    of its own; tensors: those that it touches, in the order of its words, then `inputs` and `outputs`
    among the scalars, then the `literals`; ends: the first and last number of the loop that may be cut
    into pieces; summed: tensors of which each piece has a copy; operations: simple statements;
    bytes: of the tensors that it touches, each once.
    """

    name: str
    lines: tuple[int, ...]
    source: str
    text: str
    tensors: tuple[str, ...]
    written: frozenset[str]
    ends: tuple[int, int]
    operations: float
    bytes: int
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    literals: tuple[int, ...] = ()
    summed: tuple[str, ...] = ()
    split: bool = True
    endless: bool = False
    least: int = 1
    uses_blas: bool = False
    task: Any = field(default=None, repr=False)

    def __repr__(self) -> str:
        return f"Kernel({self.name}, {self.operations:.0f} operations, {self.bytes} bytes)"

    @cached_property
    def function(self) -> Any:
        return build(self.text)

    def build(self) -> int:
        """Compile it, or load it; the address of its machine code."""
        address: int = self.function.address
        return address

    def pieces(self, threads: int, items: Callable[[str], int]) -> int:
        """Into how many pieces it is cut; items: how many a tensor has."""
        summed = sum(map(items, self.summed))
        enough = max(WORTH, PRIVATE * summed if self.summed else 0)
        trips = self.ends[1] - self.ends[0] + 1
        if not self.split or threads == 1 or self.operations < enough:
            return 1
        most = 4 * threads  # more than threads, so that one that is held up holds up little
        if self.summed:
            most = threads
        elif self.uses_blas:
            most = max(threads, min(most, trips // WIDE))
        return max(1, min(most, trips // self.least))


def _bytes(names: tuple[str, ...], shop: Workshop) -> int:
    return sum(shop.bytes(name) for name in dict.fromkeys(names))


def of_loops(task: Loops, shop: Workshop) -> Kernel:
    nest = task.nest
    source = Writer(nest, shop.dtype).source()
    unbounded = (tree.While, tree.RepeatForever)
    return Kernel(
        task.serves,
        task.lines,
        source.text,
        source.canonical,
        source.tensors,
        frozenset(nest.written),
        nest.ends,
        task.operations,
        _bytes(nest.tensors, shop),
        inputs=source.inputs,
        outputs=source.outputs,
        literals=tuple(source.literals),
        summed=nest.summed,
        split=nest.split,
        endless=any(isinstance(node, unbounded) for node in everything(nest.statements)),
        task=task,
    )


def of_product(task: Product, shop: Workshop) -> Kernel:
    if task.heads == 1 and task.rows == 1:
        return _of_vector(task, task.a, task.b, task.turned_b, task.columns, shop)
    if task.heads == 1 and task.columns == 1:
        return _of_vector(task, task.b, task.a, not task.turned_a, task.rows, shop)
    return _of_matrices(task, shop)


def _of_vector(
    task: Product, vector: str, matrix: str, turned: bool, items: int, shop: Workshop
) -> Kernel:
    text = blas.of_dtype(source_of(blas.vector_product), shop.dtype)
    tensors = (task.y, vector, matrix)
    return Kernel(
        task.serves,
        task.lines,
        text,
        text,
        tensors,
        task.writes,
        (1, items),
        float(task.multiplications),
        _bytes(tensors, shop),
        literals=(int(turned), task.inner, shop.shapes[matrix].columns),
        least=LEAST_ROWS,
        task=task,
    )


def _of_matrices(task: Product, shop: Workshop) -> Kernel:
    text = blas.of_dtype(source_of(blas.product), shop.dtype)
    shapes: Mapping[str, Any] = shop.shapes
    wide_a, wide_b, wide_y = (shapes[name].columns for name in (task.a, task.b, task.y))
    rows, inner, columns = task.rows, task.inner, task.columns
    by_columns = task.heads == 1 and columns > rows
    apart = (inner, inner * columns, columns) if task.heads > 1 else (0, 0, 0)
    return Kernel(
        task.serves,
        task.lines,
        text,
        text,
        (task.y, task.a, task.b),
        task.writes,
        (1, columns if by_columns else rows),
        task.operations,
        _bytes((task.y, task.a, task.b), shop),
        literals=(
            blas.gemm_address(shop.dtype), int(task.turned_a), int(task.turned_b), rows, inner,
            columns, wide_a, wide_b, wide_y, task.heads, *apart, int(by_columns),
        ),
        least=LEAST_ROWS,
        uses_blas=True,
        task=task,
    )  # fmt: skip
