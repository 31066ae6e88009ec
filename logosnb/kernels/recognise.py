"""The loops that attention's rule wrote, or that someone typed the same way, recognised.

In: a loop of Main. Out: the task that does the same, or None. May not know: how it is computed.

What the loop would have to be is read off its tree; then the rule of the op table is written out for
that, and the two trees compared, so that nothing passes that differs anywhere but in names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from logosnb.gradient.sweep import stage_values
from logosnb.kernels.attention import GRADIENTS, AttendBackward, form_of
from logosnb.kernels.rename import renamed
from logosnb.kernels.workshop import Workshop
from logosnb.language import tree
from logosnb.language.parser import parse_source
from logosnb.language.tree import Statement
from logosnb.ops.op import Shape
from logosnb.ops.table import TABLE
from logosnb.ops.template import render
from logosnb.stages.stage import Stage
from logosnb.stages.walk import bound_names, everything

ATTENTION = "Attention"


def recognised(
    statement: Statement, wanted: frozenset[str], shop: Workshop
) -> AttendBackward | None:
    """The loop as attention's backward pass; `wanted` are names that are read after it."""
    if shop.general or not isinstance(statement, tree.RepeatRange) or len(statement.body) > 4:
        return None
    if wanted & {n for n in bound_names((statement,)) if n not in shop.shapes}:
        return None
    try:
        reading = Reading(statement)
        named, operands = reading.tensors(), reading.operands(shop)
    except (Unlike, AttributeError, KeyError):
        return None
    if any(shop.kinds.get(name) != "Real" for name in named.values()):
        return None
    return _if_same(statement, named, operands, shop)


