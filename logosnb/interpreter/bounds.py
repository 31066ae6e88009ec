"""Lower bounds of Ints: which index can be known to be at least one.

In: the resolved statements of a section. Out: for each name the least Int it can hold, minus
infinity where nothing is known. May not know: Python code.

An index of at least one needs no check against Python's counting from the end. A name's bound is
the least of all that is bound to it; bounds start high and fall until they hold, and one that keeps
falling (`i -= 1`) falls to minus infinity.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import inf

from logosnb.language import tree
from logosnb.language.tree import Expression, Statement
from logosnb.stages.walk import everything

ROUNDS = 4  # after which a bound that still falls is given up
LARGEST = 1 << 40  # bounds are held to this, so that they never grow beyond what a float compares

Lows = Mapping[str, float]


def lows_of(
    statements: tuple[Statement, ...], parameters: tuple[tree.Parameter, ...] = ()
) -> dict[str, float]:
    """The lower bound of every name that the statements bind."""
    nodes = list(everything(statements))
    lows: dict[str, float] = {}
    for round_ in range(len(nodes) + ROUNDS):
        found: dict[str, float] = {parameter.name: -inf for parameter in parameters}
        for name, bound in _bound(nodes, lows):
            found[name] = min(bound, found.get(name, inf))
        fallen = [name for name, bound in found.items() if bound < lows.get(name, inf)]
        if not fallen:
            return lows
        lows.update({name: found[name] if round_ < ROUNDS else -inf for name in fallen})
    return dict.fromkeys(lows, -inf)


def _bound(nodes: list[tree.Node], lows: Lows) -> Iterator[tuple[str, float]]:
    for node in nodes:
        match node:
            case tree.Let(name=name, value=value):
                yield name, low(value, lows)
            case tree.Set(target=tree.Name(id=name), value=value):
                yield name, low(value, lows)
            case tree.Update(target=tree.Name(id=name), operator=sign, value=value):
                yield name, low(tree.Binary(sign, tree.Name(name), value), lows)
            case tree.RepeatRange(name=name, first=first):
                yield name, low(first, lows)
            case tree.RepeatEach(name=name):
                yield name, -inf
            case tree.Pop(into=into) if into is not None:
                yield into, -inf


def low(expression: Expression, lows: Lows) -> float:
    """The least Int that the expression can be, if it is an Int."""
    match expression:
        case tree.IntLiteral(value=value):
            return _held(value)
        case tree.Name(id=name):
            return lows.get(name, inf)
        case tree.Binary(operator="-", left=left, right=tree.IntLiteral(value=value)):
            return _held(low(left, lows) - _held(value)) if value < LARGEST else -inf
        case tree.Binary(operator=sign, left=left, right=right):
            return _held(_combined(sign, low(left, lows), low(right, lows)))
        case tree.Call(function="min", arguments=arguments):
            return min(low(argument, lows) for argument in arguments)
        case tree.Call(function="max", arguments=arguments):
            return max(low(argument, lows) for argument in arguments)
        case tree.Length() | tree.Call(function="abs" | "length"):
            return 0
    return -inf


def _combined(sign: str, left: float, right: float) -> float:
    if sign == "+":
        return left + right if -inf not in (left, right) else -inf
    if left < 0 or (right < 0 and sign != "%"):
        return -inf
    if sign == "*":
        return left * right if 0 not in (left, right) else 0
    return 0 if sign in ("/", "//", "%", "**") else -inf


def _held(bound: float) -> float:
    return min(bound, LARGEST) if bound >= -LARGEST else -inf
