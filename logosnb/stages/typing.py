"""The static type of every name and expression of a program.

In: the resolved tree of a Program. Out: for each section its `Types`: name to type, and the type of
any expression. May not know: how a program is run.

The types are those of `language.tree`, with three more: `Number` (an Int or a Real, a run tells),
`Any`, and `Nothing` (no value yet: the elements of `[]`). A tensor's type has its kind as element,
`Number` where a parameter may be either. A name has one type in its section, the join of all that
is bound to it, wherever in the section that stands; a type that the program gives it (`Let x: Real
be 5.`, `a new Seq of Real`, a tensor, a parameter) holds for all of these, and what is bound is converted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from logosnb.language import tree
from logosnb.language.tree import BOOL, INT, REAL, TEXT, Expression, Statement, Type
from logosnb.language.words import BUILTINS
from logosnb.stages.program import Program
from logosnb.stages.stage import Stage
from logosnb.stages.walk import everything

ANY, NUMBER, NOTHING = Type("Any"), Type("Number"), Type("Nothing")
NUMERIC = frozenset({INT, REAL, NUMBER})
DEEPEST = 8  # Seqs inside each other; `Push xs to xs.` would go on for ever

ALWAYS: Mapping[type[Expression], Type] = {
    tree.IntLiteral: INT,
    tree.RealLiteral: REAL,
    tree.Special: REAL,
    tree.TextLiteral: TEXT,
    tree.Length: INT,
    **dict.fromkeys((tree.BoolLiteral, tree.Logic, tree.Comparison, tree.Between), BOOL),
    **dict.fromkeys((tree.Parity, tree.Divisible, tree.Contains), BOOL),
}


def sequence(element: Type) -> Type:
    """`Seq of element`; Any where the nesting gets out of hand."""
    depth, inner = 0, element
    while inner.element is not None:
        depth, inner = depth + 1, inner.element
    return Type("Seq", element) if depth < DEEPEST else ANY


def tensor(kind: str) -> Type:
    """A tensor of "Real", "Int" or, where only a run can tell, "Number"."""
    return Type("Tensor", Type(kind))


def declared(written: Type) -> Type:
    """The type that a program's text gives."""
    if written.element is not None:
        return sequence(declared(written.element))
    return tensor("Number") if written.name == "Tensor" else written


def join(left: Type, right: Type) -> Type:
    """The least type that holds the values of both."""
    if left == right or right == NOTHING:
        return left
    if left == NOTHING:
        return right
    if left in NUMERIC and right in NUMERIC:
        return NUMBER
    if left.name == right.name and left.element is not None and right.element is not None:
        return Type(left.name, join(left.element, right.element))
    return ANY


def element_of(whole: Type) -> Type:
    """The type of an item of a value."""
    if whole.element is not None:
        return whole.element
    return whole if whole in (TEXT, NOTHING) else ANY


def arithmetic(*operands: Type) -> Type:
    """Int only where all are Int, Real where one is; what is no number does not come to a result."""
    if NOTHING in operands:
        return NOTHING
    if all(operand == INT for operand in operands):
        return INT
    return REAL if REAL in operands else NUMBER


@dataclass(frozen=True)
class Types:
    """One section. names: the type of each name; fixed: the types that the program gives, which
    hold whatever is bound; functions: those of the program."""

    names: Mapping[str, Type]
    fixed: Mapping[str, Type]
    functions: Mapping[str, tree.Function]

    def of(self, expression: Expression) -> Type:
        """The type of an expression in this section."""
        match expression:
            case tree.Name(id=name):
                return self.names.get(name, NOTHING)
            case tree.Unary(operator=sign, operand=operand):
                return BOOL if sign == "not" else arithmetic(self.of(operand))
            case tree.Binary(operator=sign, left=left, right=right):
                joins = sign == "combined with"
                return TEXT if joins else arithmetic(self.of(left), self.of(right))
            case tree.Call():
                return self._call(expression)
            case tree.Item(sequence=whole):
                return element_of(self.of(whole))
            case tree.Items(sequence=whole):
                return _part(self.of(whole))
            case tree.Copy(value=value):
                return self.of(value)
            case tree.SeqLiteral(items=items):
                return sequence(_joined(self.of(item) for item in items))
            case tree.NewSeq(element=element):
                return sequence(declared(element))
        return ALWAYS.get(type(expression), ANY)

    def _call(self, call: tree.Call) -> Type:
        match call.function:
            case "abs" | "min" | "max" | "pow":
                return arithmetic(*(self.of(argument) for argument in call.arguments))
            case "floor" | "ceil" | "round" | "length":
                return INT
        if call.function in BUILTINS:
            return REAL
        result = self.functions[call.function].result
        return declared(result) if result is not None else ANY


