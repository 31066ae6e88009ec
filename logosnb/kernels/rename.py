"""The same statements with other names.

In: tree nodes and a mapping of names. Out: new nodes. May not know: what the names stand for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar

from logosnb.language import tree

AnyNode = TypeVar("AnyNode", bound=tree.Node)
NAMED = {
    tree.Name: "id",
    tree.Let: "name",
    tree.Declare: "name",
    tree.RepeatRange: "name",
    tree.RepeatEach: "name",
    tree.Pop: "into",
}


def renamed(node: AnyNode, names: Mapping[str, str]) -> AnyNode:
    """The node with each name that the mapping has replaced, wherever it stands."""
    changed = {
        field.name: _renamed_value(getattr(node, field.name), names) for field in fields(node)
    }
    own = NAMED.get(type(node))
    if own is not None and changed[own] in names:
        changed[own] = names[changed[own]]
    return replace(node, **changed)


def _renamed_value(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, tuple):
        return tuple(_renamed_value(part, names) for part in value)
    if isinstance(value, tree.Node):
        return renamed(value, names)
    return value
