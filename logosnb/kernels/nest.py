"""A loop nest: statements without ops that become one kernel, and what it reads and writes.

In: statements, types, what is known of tensors and constants. Out: `Nest`, or `NotCompiled` with
the statement that the kernels leave to the interpreter and why. May not know: Python code.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from logosnb.kernels.ranges import Interval, Ranges, ranges_of
from logosnb.language import tree
from logosnb.language.tree import BOOL, INT, REAL, Expression, Statement, Type
from logosnb.language.words import BUILTINS
from logosnb.ops.op import Shape
from logosnb.stages.typing import Types
from logosnb.stages.walk import everything, root_name

SCALARS = frozenset({INT, REAL, BOOL})


class NotCompiled(Exception):
    """A statement that stays with the interpreter."""

    def __init__(self, statement: tree.Node, why: str) -> None:
        super().__init__(why)
        self.statement = statement
        self.why = why


@dataclass(frozen=True)
class Nest:
    """statements: the code; tensors: those that it touches, in order; written: those it sets items of;
    inputs: scalars that it reads from outside; outputs: scalars that it leaves for later; sequences:
    Seqs of its own; split: whether the outermost loop may be cut into pieces that run at once;
    summed: tensors that every iteration adds to, of which each piece needs a copy of its own; zeroed:
    tensors that it fills with zeros first, windows: those of which each iteration fills the items that
    it alone touches, with how many."""

    statements: tuple[Statement, ...]
    types: Types
    ranges: Ranges
    shapes: Mapping[str, Shape]
    kinds: Mapping[str, str]
    tensors: tuple[str, ...]
    written: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    sequences: tuple[str, ...]
    split: bool
    summed: tuple[str, ...]
    zeroed: tuple[str, ...] = ()
    windows: Mapping[str, int] = field(default_factory=dict)

    def size(self, tensor: str) -> int:
        shape = self.shapes[tensor]
        return shape.rows * shape.columns

    @property
    def ends(self) -> tuple[int, int]:
        """The first and last number of the outermost loop, where it may be cut; else 1 and 1."""
        loop = self.statements[0]
        if not self.split or not isinstance(loop, tree.RepeatRange):
            return 1, 1
        return int(self.ranges.of(loop.first).low), int(self.ranges.of(loop.last).low)

    @property
    def loop(self) -> Loop:
        return Loop(self.statements, self.ranges, self.written)

    def in_range(self, item: tree.Item) -> bool:
        """Whether the index is surely an item of the tensor."""
        assert isinstance(item.sequence, tree.Name)
        place = self.ranges.of(item.index)
        return place.low >= 1 and place.high <= self.size(item.sequence.id)

    def fits(self, expression: Expression) -> bool:
        """Whether an Int expression surely stays within 64 bits."""
        return self.ranges.of(expression).known


def nest(
    statements: tuple[Statement, ...],
    types: Types,
    shapes: Mapping[str, Shape],
    kinds: Mapping[str, str],
    constants: Mapping[str, int | float],
    wanted: frozenset[str],
) -> Nest:
    """Look through statements; wanted: names that are read after them. Raises NotCompiled."""
    tensors = tuple(dict.fromkeys(_tensors(statements, shapes)))
    bound = set(_scalars_bound(statements))
    sequences = tuple(dict.fromkeys(_sequences(statements)))
    for node in everything(statements):
        _require(node, types, shapes, sequences)
    whole = {name: value for name, value in constants.items() if isinstance(value, int)}
    ranges = ranges_of(statements, {n: v for n, v in whole.items() if n not in bound})
    read = [n.id for n in everything(statements) if isinstance(n, tree.Name)]
    inputs = tuple(dict.fromkeys(n for n in read if _is_input(n, bound, shapes, sequences)))
    carried = tuple(
        n for n in dict.fromkeys(read) if n in bound and may_be_read_first(n, statements)
    )
    written = tuple(dict.fromkeys(_written(statements)))
    loop = Loop(statements, ranges, written)
    split, summed = loop.split()
    return Nest(
        statements=statements,
        types=types,
        ranges=ranges,
        shapes=shapes,
        kinds=kinds,
        tensors=tensors,
        written=written,
        inputs=tuple(dict.fromkeys([*inputs, *carried])),
        outputs=tuple(sorted(bound & wanted)),
        sequences=sequences,
        split=split and not bound & wanted,
        summed=summed,
    )


def _tensors(statements: tuple[Statement, ...], shapes: Mapping[str, Shape]) -> Iterator[str]:
    for node in everything(statements):
        if isinstance(node, tree.Name) and node.id in shapes:
            yield node.id


def _scalars_bound(statements: tuple[Statement, ...]) -> Iterator[str]:
    for node in everything(statements):
        match node:
            case tree.Let(value=tree.NewSeq()):
                pass
            case tree.Let(name=name) | tree.RepeatRange(name=name) | tree.RepeatEach(name=name):
                yield name
            case tree.Set(target=tree.Name(id=name)) | tree.Update(target=tree.Name(id=name)):
                yield name
            case tree.Pop(into=str() as name):
                yield name


def _sequences(statements: tuple[Statement, ...]) -> Iterator[str]:
    for node in everything(statements):
        if isinstance(node, tree.Let) and isinstance(node.value, tree.NewSeq):
            yield node.name


def _is_input(
    name: str, bound: set[str], shapes: Mapping[str, Shape], sequences: tuple[str, ...]
) -> bool:
    return name not in bound and name not in shapes and name not in sequences


def may_be_read_first(name: str, statements: tuple[Statement, ...]) -> bool:
    """Whether a name may be read before these statements bind it: then its value comes from outside."""
    for node in everything(statements):
        match node:
            case tree.Let(name=bound) | tree.RepeatRange(name=bound) | tree.RepeatEach(name=bound):
                if bound == name:
                    return False
            case tree.Name(id=read) if read == name:
                return True
    return False


def _written(statements: tuple[Statement, ...]) -> Iterator[str]:
    for node in everything(statements):
        if isinstance(node, tree.Set | tree.Update) and isinstance(node.target, tree.Item):
            yield root_name(node.target) or ""


# ---- what compiles ------------------------------------------------------------------------------

COMPILED = (
    tree.IntLiteral, tree.RealLiteral, tree.Special, tree.BoolLiteral, tree.Name, tree.Unary,
    tree.Binary, tree.Logic, tree.Comparison, tree.Between, tree.Parity, tree.Divisible, tree.Call,
    tree.Item, tree.Length, tree.NewSeq, tree.Let, tree.Set, tree.Update, tree.If, tree.While,
    tree.RepeatRange, tree.RepeatEach, tree.RepeatForever, tree.Break, tree.Push, tree.Contains,
    tree.Type,
)  # fmt: skip


def _require(
    node: tree.Node, types: Types, shapes: Mapping[str, Shape], sequences: tuple[str, ...]
) -> None:
    if not isinstance(node, COMPILED):
        raise NotCompiled(node, "only numbers, tensors and loops compile")
    match node:
        case tree.Name(id=name) if name not in shapes and name not in sequences:
            if types.names.get(name) not in SCALARS:
                raise NotCompiled(node, f"`{name}` is not a number throughout")
        case tree.Let(type=Type() as declared) if declared not in SCALARS:
            raise NotCompiled(node, "its type is not one of numbers")
        case tree.Let(name=name) if name in sequences and not isinstance(node.value, tree.NewSeq):
            raise NotCompiled(node, f"`{name}` is bound to different kinds of things")
        case tree.NewSeq(element=element) if element not in (INT, REAL):
            raise NotCompiled(node, "only a Seq of Real or of Int compiles")
        case tree.Call(function=function) if function not in BUILTINS or function == "length":
            raise NotCompiled(node, "calls of functions stay with the interpreter")
        case tree.Item(sequence=whole):
            if not isinstance(whole, tree.Name) or whole.id not in (*shapes, *sequences):
                raise NotCompiled(node, "only items of tensors and of new Seqs compile")
        case (
            tree.Length(sequence=whole)
            | tree.RepeatEach(sequence=whole)
            | tree.Contains(sequence=whole)
        ) if not (isinstance(whole, tree.Name) and whole.id in sequences):
            raise NotCompiled(node, "only new Seqs have a length here")
        case tree.Push(target=target) if not (
            isinstance(target, tree.Name) and target.id in sequences
        ):
            raise NotCompiled(node, "only a new Seq can be pushed to here")
        case tree.Binary(operator="combined with"):
            raise NotCompiled(node, "Text stays with the interpreter")


# ---- loops that carry nothing -------------------------------------------------------------------


class Loop:
    """Looks whether the one outermost loop of a nest can be cut into pieces."""

    def __init__(
        self, statements: tuple[Statement, ...], ranges: Ranges, written: tuple[str, ...]
    ) -> None:
        self.statements = statements
        self.ranges = ranges
        self.written = written

    def split(self) -> tuple[bool, tuple[str, ...]]:
        """(may be cut, tensors that are only added to in it)."""
        if len(self.statements) != 1 or not isinstance(self.statements[0], tree.RepeatRange):
            return False, ()
        loop = self.statements[0]
        ends = (self.ranges.of(loop.first), self.ranges.of(loop.last))
        if any(end.low != end.high for end in ends):
            return False, ()
        if leaves(loop.body) or carries(loop.body, frozenset({loop.name})):
            return False, ()
        summed = []
        for tensor in self.written:
            if self._apart(tensor, loop):
                continue
            if not self._only_added_to(tensor, loop):
                return False, ()
            summed.append(tensor)
        return True, tuple(summed)

    def _apart(self, tensor: str, loop: tree.RepeatRange) -> bool:
        """Whether different iterations touch different items of a tensor."""
        forms = [self.ranges.affine(index, loop.name) for index in _indices(tensor, loop.body)]
        if None in forms:
            return False
        factors = {form[0] for form in forms if form}
        rests = [form[1] for form in forms if form]
        span = max(r.high for r in rests) - min(r.low for r in rests)
        return len(factors) == 1 and span < min(factors)

    def window(self, tensor: str, size: int) -> int | None:
        """How many items each iteration alone touches, where the iterations together touch all of
        them; None where that cannot be seen."""
        loop = self.statements[0]
        if not isinstance(loop, tree.RepeatRange):
            return None
        forms = [self.ranges.affine(index, loop.name) for index in _indices(tensor, loop.body)]
        first, last = self.ranges.of(loop.first), self.ranges.of(loop.last)
        if not forms or None in forms or first.low != first.high or last.low != last.high:
            return None
        factors = {form[0] for form in forms if form}
        width = min(factors)
        low = min(form[1].low for form in forms if form) + width * first.low
        high = max(form[1].high for form in forms if form) + width * first.low
        covered = width > 0 and width * (last.low - first.low + 1) == size
        return width if len(factors) == 1 and covered and low >= 1 and high <= width else None

    def _only_added_to(self, tensor: str, loop: tree.RepeatRange) -> bool:
        """Whether every access is `Set item e of t to (item e of t) + …`."""
        added = 0
        for node in everything(loop.body):
            if isinstance(node, tree.Set) and root_name(node.target) == tensor:
                if added_value(node) is None:
                    return False
                added += 2
        return added == len(list(_indices(tensor, loop.body)))


def added_value(statement: tree.Set) -> Expression | None:
    """e of `Set item k of t to (item k of t) + e` (or `- e`, then negated)."""
    value = statement.value
    if not isinstance(value, tree.Binary) or value.operator not in ("+", "-"):
        return None
    if value.left != statement.target:
        return None
    return value.right if value.operator == "+" else tree.Unary("-", value.right)


def _indices(tensor: str, statements: tuple[Statement, ...]) -> Iterator[Expression]:
    for node in everything(statements):
        if isinstance(node, tree.Item) and root_name(node) == tensor:
            yield node.index


def leaves(body: tuple[Statement, ...]) -> bool:
    """Whether a Break in a loop's body leaves that loop."""
    for statement in body:
        match statement:
            case tree.Break():
                return True
            case tree.If(branches=branches, otherwise=otherwise):
                if any(map(leaves, [*(inside for _, inside in branches), otherwise or ()])):
                    return True
    return False


