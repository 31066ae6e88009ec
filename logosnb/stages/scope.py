"""What the resolver knows of the names of one section while it reads it.

In: bindings as they are met. Out: `Scope`, `Tensor`, and the errors about names. May not know:
phrases.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from logosnb.language.errors import LogosSyntaxError, ShapeError
from logosnb.language.tree import Position
from logosnb.language.words import BUILTINS, closest
from logosnb.ops.op import Shape
from logosnb.stages.walk import Constant


@dataclass(frozen=True)
class Text:
    """The program's text, for quoting it and for errors that show it."""

    source: str
    first_line: int

    @cached_property
    def _lines(self) -> list[str]:
        return self.source.split("\n")

    def error(self, message: str, position: Position) -> LogosSyntaxError:
        return LogosSyntaxError(message, position, self.source, self.first_line)

    def shape_error(self, message: str, position: Position) -> ShapeError:
        return ShapeError(message, position, self.source, self.first_line)

    def quote(self, position: Position) -> str:
        """The statement at `position` as typed: its first line, or up to the colon of a block."""
        lines = self._lines
        index = position.line - self.first_line
        if not 0 <= index < len(lines):
            return ""
        same = position.end_line == position.line
        end = position.end_column - 1 if same else len(lines[index])
        return lines[index][position.column - 1 : end].strip()


@dataclass(frozen=True)
class Tensor:
    """shape is None where only a run can tell; kind is "Real" or "Int"."""

    shape: Shape | None
    kind: str


@dataclass
class Scope:
    """One section: Main or a function."""

    text: Text
    names: set[str]  # every name that the section binds anywhere
    functions: dict[str, int]  # name to how many parameters
    once: set[str] = field(default_factory=set)  # names bound and set exactly once
    tensors: dict[str, Tensor] = field(default_factory=dict)
    constants: dict[str, Constant] = field(default_factory=dict)

    def bind_tensor(self, name: str, tensor: Tensor, position: Position) -> None:
        """A tensor is bound once; a second binding is an error at the second."""
        if name in self.tensors:
            raise self.text.error(f"`{name}` is a tensor already: a tensor is bound once", position)
        self.tensors[name] = tensor
        self.names.add(name)

    def fresh(self, stem: str) -> str:
        """A name that the section does not have."""
        number = 1
        while f"{stem}_{number}" in self.names:
            number += 1
        self.names.add(f"{stem}_{number}")
        return f"{stem}_{number}"

    def unknown(self, name: str, position: Position, otherwise: str = "") -> LogosSyntaxError:
        """The error of a name that nothing binds; `otherwise` is the hint where no name is near."""
        near = closest(name, sorted(self.names))
        hint = f"; did you mean `{near}`?" if near else otherwise
        return self.text.error(f"`{name}` is not a name here{hint}", position)

    def check_name(self, name: str, position: Position) -> None:
        if name not in self.names:
            raise self.unknown(name, position)

    def check_call(self, function: str, count: int, position: Position) -> None:
        wanted = BUILTINS.get(function, self.functions.get(function))
        if wanted is None:
            near = closest(function, [*BUILTINS, *self.functions])
            hint = f"; did you mean `{near}`?" if near else ""
            raise self.text.error(f"there is no function `{function}`{hint}", position)
        at_least = function in ("min", "max")
        if count != wanted and not (at_least and count > wanted):
            counted = f"{'at least ' if at_least else ''}{wanted} argument{'s' * (wanted != 1)}"
            raise self.text.error(f"`{function}` takes {counted}, not {count}", position)
