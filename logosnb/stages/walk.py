"""Walks over the tree: children, names bound, names read, constants.

In: nodes of `language.tree`. Out: plain lists and values. May not know: the op table.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from functools import cache
from typing import Any

from logosnb.language import tree

Constant = int | float
BELOW = "below"  # the attribute of a statement under which `everything` keeps its list
LONGEST_POWER = 4096  # bits of an Int constant that `**` makes
# Statements that bind a name, and the field that holds it.
BINDERS = {tree.Let: "name", tree.RepeatRange: "name", tree.RepeatEach: "name", tree.Pop: "into"}


def children(node: tree.Node) -> Iterator[tree.Node]:
    """The nodes directly below, in the order of the text."""
    for name in _parts(type(node)):  # type: ignore[arg-type]  # a class is hashable
        yield from _nodes(getattr(node, name))


@cache
def _parts(kind: Any) -> tuple[str, ...]:
    return tuple(item.name for item in fields(kind) if item.name != "position")


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
    """The statements and everything below them; what stands below one is listed once and kept with it,
    since it never changes and every pass asks."""
    for statement in statements:
        kept = statement.__dict__.get(BELOW)
        if kept is None:
            kept = tuple(descendants(statement))
            object.__setattr__(statement, BELOW, kept)
        yield from kept


def let_names(statements: tuple[tree.Statement, ...]) -> set[str]:
    """The names that the statements bind: `Set` and `+=` change what is bound already."""
    nodes = [n for n in everything(statements) if type(n) in BINDERS or isinstance(n, tree.Declare)]
    return {name for n in nodes if (name := getattr(n, BINDERS.get(type(n), "name")))}


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
        case tree.Binary(operator=sign, left=left, right=right):
            return _folded(sign, constant(left, known), constant(right, known))
        case tree.Call(function="sqrt", arguments=(argument,)):
            inner = constant(argument, known)
            return None if inner is None or inner < 0 else _computed(math.sqrt, inner)
    return None


def real(value: Constant) -> float | None:
    """A number as a Real, None where it is too large for one."""
    number = _computed(float, value)
    return None if number is None else float(number)


def _folded(sign: str, left: Constant | None, right: Constant | None) -> Constant | None:
    if left is None or right is None:
        return None
    whole = isinstance(left, int) and isinstance(right, int)
    compute = (INT_ARITHMETIC if whole else REAL_ARITHMETIC).get(sign)
    return None if compute is None else _computed(compute, left, right)


def _computed(compute: Callable[..., Constant], *operands: Constant) -> Constant | None:
    """None where a run has to say what comes of it: a division by zero, a Real that is too large."""
    try:
        value = compute(*operands)
    except (ArithmeticError, ValueError):
        return None
    return value if isinstance(value, int) or math.isfinite(value) else None


def _truncated(left: int, right: int) -> int:
    """`/` of Ints, toward zero."""
    return abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)


def _power(left: int, right: int) -> int:
    """An Int to an Int; not where it is no Int, and not where it would take long to find."""
    if right < 0 or left.bit_length() * right > LONGEST_POWER:
        raise ArithmeticError
    return int(left**right)


INT_ARITHMETIC: Mapping[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "/": _truncated,
    "%": lambda left, right: left - right * _truncated(left, right),
    "**": _power,
}
REAL_ARITHMETIC: Mapping[str, Callable[[Constant, Constant], Constant]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}
