"""Fuses neighbours that run over the same rows, so that a row is still at hand for the next of them.

In: tasks in order. Out: tasks in an order that gives the same values. May not know: machine code.

Two loops over the same numbers become one if iterations of the joined loop stay apart, which nest.Loop
sees: then what the second reads of the first, it reads in the same iteration. A loop over all items
of tensors whose neighbour runs over rows is cut into rows first.
"""

from __future__ import annotations

from dataclasses import replace

from logosnb.kernels.nest import Nest, NotCompiled
from logosnb.kernels.rename import renamed
from logosnb.kernels.task import Loops, Product, Task
from logosnb.kernels.workshop import Workshop
from logosnb.language import tree
from logosnb.language.tree import Statement

MOST = 60  # statements in one kernel: a larger one takes long to compile and gains nothing
Range = tree.RepeatRange


def turned_products(tasks: list[Task]) -> list[Task]:
    """Products that read a transpose read what it is the transpose of."""
    sources: dict[str, str] = {}
    found: list[Task] = []
    for task in tasks:
        sources = {t: x for t, x in sources.items() if not {t, x} & task.writes}
        if isinstance(task, Product) and task.heads == 1:
            task = _turned(task, sources)
        if isinstance(task, Loops) and task.serves == "Transpose":
            (target,), (source,) = task.writes, task.reads - task.writes
            sources[target] = source
        found.append(task)
    return found


def _turned(task: Product, sources: dict[str, str]) -> Product:
    if task.a in sources:
        task = replace(task, a=sources[task.a], turned_a=True)
    if task.b in sources:
        task = replace(task, b=sources[task.b], turned_b=True)
    return task


def without_unread(tasks: list[Task], kept: frozenset[str]) -> list[Task]:
    """Transposes whose result nobody reads any more, left out; nothing that may fail is."""
    wanted = set(kept)
    found: list[Task] = []
    for task in reversed(tasks):
        idle = task.serves == "Transpose" and not task.writes & wanted
        if not idle:
            wanted |= task.reads
            found.append(task)
    return found[::-1]


def fused(tasks: list[Task], shop: Workshop) -> list[Task]:
    """The tasks, each loop joined to an earlier one where that is possible."""
    done: list[Task] = []
    for task in tasks:
        place = _place(task, done, shop) if isinstance(task, Loops) else None
        if place is None:
            done.append(task)
        else:
            done[place[0]] = place[1]
    return done


def _place(task: Loops, done: list[Task], shop: Workshop) -> tuple[int, Loops] | None:
    """Which earlier task takes this one in, and what becomes of it."""
    for place in range(len(done) - 1, -1, -1):
        earlier = done[place]
        joined = _joined(earlier, task, shop) if isinstance(earlier, Loops) else None
        if joined is not None:
            return place, joined
        if earlier.before(task):
            return None
    return None


def _joined(first: Loops, second: Loops, shop: Workshop) -> Loops | None:
    if first.statement_count + second.statement_count > MOST:
        return None
    if not first.nest.split and not second.nest.split:
        return _in_a_row(first, second, shop)
    if not (first.nest.split and second.nest.split):
        return None
    if not (first.reads | first.writes) & (second.reads | second.writes):
        return None
    for a, b in _alike(first.nest, second.nest, shop):
        own = renamed(b, {b.name: a.name})
        loop = replace(a, body=a.body + own.body)
        joined = _try((loop,), frozenset(), shop)
        if joined is not None and joined.split and _as_parallel(joined, first, second):
            return _as_one(first, second, joined)
    return None


def _as_parallel(joined: Nest, first: Loops, second: Loops) -> bool:
    """Whether no tensor must be gathered that needed no gathering before."""
    return set(joined.summed) <= {*first.nest.summed, *second.nest.summed}


def _in_a_row(first: Loops, second: Loops, shop: Workshop) -> Loops | None:
    """Statements that run one after the other anyway, as one kernel."""
    wanted = frozenset((*first.nest.outputs, *second.nest.outputs))
    joined = _try((*first.nest.statements, *second.nest.statements), wanted, shop)
    return None if joined is None else _as_one(first, second, joined)


def _try(statements: tuple[Statement, ...], wanted: frozenset[str], shop: Workshop) -> Nest | None:
    try:
        return shop.nest(statements, wanted)
    except NotCompiled:
        return None


def _as_one(first: Loops, second: Loops, nest: Nest) -> Loops:
    names = first.serves.split(", ") + second.serves.split(", ")
    lines = tuple(sorted({*first.lines, *second.lines}))
    return Loops(", ".join(dict.fromkeys(names)), lines, nest)


def _alike(first: Nest, second: Nest, shop: Workshop) -> list[tuple[Range, Range]]:
    """The two outermost loops over the same numbers, perhaps by cutting one of them into rows."""
    a, b = first.statements[0], second.statements[0]
    assert isinstance(a, Range) and isinstance(b, Range)
    if first.ends == second.ends:
        return [(a, b)]
    if first.ends[0] != 1 or second.ends[0] != 1:
        return []
    cut_a = _by_rows(a, first, second.ends[1], shop)
    cut_b = _by_rows(b, second, first.ends[1], shop)
    return [(cut_a, b)] if cut_a else [(a, cut_b)] if cut_b else []


def _by_rows(loop: Range, nest: Nest, rows: int, shop: Workshop) -> Range | None:
    """A loop over single items as a loop over rows of them."""
    items = nest.ends[1]
    if rows >= items or items % rows or any(isinstance(s, Range) for s in loop.body):
        return None
    row, column = tree.Name(shop.fresh("row")), tree.Name(shop.fresh("column"))
    width, one = tree.IntLiteral(items // rows), tree.IntLiteral(1)
    before = tree.Binary("*", tree.Binary("-", row, one), width)
    place = tree.Let(loop.name, tree.Binary("+", before, column))
    inner = Range(column.id, one, width, (place, *loop.body))
    return Range(row.id, one, tree.IntLiteral(rows), (inner,))
