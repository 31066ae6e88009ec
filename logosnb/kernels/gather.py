"""A statement of Main as tasks: ops become the loops of their blocks, products stay products.

In: a Stage or a loop of Main. Out: tasks over tensors by name, and the tensors that they make. Raises
NotCompiled. May not know: what follows or precedes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from logosnb.kernels.attention import Attend, attend
from logosnb.kernels.compose import composed
from logosnb.kernels.expand import RESULT, Expansion, expansion, own_name
from logosnb.kernels.nest import NotCompiled, may_be_read_first
from logosnb.kernels.recognise import recognised
from logosnb.kernels.rename import renamed
from logosnb.kernels.task import Loops, Product, Task
from logosnb.kernels.workshop import Workshop
from logosnb.language import tree
from logosnb.language.tree import Statement
from logosnb.ops.op import Shape, kind_of
from logosnb.stages.stage import Stage
from logosnb.stages.walk import bound_names, everything

LOOPS = (tree.RepeatRange, tree.RepeatEach, tree.RepeatForever, tree.While, tree.If)


@dataclass
class Gathered:
    """tasks in order; made: tensors that they are the first to touch; bound: those of Main among them."""

    tasks: list[Task] = field(default_factory=list)
    made: list[str] = field(default_factory=list)
    bound: list[str] = field(default_factory=list)


def of_stage(stage: Stage, shop: Workshop) -> Gathered:
    if stage.shape is None or any(name not in shop.shapes for _, name in stage.tensors):
        raise NotCompiled(stage, "its shapes are known only at run time")
    parts = composed(stage, shop)
    if parts:
        return _of_parts(parts, stage, shop)
    found = Gathered()
    if stage.definition.writes is None:
        found.made.append(stage.out)
        found.bound.append(stage.out)
    converted = _with_reals(_with_known_rows(stage, shop), found, shop)
    task = product(converted, shop) or attend(converted, shop)
    if task is not None:
        found.tasks.append(task)
        found.made += [task.stats] if isinstance(task, Attend) else []
        return found
    _expanded(converted, found, shop)
    return found


def _of_parts(parts: list[Stage], whole: Stage, shop: Workshop) -> Gathered:
    """What the parts of an op gather; only its result is a tensor of Main."""
    gathered = [of_stage(part, shop) for part in parts]
    return Gathered(
        [task for found in gathered for task in found.tasks],
        list(dict.fromkeys(name for found in gathered for name in found.made)),
        [whole.out],
    )


def _with_known_rows(stage: Stage, shop: Workshop) -> Stage:
    """Row numbers that are constants, as their numbers."""
    operands = dict(stage.operands)
    for hole, value in stage.operands.items():
        if kind_of(hole) == "row" and isinstance(value, str):
            known = shop.program.constants.get(value)
            if not isinstance(known, int):
                raise NotCompiled(stage, f"`{value}` is known only at run time")
            operands[hole] = known
    return replace(stage, operands=operands)


def _with_reals(stage: Stage, found: Gathered, shop: Workshop) -> Stage:
    """Ints among Reals are read as Reals: through a copy."""
    operands = dict(stage.operands)
    for hole, name in stage.tensors:
        whole = stage.kind == "Int" or kind_of(hole) == "ints" or hole in stage.definition.integers
        if whole or shop.kinds[name] != "Int":
            continue
        operands[hole] = shop.tensor(name, shop.shapes[name], "Real")
        found.made.append(str(operands[hole]))
        found.tasks.append(copy(name, str(operands[hole]), stage, shop))
    return replace(stage, operands=operands)


def copy(source: str, target: str, stage: Stage, shop: Workshop) -> Loops:
    """Every item, converted if the kinds differ."""
    k = shop.fresh("k")
    item = tree.Item(tree.Name(k), tree.Name(source))
    return _each(k, target, item, f"{source} as Real", (stage.line,), shop)


def _each(
    k: str, target: str, value: tree.Expression, serves: str, lines: tuple[int, ...], shop: Workshop
) -> Loops:
    shape = shop.shapes[target]
    body = (tree.Set(tree.Item(tree.Name(k), tree.Name(target)), value),)
    last = tree.IntLiteral(shape.rows * shape.columns)
    loop = tree.RepeatRange(k, tree.IntLiteral(1), last, body)
    return Loops(serves, lines, shop.nest((loop,)))


def fill(target: str, shop: Workshop) -> Loops:
    """Zeros in a tensor that no kernel fills by itself."""
    zero = tree.IntLiteral(0) if shop.kinds[target] == "Int" else tree.RealLiteral(0.0)
    return _each(shop.fresh("k"), target, zero, f"zeros in {target}", (), shop)


def product(stage: Stage, shop: Workshop) -> Product | None:
    """The stage as a product; those of Int stay with the exact loops."""
    if stage.kind == "Int" or stage.op not in ("Matmul", "HeadMatmul"):
        return None
    left, right = (name for _, name in stage.tensors)
    x, w = shop.shapes[left], shop.shapes[right]
    heads = int(stage.operands.get("heads", 1))
    inner = x.columns // heads
    return Product(
        stage.op, (stage.line,), stage.out, left, right, x.rows, inner, w.columns, heads=heads
    )


def _expanded(stage: Stage, found: Gathered, shop: Workshop) -> None:
    text = expansion(stage, shop.shapes, shop.kinds)
    names = {own_name(hole): name for hole, name in stage.tensors}
    if stage.definition.writes is None:
        names[RESULT] = stage.out
    for declare in text.declared:
        if declare.name not in names:
            names[declare.name] = shop.tensor(declare.name, _shape(declare), declare.kind)
            found.made.append(names[declare.name])
    for statements in _pieces(text):
        own = names | {name: shop.fresh(name) for name in dict.fromkeys(bound_names(statements))}
        whole = tuple(renamed(statement, own) for statement in statements)
        found.tasks.append(Loops(stage.op, (stage.line,), shop.nest(whole)))


def _shape(declare: tree.Declare) -> Shape:
    sizes = (declare.rows, declare.columns)
    return Shape(*(size.value for size in sizes if isinstance(size, tree.IntLiteral)))


def _pieces(text: Expansion) -> list[tuple[Statement, ...]]:
    """Each loop apart, unless scalars of the text's outermost level tie them together."""
    if all(isinstance(statement, LOOPS) for statement in text.statements):
        return [(statement,) for statement in text.statements]
    return [text.statements]


def of_statement(statement: Statement, wanted: frozenset[str], shop: Workshop) -> Task:
    """A loop, a branch or a scalar's binding; names that nobody else reads become its own.

    wanted: names that are read after it."""
    known = recognised(statement, wanted, shop)
    if known is not None:
        return known
    found = shop.nest((statement,), wanted)
    lines = (statement.position.line,)
    if found.outputs:
        return Loops(_said(statement), lines, found)
    inside = [n for n in dict.fromkeys(bound_names((statement,))) if n not in shop.shapes]
    own = {n: shop.fresh(n) for n in inside if n not in found.inputs}
    return Loops(_said(statement), lines, shop.nest((renamed(statement, own),)))


def _said(statement: Statement) -> str:
    line = statement.position.line
    if isinstance(statement, tree.RepeatRange):
        return f"Repeat for {statement.name}, line {line}"
    return f"line {line}"


def read_before_bound(statement: Statement) -> set[str]:
    """The names whose value a statement takes from before it."""
    if isinstance(statement, Stage):
        return {str(value) for value in statement.operands.values()}
    names = {node.id for node in everything((statement,)) if isinstance(node, tree.Name)}
    return {name for name in names if may_be_read_first(name, (statement,))}