def _joined(types: Iterator[Type]) -> Type:
    whole = NOTHING
    for part in types:
        whole = join(whole, part)
    return whole


def _part(whole: Type) -> Type:
    """The type of `items a through b of` a value."""
    return sequence(element_of(whole)) if whole.name == "Tensor" else whole


# ---- a section --------------------------------------------------------------------------------


def program_types(program: Program) -> tuple[Types, Mapping[str, Types]]:
    """The types of Main, and of each function."""
    functions = program.functions
    inside = {
        name: section_types(function.body, function.parameters, functions)
        for name, function in functions.items()
    }
    return section_types(program.main, (), functions), inside


def section_types(
    statements: tuple[Statement, ...],
    parameters: tuple[tree.Parameter, ...],
    functions: Mapping[str, tree.Function],
) -> Types:
    """The types of one section, found by going over its bindings until nothing changes."""
    fixed = _fixed(statements, parameters)
    names = dict(fixed)
    types = Types(names, fixed, functions)
    nodes = list(everything(statements))
    changed = True
    while changed:
        changed = False
        for name, found in _bound(nodes, types):
            wider = join(names.get(name, NOTHING), found)
            if name not in fixed and wider != names.get(name, NOTHING):
                names[name], changed = wider, True
    return types


def _fixed(
    statements: tuple[Statement, ...], parameters: tuple[tree.Parameter, ...]
) -> dict[str, Type]:
    """The types that the text gives to names, where it gives each one only."""
    given = [(parameter.name, parameter.type) for parameter in parameters]
    tensors: list[tuple[str, Type]] = []
    for node in everything(statements):
        if isinstance(node, tree.Let) and node.type is not None:
            given.append((node.name, node.type))
        elif isinstance(node, tree.Let) and isinstance(node.value, tree.NewSeq):
            given.append((node.name, Type("Seq", node.value.element)))
        elif isinstance(node, tree.Declare):
            tensors.append((node.name, tensor(node.kind)))
        elif isinstance(node, Stage) and node.definition.writes is None:
            tensors.append((node.out, tensor(node.kind)))
    every: dict[str, set[Type]] = {}
    for name, type_ in [*((name, declared(written)) for name, written in given), *tensors]:
        every.setdefault(name, set()).add(type_)
    return {name: next(iter(types)) for name, types in every.items() if len(types) == 1}


def _bound(nodes: list[tree.Node], types: Types) -> Iterator[tuple[str, Type]]:
    """Each name that a node binds, with the type of what it binds."""
    for node in nodes:
        match node:
            case tree.Declare(name=name, kind=kind) | Stage(out=name, kind=kind):
                yield name, tensor(kind)
            case tree.Let(name=name, value=value, type=written):
                yield name, declared(written) if written is not None else types.of(value)
            case tree.RepeatRange(name=name):
                yield name, INT
            case tree.RepeatEach(name=name, sequence=whole):
                yield name, element_of(types.of(whole))
            case tree.Set(target=target, value=value):
                yield from _placed(target, types.of(value), types)
            case tree.Update(target=target, value=value):
                yield from _placed(target, arithmetic(types.of(target), types.of(value)), types)
            case tree.Push(target=target, value=value):
                yield from _placed(target, sequence(types.of(value)), types)
            case tree.Pop(target=target, into=into) if into is not None:
                yield into, element_of(types.of(target))
            case tree.Call():
                yield from _lent(node, types)


def _placed(target: Expression, value: Type, types: Types) -> Iterator[tuple[str, Type]]:
    """What setting an item, or an item of an item, says of the name at the root."""
    while isinstance(target, tree.Item):
        if types.of(target.sequence).name != "Seq":
            return
        target, value = target.sequence, sequence(value)
    if isinstance(target, tree.Name):
        yield target.id, value


def _lent(call: tree.Call, types: Types) -> Iterator[tuple[str, Type]]:
    """A name passed as `mutable` may come back with whatever the parameter holds."""
    function = types.functions.get(call.function)
    if function is None or call.function in BUILTINS:
        return
    for parameter, argument in zip(function.parameters, call.arguments):
        if parameter.mutable and isinstance(argument, tree.Name):
            yield argument.id, declared(parameter.type)
