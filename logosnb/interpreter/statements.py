"""Statements as lines of Python, each knowing the LOGOS position that it came from.

In: the resolved statements of a section. Out: a `Section`: lines, positions, indexings. May not
know: how the lines are run.

A tensor has two forms in the code: `v_x`, the 2-D array, and, where the section reads or sets its items,
`m_x`, a flat memoryview on it, whose items are Python numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import singledispatchmethod

from logosnb.interpreter.expressions import Access, Expressions
from logosnb.language import tree
from logosnb.language.tree import INT, NOWHERE, REAL, TENSOR, Position
from logosnb.stages.stage import Stage
from logosnb.stages.typing import Typing
from logosnb.stages.walk import everything, root_name

Body = tuple[tree.Statement, ...]


@dataclass
class Section:
    """The Python of one section: `positions` and `accesses` go with `lines`."""

    lines: list[str] = field(default_factory=list)
    positions: list[Position] = field(default_factory=list)
    accesses: list[list[Access]] = field(default_factory=list)


def item_names(statements: Body) -> frozenset[str]:
    """The names that the statements index directly."""
    found = {
        node.sequence.id
        for node in everything(statements)
        if isinstance(node, tree.Item) and isinstance(node.sequence, tree.Name)
    }
    return frozenset(found)


def positive_names(statements: Body, parameters: frozenset[str]) -> frozenset[str]:
    """Int names that hold at least 1 whenever they hold anything: the largest set in which every
    binding of a name is positive if the names of the set are."""
    bindings: dict[str, list[tree.Expression | None]] = {name: [None] for name in parameters}
    for node in everything(statements):
        match node:
            case tree.Let(name=name, value=value):
                bindings.setdefault(name, []).append(value)
            case tree.RepeatRange(name=name, first=first):
                bindings.setdefault(name, []).append(first)
            case tree.RepeatEach(name=name) | tree.Pop(into=str() as name):
                bindings.setdefault(name, []).append(None)
            case tree.Set(target=tree.Name(id=name), value=value):
                bindings.setdefault(name, []).append(value)
            case tree.Update(target=tree.Name(id=name), operator=sign, value=value):
                bindings.setdefault(name, []).append(tree.Binary(sign, tree.Name(name), value))
    names = frozenset(bindings)
    while True:
        signs = Expressions(Typing((), (), {}), names)
        kept = frozenset(
            n for n in names if all(v is not None and signs.positive(v) for v in bindings[n])
        )
        if kept == names:
            return kept
        names = kept


class Statements:
    """Emits one section; `supplied` are the declared tensors of Main, which a caller may supply."""

    def __init__(
        self,
        body: Body,
        typing: Typing,
        parameters: tuple[tree.Parameter, ...],
        stages: list[Stage],
    ) -> None:
        self.typing = typing
        self.items = item_names(body)
        names = frozenset(parameter.name for parameter in parameters)
        self.expressions = Expressions(typing, positive_names(body, names))
        self.stages = stages
        self.section = Section()
        self.depth = 1
        self.top = not parameters
        self.in_main = False
        self.result: tree.Type | None = None

    # ---- lines

    def line(self, text: str, position: Position) -> None:
        self.section.lines.append("    " * self.depth + text)
        self.section.positions.append(position)
        self.section.accesses.append(self.expressions.accesses)
        self.expressions.accesses = []

    def block(self, statements: Body) -> None:
        self.depth += 1
        for statement in statements:
            self.emit(statement)
        self.line("pass", NOWHERE)
        self.depth -= 1

    def bind(self, name: str, code: str, position: Position) -> None:
        self.line(f"v_{name} = {code}", position)
        if self.typing.types.get(name) == TENSOR and name in self.items:
            self.line(f"m_{name} = _flat(v_{name})", position)

    # ---- one method a statement

    @singledispatchmethod
    def emit(self, statement: tree.Statement) -> None:
        raise TypeError(f"no statement: {statement}")

    @emit.register
    def _(self, statement: tree.Let) -> None:
        code = self.expressions.converted(statement.value, statement.type)
        if statement.type is None and statement.name in self.typing.real_sequences:
            code = f"_as_type({code}, 'Seq of Real')"
        self.bind(statement.name, code, statement.position)

    @emit.register
    def _(self, statement: tree.Declare) -> None:
        sizes = [self.expressions.emit(size) for size in (statement.rows, statement.columns)]
        made = f"_zeros({sizes[0]}, {sizes[1]}, {statement.kind!r})"
        name = statement.name
        if self.in_main and self.depth == 1:
            made = f"_given[{name!r}] if {name!r} in _given else {made}"
        self.bind(name, made, statement.position)

    @emit.register
    def _(self, statement: Stage) -> None:
        self.stages.append(statement)
        names = [value for value in statement.operands.values() if isinstance(value, str)]
        read = "{" + ", ".join(f"{name!r}: v_{name}" for name in dict.fromkeys(names)) + "}"
        call = f"_apply(_stages[{len(self.stages) - 1}], {read})"
        if statement.definition.writes is not None:
            self.line(f"v_{statement.out}[...] = {call}", statement.position)
        else:
            self.bind(statement.out, call, statement.position)

    @emit.register
    def _(self, statement: tree.Set) -> None:
        target = statement.target
        if isinstance(target, tree.Name):
            if self.typing.types.get(target.id) == TENSOR:
                value = self.expressions.emit(statement.value)
                self.line(f"_assign(v_{target.id}, {value})", statement.position)
            else:
                code = self.expressions.copied(statement.value)
                self.bind(target.id, code, statement.position)
        else:
            value = self._element(target, statement.value)
            self._set_item(target, value, statement.position)

    def _element(self, target: tree.Expression, value: tree.Expression) -> str:
        """A value on its way into a sequence: an Int becomes a Real in a Seq of Real."""
        name = root_name(target)
        real = name in self.typing.real_sequences and self.typing.of(value) != REAL
        return self.expressions.converted(value, REAL if real else None)

    def _set_item(self, target: tree.Expression, value: str, position: Position) -> None:
        if not isinstance(target, tree.Item):
            self.line("_no_target()", position)
            return
        sequence, direct = self.expressions.sequence(target.sequence)
        if direct and self.typing.of(target.sequence).name != "Text":
            place = self.expressions.place(target, sequence)
            self.line(f"{sequence}[{place}] = {value}", position)
        else:
            index = self.expressions.emit(target.index)
            self.line(f"_set_item({sequence}, {index}, {value})", position)

    @emit.register
    def _(self, statement: tree.Update) -> None:
        changed = tree.Binary(statement.operator, statement.target, statement.value)
        self.emit(tree.Set(statement.target, changed, position=statement.position))

    @emit.register
    def _(self, statement: tree.CallStatement) -> None:
        self.line(self.expressions.emit(statement.call), statement.position)

    @emit.register
    def _(self, statement: tree.Show) -> None:
        self.line(f"_show({self.expressions.emit(statement.value)})", statement.position)

    @emit.register
    def _(self, statement: tree.Push) -> None:
        target, value = statement.target, statement.value
        item = tree.Item(tree.IntLiteral(1), target)
        code, sequence = self._element(item, value), self.expressions.emit(target)
        known = self.typing.of(target).name == "Seq"
        text = f"{sequence}.append({code})" if known else f"_push({sequence}, {code})"
        self.line(text, statement.position)

    @emit.register
    def _(self, statement: tree.Pop) -> None:
        call = f"_pop({self.expressions.emit(statement.target)})"
        if statement.into is None:
            self.line(call, statement.position)
        else:
            self.bind(statement.into, call, statement.position)

    @emit.register
    def _(self, statement: tree.If) -> None:
        """Each further branch stands inside the `else` of the one before, so that what it evaluates
        has a line of its own."""
        depth = self.depth
        for condition, body in statement.branches:
            position = condition.position if condition.position.line else statement.position
            self.line(f"if {self.expressions.condition(condition)}:", position)
            self.block(body)
            self.line("else:", NOWHERE)
            self.depth += 1
        for inner in statement.otherwise or ():
            self.emit(inner)
        self.line("pass", NOWHERE)
        self.depth = depth

    @emit.register
    def _(self, statement: tree.While) -> None:
        self.line(f"while {self.expressions.condition(statement.condition)}:", statement.position)
        self.block(statement.body)

    @emit.register
    def _(self, statement: tree.RepeatRange) -> None:
        first, last = (self._bound(end) for end in (statement.first, statement.last))
        self.line(f"for v_{statement.name} in range({first}, {last} + 1):", statement.position)
        self.block(statement.body)

    def _bound(self, node: tree.Expression) -> str:
        code = self.expressions.emit(node)
        return code if self.typing.of(node) == INT else f"_bound({code})"

    @emit.register
    def _(self, statement: tree.RepeatEach) -> None:
        sequence = self.expressions.emit(statement.sequence)
        self.line(f"for v_{statement.name} in _each({sequence}):", statement.position)
        self.block(statement.body)

    @emit.register
    def _(self, statement: tree.RepeatForever) -> None:
        self.line("while True:", statement.position)
        self.block(statement.body)

    @emit.register
    def _(self, statement: tree.Break) -> None:
        self.line("break", statement.position)

    @emit.register
    def _(self, statement: tree.Return) -> None:
        if statement.condition is not None:
            self.line(f"if {self.expressions.condition(statement.condition)}:", statement.position)
            self.depth += 1
        if self.in_main:
            self.line("return locals()", statement.position)
        elif statement.value is None:
            self.line("return None", statement.position)
        else:
            code = self.expressions.converted(statement.value, self.result)
            self.line(f"return {code}", statement.position)
        if statement.condition is not None:
            self.depth -= 1
