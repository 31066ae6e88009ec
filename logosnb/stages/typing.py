"""What type each name of a section has, as far as the text alone can tell.

In: resolved statements, the types of parameters and functions. Out: name to `Type`. May not know: how
a program is run.

A name has one type in its whole section: the join of all that it is bound to. Int with Real joins to
ANY, as does everything that only a run can tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from logosnb.language import tree
from logosnb.language.tree import BOOL, INT, REAL, TENSOR, TEXT, Type
from logosnb.stages.stage import Stage
from logosnb.stages.walk import everything, root_name

ANY = Type("Any")
REALS = Type("Seq", REAL)
NONE = Type("Nothing")  # of an empty literal's elements: joins with everything
Types = Mapping[str, Type]
REAL_BUILTINS = frozenset({"sqrt", "exp", "log", "tanh", "sin", "cos"})
INT_BUILTINS = frozenset({"floor", "ceil", "round", "length"})


def join(first: Type | None, second: Type) -> Type:
    """The type that holds both."""
    if first is None or first in (second, NONE):
        return second
    if second == NONE:
        return first
    if first.name == second.name == "Seq" and first.element and second.element:
        return Type("Seq", join(first.element, second.element))
    return ANY


class Typing:
    """Infers the types of one section's names."""

    def __init__(
        self,
        statements: tuple[tree.Statement, ...],
        parameters: tuple[tree.Parameter, ...],
        functions: Mapping[str, tree.Function],
    ) -> None:
        self.functions = functions
        self.types: dict[str, Type] = {p.name: p.type for p in parameters}
        nodes = [node for node in everything(statements) if isinstance(node, tree.Statement)]
        self.kinds = {node.out: node.kind for node in nodes if isinstance(node, Stage)}
        self.kinds |= {node.name: node.kind for node in nodes if isinstance(node, tree.Declare)}
        self.real_sequences = {p.name for p in parameters if p.type == REALS} | {
            node.name for node in nodes if isinstance(node, tree.Let) and _makes_reals(node)
        }
        for _ in range(12):  # each pass lets types flow one binding further; loops settle quickly
            before = dict(self.types)
            for node in nodes:
                for name, found in self._bound(node):
                    self.types[name] = join(self.types.get(name), found)
            if self.types == before:
                return
        self.types = dict.fromkeys(self.types, ANY)

    def _bound(self, node: tree.Statement) -> Iterator[tuple[str, Type]]:
        match node:
            case Stage(out=out):
                yield out, TENSOR
            case tree.Declare(name=name):
                yield name, TENSOR
            case tree.Let(name=name, type=declared, value=value):
                yield name, declared or self.of(value)
            case tree.RepeatRange(name=name):
                yield name, INT
            case tree.RepeatEach(name=name, sequence=sequence):
                yield name, self.element(self.of(sequence))
            case tree.Pop(target=target, into=str() as into):
                yield into, self.element(self.of(target))
            case tree.Set(target=target, value=value):
                yield from self._set(target, self.of(value))
            case tree.Update(target=target, operator=operator, value=value):
                yield from self._set(target, self.of(tree.Binary(operator, target, value)))
            case tree.Push(target=tree.Name(id=name), value=value):
                if name not in self.real_sequences:
                    yield name, Type("Seq", self.of(value))

    def _set(self, target: tree.Expression, value: Type) -> Iterator[tuple[str, Type]]:
        name = root_name(target)
        if name is None or self.types.get(name) == TENSOR or name in self.real_sequences:
            return
        if isinstance(target, tree.Name):
            yield name, value
        elif isinstance(target, tree.Item) and isinstance(target.sequence, tree.Name):
            if self.types.get(name, ANY).name == "Seq":
                yield name, Type("Seq", value)

    def element(self, sequence: Type) -> Type:
        if sequence == TEXT:
            return TEXT
        return sequence.element or ANY if sequence.name == "Seq" else ANY

    def of(self, node: tree.Expression) -> Type:
        """The type of an expression; ANY where only a run can tell."""
        match node:
            case tree.IntLiteral() | tree.Length():
                return INT
            case tree.RealLiteral() | tree.Special():
                return REAL
            case tree.TextLiteral():
                return TEXT
            case tree.Name(id=name):
                return self.types.get(name, NONE)
            case tree.Unary(operator="-", operand=operand) | tree.Copy(value=operand):
                return self.of(operand)
            case tree.Binary():
                return self._binary(node)
            case tree.Call(function=function, arguments=arguments):
                return self._call(function, [self.of(a) for a in arguments])
            case tree.Item(sequence=sequence):
                return self._item(sequence)
            case tree.Items(sequence=sequence):
                return self.of(sequence)
            case tree.SeqLiteral(items=items):
                element: Type = NONE
                for item in items:
                    element = join(element, self.of(item))
                return Type("Seq", element)
            case tree.NewSeq(element=element):
                return Type("Seq", element)
        return BOOL

    def _item(self, sequence: tree.Expression) -> Type:
        of = self.of(sequence)
        if of == TENSOR and isinstance(sequence, tree.Name) and sequence.id in self.kinds:
            return Type(self.kinds[sequence.id])
        return self.element(of)

    def _binary(self, node: tree.Binary) -> Type:
        left, right = self.of(node.left), self.of(node.right)
        if node.operator == "combined with":
            return TEXT
        return _number(left, right) if {left, right} <= {INT, REAL} else ANY

    def _call(self, function: str, arguments: list[Type]) -> Type:
        if function in self.functions:
            return self.functions[function].result or ANY
        if function in REAL_BUILTINS:
            return REAL
        if function in INT_BUILTINS:
            return INT
        if not set(arguments) <= {INT, REAL}:
            return ANY
        return INT if set(arguments) == {INT} else REAL


def _makes_reals(node: tree.Let) -> bool:
    """Whether a Let says that the sequence holds Reals, so that an Int put into it becomes one."""
    return REALS in (node.type, Type("Seq", getattr(node.value, "element", None)))


def _number(left: Type, right: Type) -> Type:
    return INT if left == right == INT else REAL
