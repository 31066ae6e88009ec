"""How large the Ints of a loop nest can get: which index is surely in range, which loop carries nothing.

In: statements without ops, the values of constants. Out: intervals of names and expressions, and
affine forms in one loop variable. May not know: Python code, tensors' contents.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

from logosnb.language import tree
from logosnb.language.tree import Expression, Statement
from logosnb.stages.walk import everything

ROUNDS = 4  # after which a bound that still moves is given up
SAFE = float(2**62)  # an Int surely below this needs no check against 64 bits


class Interval(NamedTuple):
    """The Ints from low to high, both included; infinite where nothing is known."""

    low: float
    high: float

    @property
    def known(self) -> bool:
        return self.low > -SAFE and self.high < SAFE

    def join(self, other: Interval) -> Interval:
        return Interval(min(self.low, other.low), max(self.high, other.high))


ANYTHING = Interval(-inf, inf)


@dataclass(frozen=True)
class Ranges:
    """names: the interval of each Int name of the nest; once: the names that are always bound to one
    expression, with it."""

    names: Mapping[str, Interval]
    once: Mapping[str, Expression] = field(default_factory=dict)

    def of(self, expression: Expression) -> Interval:
        match expression:
            case tree.IntLiteral(value=value):
                return Interval(value, value)
            case tree.Name(id=name):
                return self.names.get(name, ANYTHING)
            case tree.Unary(operator="-", operand=operand):
                inner = self.of(operand)
                return Interval(-inner.high, -inner.low)
            case tree.Binary(operator=sign, left=left, right=right):
                return combined(sign, self.of(left), self.of(right))
            case tree.Call(function="min" | "max" as name, arguments=arguments):
                parts = [self.of(argument) for argument in arguments]
                choose = min if name == "min" else max
                return Interval(choose(p.low for p in parts), choose(p.high for p in parts))
        return ANYTHING

    def affine(self, expression: Expression, variable: str) -> tuple[int, Interval] | None:
        """(c, rest) where the expression is c·variable + something in rest that does not depend on
        the variable; None where that cannot be seen."""
        match expression:
            case tree.Name(id=name):
                if name == variable:
                    return 1, Interval(0, 0)
                if name in self.once:
                    return self.affine(self.once[name], variable)
            case tree.Binary(operator="+" | "-" as sign, left=left, right=right):
                return _sum(sign, self.affine(left, variable), self.affine(right, variable))
            case tree.Binary(operator="*", left=left, right=right):
                return _scaled(self.affine(left, variable), self.affine(right, variable))
        return None if mentions(expression, variable, self.once) else (0, self.of(expression))


def mentions(expression: Expression, variable: str, once: Mapping[str, Expression]) -> bool:
    """Whether an expression reads the variable, also through the names of `once`."""
    names = _names(expression)
    return variable in names or any(
        mentions(once[name], variable, once) for name in names if name in once
    )


def combined(sign: str, left: Interval, right: Interval) -> Interval:
    match sign:
        case "+":
            return Interval(left.low + right.low, left.high + right.high)
        case "-":
            return Interval(left.low - right.high, left.high - right.low)
        case "*":
            corners = [_product(a, b) for a in left for b in right]
            return Interval(min(corners), max(corners))
        case "/" | "//" if left.low >= 0 and right.low >= 1:
            return Interval(left.low // right.high, left.high // right.low)
        case "%" if left.low >= 0 and right.low >= 1:
            return Interval(0, min(left.high, right.high - 1))
    return ANYTHING


def _product(a: float, b: float) -> float:
    return 0 if 0 in (a, b) else a * b


Affine = tuple[int, Interval]


def _sum(sign: str, left: Affine | None, right: Affine | None) -> Affine | None:
    if left is None or right is None:
        return None
    factor = left[0] + right[0] if sign == "+" else left[0] - right[0]
    return factor, combined(sign, left[1], right[1])


def _scaled(left: Affine | None, right: Affine | None) -> Affine | None:
    if left is None or right is None or (left[0] and right[0]):
        return None
    varying, fixed = (left, right) if left[0] else (right, left)
    if varying[0] and (fixed[1].low != fixed[1].high or not fixed[1].known):
        return None
    factor = varying[0] * int(fixed[1].low) if varying[0] else 0
    return factor, combined("*", varying[1], fixed[1])


def ranges_of(statements: tuple[Statement, ...], known: Mapping[str, int]) -> Ranges:
    """The intervals of the Int names that the statements bind; `known` are constants outside."""
    nodes = list(everything(statements))
    bound = [pair for node in nodes for pair in _bindings(node)]
    once = _always_the_same(bound)
    intervals = {name: Interval(value, value) for name, value in known.items()}
    for round_ in range(len(bound) + ROUNDS):
        found = _round(bound, Ranges(intervals))
        if all(intervals.get(name) == interval for name, interval in found.items()):
            break
        wide = round_ >= ROUNDS
        intervals = {
            **intervals,
            **{n: _widened(i, intervals.get(n), wide) for n, i in found.items()},
        }
    return Ranges(intervals, once)


def _always_the_same(bound: list[Binding]) -> dict[str, Expression]:
    """The names whose every binding says the same expression, with it."""
    said: dict[str, list[Expression | None]] = {}
    for name, low, high in bound:
        said.setdefault(name, []).append(low if low is high else None)
    same = {n: e[0] for n, e in said.items() if e[0] is not None and all(x == e[0] for x in e)}
    return _without_cycles(same)


def _without_cycles(same: dict[str, Expression]) -> dict[str, Expression]:
    """Those names whose expressions do not come back to themselves."""
    kept: dict[str, Expression] = {}
    waiting = dict(same)
    while True:
        ready = [name for name, value in waiting.items() if not _names(value) & set(waiting)]
        if not ready:
            return kept
        kept |= {name: waiting.pop(name) for name in ready}


def _names(expression: Expression) -> set[str]:
    return {n.id for n in everything((tree.Show(expression),)) if isinstance(n, tree.Name)}


def _round(bound: list[Binding], ranges: Ranges) -> dict[str, Interval]:
    found: dict[str, Interval] = {}
    for name, low, high in bound:
        if low is None or high is None:
            interval = ANYTHING
        else:
            interval = Interval(ranges.of(low).low, ranges.of(high).high)
        found[name] = interval.join(found[name]) if name in found else interval
    return found


def _widened(new: Interval, old: Interval | None, wide: bool) -> Interval:
    """A bound that keeps moving is given up."""
    if old is None or not wide:
        return new
    low = -inf if new.low < old.low else new.low
    return Interval(low, inf if new.high > old.high else new.high)


Binding = tuple[str, Expression | None, Expression | None]  # name, least and greatest value


def _bindings(node: tree.Node) -> Iterator[Binding]:
    match node:
        case tree.Let(name=name, value=value) | tree.Set(target=tree.Name(id=name), value=value):
            yield name, value, value
        case tree.Update(target=tree.Name(id=name) as target, operator=sign, value=value):
            changed = tree.Binary(sign, target, value)
            yield name, changed, changed
        case tree.RepeatRange(name=name, first=first, last=last):
            yield name, first, last
        case tree.RepeatEach(name=name):
            yield name, None, None
        case tree.Pop(into=str() as name):
            yield name, None, None