def carries(statements: tuple[Statement, ...], visible: frozenset[str]) -> bool:
    """Whether an iteration may read what an earlier one bound: a name set or read where no `Let` of
    the same iteration is in sight."""
    assigned = {*_scalars_bound(statements), *_sequences(statements)}
    return _carries(statements, visible, frozenset(assigned))


def _carries(block: tuple[Statement, ...], visible: frozenset[str], own: frozenset[str]) -> bool:
    seen = set(visible)
    for statement in block:
        if any(name in own and name not in seen for name in _reads(statement)):
            return True
        match statement:
            case tree.Let(name=name):
                seen.add(name)
            case tree.If(branches=branches, otherwise=otherwise):
                bodies = [body for _, body in branches] + [otherwise or ()]
                if any(_carries(body, frozenset(seen), own) for body in bodies):
                    return True
            case tree.RepeatRange(name=name, body=body) | tree.RepeatEach(name=name, body=body):
                if _carries(body, frozenset({*seen, name}), own):
                    return True
            case tree.While(body=body) | tree.RepeatForever(body=body):
                if _carries(body, frozenset(seen), own):
                    return True
    return False


def _reads(statement: Statement) -> Iterator[str]:
    """The names that a statement itself reads or sets; those inside a block's body are its own."""
    match statement:
        case tree.Let(value=value):
            parts: tuple[tree.Node, ...] = (value,)
        case tree.If(branches=branches):
            parts = tuple(condition for condition, _ in branches)
        case tree.RepeatRange(first=first, last=last):
            parts = (first, last)
        case tree.RepeatEach(sequence=sequence):
            parts = (sequence,)
        case tree.While(condition=condition):
            parts = (condition,)
        case tree.RepeatForever():
            parts = ()
        case _:
            parts = (statement,)
    for part in parts:
        for node in everything((part,)):  # type: ignore[arg-type]  # any node walks alike
            if isinstance(node, tree.Name):
                yield node.id


__all__ = ["Interval", "Loop", "Nest", "NotCompiled", "added_value", "nest"]