def _if_same(
    statement: tree.RepeatRange, named: dict[str, str], operands: dict[str, Any], shop: Workshop
) -> AttendBackward | None:
    shapes = {hole: shop.shapes[name] for hole, name in named.items()}
    operands |= {"key_heads": operands["heads"] // operands.pop("sharing")}
    form = _form(operands, shapes)
    apart = len(set(named.values())) == len(named)
    if form is None or not apart or ("dsinks" in named and "sinks" not in named):
        return None
    own = {name: hole_name(hole) for hole, name in named.items()}
    expected = _rule(tuple(sorted(operands.items())), tuple(sorted(shapes.items())))
    if _canonical(renamed(statement, own)) != expected:
        return None
    gradients = tuple(named.get(f"d{hole}") for hole in GRADIENTS)
    line = (statement.position.line,)
    return AttendBackward(
        ATTENTION, line, form, named["q"], named["k"], named["v"], named.get("sinks"), named["dy"],
        gradients,
    )  # fmt: skip


def _form(operands: dict[str, Any], shapes: dict[str, Shape]) -> Any:
    heads, groups = operands["heads"], operands["key_heads"]
    q, k, v = (shapes[hole] for hole in "qkv")
    even = q.columns % heads == k.columns % groups == v.columns % groups == 0
    return form_of(operands, shapes) if even and q.columns // heads == k.columns // groups else None


def hole_name(hole: str) -> str:
    return f"hole_{hole}"


@lru_cache(maxsize=64)
def _rule(operands: tuple[tuple[str, Any], ...], shapes: tuple[tuple[str, Shape], ...]) -> Any:
    """The loop of attention's rule for these operands and shapes."""
    definition = TABLE[ATTENTION]
    by_hole = dict(shapes)
    reads: dict[str, Any] = {
        hole: hole_name(hole) for hole in ("q", "k", "v", "sinks") if hole in by_hole
    }
    kinds = dict.fromkeys(reads.values(), "Real")
    stage = Stage(ATTENTION, definition, "y", {**reads, **dict(operands)}, by_hole["dy"], "Real")
    named = {hole_name(hole): shape for hole, shape in shapes}
    values = stage_values(stage, named, kinds)
    values |= {hole: hole_name(hole) for hole in by_hole}
    assert isinstance(definition.adjoint, dict)
    (text,) = definition.adjoint.values()
    lines = render(text, values, {*by_hole, *dict(operands)}, lambda stem, _: stem)
    loop = parse_source("\n".join(lines) + "\n").main[-1]
    return _canonical(loop)


def _canonical(statement: Statement) -> Statement:
    """With local names by their order; positions do not count."""
    names = dict.fromkeys(n for n in bound_names((statement,)) if not n.startswith("hole_"))
    return renamed(statement, {name: f"local_{place}" for place, name in enumerate(names)})


class Unlike(Exception):
    """A loop that is not the rule's."""


class Reading:
    """What a loop would be if it were the rule's; raises Unlike where it cannot be."""

    def __init__(self, loop: tree.RepeatRange) -> None:
        self.loop = loop
        self.nodes = list(everything((loop,)))

    def _first(self, kind: Any, holds: Callable[[Any], Any]) -> Any:
        for node in self.nodes:
            if isinstance(node, kind) and holds(node):
                return node
        raise Unlike

    def tensors(self) -> dict[str, str]:
        """Hole to tensor, the gradients as dq, dk, dv, dsinks."""
        product = self._first(tree.Let, lambda let: _is_product_of_items(let.value)).value
        found = {"q": product.left.sequence.id, "k": product.right.sequence.id}
        found["v"] = self._first(tree.Set, _adds_times_item).value.right.right.sequence.id
        found["dy"] = self._first(
            tree.Let,
            lambda let: (
                _is(let.value, tree.Item)
                and _is(let.value.index, tree.Binary)
                and let.value.sequence.id != found["k"]
            ),
        ).value.sequence.id
        found |= dict(self._sinks())
        return found | dict(self._gradients(found))

    def _sinks(self) -> Iterator[tuple[str, str]]:
        for node in self.nodes:
            if isinstance(node, tree.Let) and node.mutable and isinstance(node.value, tree.Item):
                yield "sinks", _sequence(node.value)

    def _gradients(self, named: dict[str, str]) -> Iterator[tuple[str, str]]:
        for node in self.nodes:
            if isinstance(node, tree.Set) and isinstance(node.target, tree.Item):
                yield f"d{_operand(node.value, named)}", _sequence(node.target)

    def operands(self, shop: Workshop) -> dict[str, Any]:
        """The numbers of the op, as a stage has them."""
        heads = self._first(tree.RepeatRange, lambda loop: loop is not self.loop).last.value
        group = self._first(tree.Let, lambda let: _divides(let.value)).value
        scaled = self._first(tree.Set, _scales)
        found = {
            "heads": heads,
            "sharing": group.left.right.value,
            "scale": scaled.value.right.value,
        }
        values: list[Any] = [s.value for s in self.loop.body if isinstance(s, tree.Let)]
        last, *others = values
        if _is(last, tree.Binary):
            position = last.left.left
            number = getattr(position, "value", None)
            found["position"] = number or shop.program.constants[position.id]
        first = others[-1]
        if _is(first, tree.Call):
            found["window"] = first.arguments[1].left.right.value
        elif _is(first, tree.Binary):
            found["chunk"] = first.left.right.value
        for bent in (n for n in self.nodes if isinstance(n, tree.Call) and n.function == "tanh"):
            ratio: Any = bent.arguments[0]
            found["cap"] = ratio.right.value
        return found


def _is(value: Any, kind: Any) -> bool:
    """isinstance, for parts of a loop that is not yet known to be what it is taken for."""
    return isinstance(value, kind)


def _sequence(item: tree.Item) -> str:
    if not isinstance(item.sequence, tree.Name):
        raise Unlike
    return item.sequence.id


def _is_product_of_items(value: tree.Expression) -> bool:
    return (
        isinstance(value, tree.Binary)
        and value.operator == "*"
        and isinstance(value.left, tree.Item)
        and isinstance(value.right, tree.Item)
    )


def _adds_times_item(set_: tree.Set) -> bool:
    """`Set slope to slope + slope_y * (item at of v)`."""
    value = set_.value
    return (
        isinstance(set_.target, tree.Name)
        and isinstance(value, tree.Binary)
        and isinstance(value.right, tree.Binary)
        and isinstance(value.right.right, tree.Item)
    )


def _scales(set_: tree.Set) -> bool:
    """`Set score to score * 0.125`."""
    value = set_.value
    return (
        isinstance(value, tree.Binary)
        and value.operator == "*"
        and value.left == set_.target
        and isinstance(value.right, tree.IntLiteral | tree.RealLiteral)
    )


def _divides(value: tree.Expression) -> bool:
    """`(head - 1) / 2 + 1`."""
    return (
        isinstance(value, tree.Binary)
        and isinstance(value.left, tree.Binary)
        and value.left.operator == "/"
        and isinstance(value.right, tree.IntLiteral)
    )


def _operand(value: Any, named: dict[str, str]) -> str:
    """Whose gradient `Set item e of t to …` adds to, by what it multiplies."""
    if value.operator == "-":
        return "sinks"
    factor = value.right.right
    if isinstance(factor, tree.Name):
        return "v"
    return {named["k"]: "q", named["q"]: "k"}[factor.sequence.id]
