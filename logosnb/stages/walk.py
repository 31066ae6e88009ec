"""Walks over the tree: children, names bound, names read, constants.

In: nodes of `language.tree`. Out: plain lists and values. May not know: the op table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields

from logosnb.language import tree

Constant = int | float
# Statements that bind a name, and the field that holds it.
BINDERS = {tree.Let: "name", tree.RepeatRange: "name", tree.RepeatEach: "name", tree.Pop: "into"}


def children(node: tree.Node) -> Iterator[tree.Node]:
    """The nodes directly below, in the order of the text."""
    for item in fields(node):
        yield from _nodes(getattr(node, item.name))


def _nodes(value: object) -> Iterator[tree.Node]:
    if isinstance(value, tree.Node):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from _nodes(part)


def descendants(node: tree.Node) -> Iterator[tree.Node]:
    """The node and everything below it."""
    yield node
    for child in children(node):
        yield from descendants(child)


def everything(statements: tuple[tree.Statement, ...]) -> Iterator[tree.Node]:
    for statement in statements:
        yield from descendants(statement)


def bound_names(statements: tuple[tree.Statement, ...]) -> list[str]:
    """Every name that the statements bind, as often as they bind or set it."""
    names = []
    for node in everything(statements):
        if isinstance(node, tree.Declare):
            names.append(node.name)
        elif type(node) in BINDERS:
            names.append(getattr(node, BINDERS[type(node)]) or "")
        elif isinstance(node, (tree.Set, tree.Update)) and isinstance(node.target, tree.Name):
            names.append(node.target.id)
    return [name for name in names if name]


def root_name(place: tree.Expression) -> str | None:
    """The name at the root of a place: `xs` of `item 1 of (item 2 of xs)`."""
    while isinstance(place, tree.Item):
        place = place.sequence
    return place.id if isinstance(place, tree.Name) else None


def constant(expression: tree.Expression, known: Mapping[str, Constant]) -> Constant | None:
    """The value of an expression of literals and known constants, None if it is none."""
    match expression:
        case tree.IntLiteral(value=value) | tree.RealLiteral(value=value):
            return value
        case tree.Name(id=name):
            return known.get(name)
        case tree.Unary(operator="-", operand=operand):
            inner = constant(operand, known)
            return None if inner is None else -inner
        case tree.Binary(operator=operator, left=left, right=right):
            return _folded(operator, constant(left, known), constant(right, known))
        case tree.Call(function="sqrt", arguments=(argument,)):
            inner = constant(argument, known)
            return None if inner is None or inner < 0 else float(inner) ** 0.5
    return None


def _folded(operator: str, left: Constant | None, right: Constant | None) -> Constant | None:
    if left is None or right is None:
        return None
    if operator in ("/", "//") and right != 0:
        return _quotient(operator, left, right)
    simple = {"+": left + right, "-": left - right, "*": left * right}
    return simple.get(operator)


def _quotient(operator: str, left: Constant, right: Constant) -> Constant | None:
    """`/` of Ints truncates toward zero, `//` floors; with a Real, `/` is the plain quotient."""
    if isinstance(left, int) and isinstance(right, int):
        floored = left // right
        return floored + 1 if operator == "/" and floored < 0 and left % right else floored
    return left / right if operator == "/" else None
