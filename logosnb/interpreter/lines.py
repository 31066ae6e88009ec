"""The Python text that a program becomes, and where in the program each of its lines comes from.

In: lines, one at a time. Out: the text, and for each line its `Place`. May not know: how a
statement is written in Python.

Names of the program get a prefix, so that none can clash with Python's or with a helper's: `v_x` is
`x`, `m_v_x` the flat view of tensor `x`, `f_v_x` the function `x`. Letters beyond ASCII are written
by their bytes, since Python takes some different names for one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from logosnb.language.tree import Position


class Access(NamedTuple):
    """A direct access to an item: its Python text, that of what holds it and of its place (which
    counts from one), and the name for a sentence. The texts can be run again, without effects."""

    text: str
    holder: str
    place: str
    name: str


@dataclass(frozen=True)
class Place:
    position: Position
    accesses: tuple[Access, ...]


def variable(name: str) -> str:
    """The Python name of a LOGOS name."""
    return f"v_{name}" if name.isascii() else f"u_{name.encode().hex()}"


def original(python_name: str) -> str | None:
    """The LOGOS name of a Python name; None for a name of the interpreter's own."""
    bare = python_name.removeprefix("m_").removeprefix("f_")
    if bare.startswith("v_"):
        return bare[2:]
    return bytes.fromhex(bare[2:]).decode() if bare.startswith("u_") else None


class Lines:
    """Collects lines. `note` is called for the accesses of the line that is added next."""

    def __init__(self) -> None:
        self.places: list[Place] = []
        self.depth = 0
        self._texts: list[str] = []
        self._accesses: list[Access] = []

    @property
    def text(self) -> str:
        return "\n".join(self._texts) + "\n"

    def note(self, access: Access) -> None:
        self._accesses.append(access)

    def add(self, text: str, position: Position) -> None:
        self._texts.append(" " * self.depth + text)
        self.places.append(Place(position, tuple(self._accesses)))
        self._accesses.clear()
