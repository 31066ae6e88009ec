"""Who fills a tensor with zeros: a tensor that is made starts as zeros, which costs nothing if the
kernel that touches it first does it row by row, or sets every item anyway.

In: tasks in order, the tensors that they make. Out: tasks with that decided, fills added where no
kernel can. May not know: memory.
"""

from __future__ import annotations

from dataclasses import replace

from logosnb.kernels.gather import fill
from logosnb.kernels.nest import Nest
from logosnb.kernels.task import Loops, Task
from logosnb.kernels.workshop import Workshop
from logosnb.language import tree
from logosnb.language.tree import Statement
from logosnb.stages.walk import everything


def with_zeros(tasks: list[Task], made: list[str], shop: Workshop) -> list[Task]:
    waiting = dict.fromkeys(made)
    found: list[Task] = []
    for task in tasks:
        first = [name for name in waiting if name in task.reads | task.writes]
        for name in first:
            del waiting[name]
        filled, task = _starting(task, first)
        found += [fill(name, shop) for name in filled]
        found.append(task)
    return found + [fill(name, shop) for name in waiting]


def _starting(task: Task, first: list[str]) -> tuple[list[str], Task]:
    """The tensors that must be filled before a task, and the task with those it fills itself."""
    if not isinstance(task, Loops):
        return [name for name in first if name in task.reads], task
    nest, filled = task.nest, []
    windows, zeroed = dict(nest.windows), list(nest.zeroed)
    for name in first:
        width = nest.loop.window(name, nest.size(name)) if nest.split else None
        if name not in nest.written:
            filled.append(name)
        elif width is not None:
            windows |= {} if sets_all(nest, name, width) else {name: width}
        elif not nest.split or name in nest.summed:
            zeroed.append(name)
        else:
            filled.append(name)
    return filled, replace(task, nest=replace(nest, windows=windows, zeroed=tuple(zeroed)))


def sets_all(nest: Nest, tensor: str, width: int) -> bool:
    """Whether each iteration sets all `width` items that are its own before it reads one."""
    loop = nest.statements[0]
    assert isinstance(loop, tree.RepeatRange)
    if width == 1:
        return _sets_first(loop.body, tensor)
    for statement in loop.body:
        if not _touches(statement, tensor):
            continue
        return isinstance(statement, tree.RepeatRange) and _sets_row(nest, statement, tensor, width)
    return False


def _sets_row(nest: Nest, inner: tree.RepeatRange, tensor: str, width: int) -> bool:
    first, last = nest.ranges.of(inner.first), nest.ranges.of(inner.last)
    whole = first.low == first.high and last.low == last.high == first.low + width - 1
    target = _first_set(inner.body, tensor)
    if not whole or target is None:
        return False
    form = nest.ranges.affine(target.index, inner.name)
    return form is not None and form[0] == 1


def _sets_first(body: tuple[Statement, ...], tensor: str) -> bool:
    return _first_set(body, tensor) is not None


def _first_set(body: tuple[Statement, ...], tensor: str) -> tree.Item | None:
    """The item that the first statement to touch a tensor sets, if it does so without reading it."""
    for statement in body:
        if _touches(statement, tensor):
            if not isinstance(statement, tree.Set) or not isinstance(statement.target, tree.Item):
                return None
            reads = any(_is(node, tensor) for node in everything((tree.Show(statement.value),)))
            return None if reads else statement.target
    return None


def _touches(statement: Statement, tensor: str) -> bool:
    return any(_is(node, tensor) for node in everything((statement,)))


def _is(node: tree.Node, tensor: str) -> bool:
    return isinstance(node, tree.Name) and node.id == tensor
