"""One section while it is compiled, and the door through which every expression goes.

In: expressions. Out: `Code`, the Python text of an expression with its static type. May not know:
how any kind of expression is written: the files write_*.py register that with `emit`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import singledispatch
from typing import Any, NamedTuple

from logosnb.interpreter.bounds import Lows, low
from logosnb.interpreter.lines import Lines, variable
from logosnb.language import tree
from logosnb.language.printer import print_expression
from logosnb.language.tree import Expression, Position, Type
from logosnb.language.words import BUILTINS
from logosnb.stages.typing import ANY, NOTHING, NUMERIC, Types
from logosnb.stages.walk import descendants

# How tightly a piece of Python text holds together.
LOOSE, SUM, PRODUCT, ATOM = range(4)
SHORT = 40  # characters of Python that may be written twice


class Code(NamedTuple):
    """Python text of an expression, its type, and how tightly it holds together."""

    text: str
    type: Type
    level: int = ATOM

    def within(self, level: int) -> str:
        """The text, in brackets where it holds together less than `level`."""
        return self.text if self.level >= level else f"({self.text})"

    @property
    def simple(self) -> bool:
        """Whether it is a name or a short literal, which may be written twice."""
        return self.text.isidentifier()


@dataclass
class Section:
    """A section's names and what is known of them.

    name: of the function, None for Main. borrowed: parameters that the section shares with its
    caller. changed: function to the parameters that it changes. flat: tensors of which items are
    used. objects: what the Python text refers to by name.
    """

    name: str | None
    types: Types
    lows: Lows
    lines: Lines
    objects: dict[str, Any]
    changed: Mapping[str, frozenset[str]]
    declared: frozenset[str] = frozenset()
    borrowed: frozenset[str] = frozenset()
    flat: frozenset[str] = frozenset()
    loops: int = 0
    temporaries: int = field(default=0)

    def type_of(self, expression: Expression) -> Type:
        """The static type; Any for what has no value yet."""
        found = self.types.of(expression)
        return ANY if found == NOTHING else found

    def low(self, expression: Expression) -> float:
        return low(expression, self.lows)

    def temporary(self) -> str:
        """A Python name of the interpreter's own."""
        self.temporaries += 1
        return f"t_{self.temporaries}"

    def object(self, value: Any) -> str:
        """The Python name by which the text refers to a Python object."""
        name = f"o_{len(self.objects)}"
        self.objects[name] = value
        return name

    def add(self, text: str, position: Position) -> None:
        self.lines.add(text, position)


@singledispatch
def emit(expression: Expression, section: Section) -> Code:
    """The Python text of an expression; an item or a name is the thing itself, not a copy."""
    raise TypeError(type(expression).__name__)


def helper(name: str, type_: Type, *arguments: str) -> Code:
    """A call of a helper of the interpreter."""
    return Code(f"{name}({', '.join(arguments)})", type_)


def said(expression: Expression) -> str:
    """An expression as the program says it, as a Python literal for a sentence."""
    return ascii(print_expression(expression))


def is_pure(expression: Expression) -> bool:
    """Whether evaluating it twice does nothing else: no function of the program is called."""
    return not any(
        isinstance(node, tree.Call) and node.function not in BUILTINS
        for node in descendants(expression)
    )


# ---- copies and conversions -------------------------------------------------------------------


def owned(expression: Expression, section: Section) -> Code:
    """The value as one that nobody else holds: what a name or an item holds is copied."""
    code = emit(expression, section)
    if not isinstance(expression, tree.Name | tree.Item):
        return code
    return copy_of(code)


def copy_of(code: Code) -> Code:
    """A copy, where the type has something to copy."""
    element = code.type.element
    if code.type.name == "Tensor":
        return Code(f"{code.within(ATOM)}.copy()", code.type)
    if element is not None and (element in NUMERIC or element.name in ("Bool", "Text")):
        return Code(f"{code.within(ATOM)}[:]", code.type)
    if element is not None or code.type == ANY:
        return helper("_copied", code.type, code.text)
    return code


def converted(code: Code, wanted: Type, what: str, section: Section, own: bool = False) -> Code:
    """The value as the type that the program wants; what: the beginning of the error's sentence.

    own: a list is converted in place.
    """
    if _fits(code.type, wanted):
        return code
    if wanted == tree.REAL and code.type in NUMERIC:
        return helper("float", wanted, code.text)
    name = "_as_own" if own else "_as_type"
    return helper(name, wanted, code.text, section.object(wanted), ascii(what))


def _fits(actual: Type, wanted: Type) -> bool:
    if actual == wanted or wanted == ANY or (actual.name == wanted.name == "Tensor"):
        return True
    if actual.name != "Seq" or wanted.name != "Seq":
        return False
    inner, outer = actual.element, wanted.element
    return inner == NOTHING or (inner is not None and outer is not None and _fits(inner, outer))


def stored_as(name: str, expression: Expression, section: Section) -> Code:
    """The value of an expression, to be bound to a name: the name's own, of its given type."""
    return fitted(name, owned(expression, section), section)


def fitted(name: str, code: Code, section: Section) -> Code:
    """A value as the type that the program gives to a name, if it gives one."""
    wanted = section.types.fixed.get(name)
    return converted(code, wanted, f"`{name}` takes", section) if wanted is not None else code


def flat_name(name: str) -> str:
    """The Python name of the flat view of a tensor."""
    return f"m_{variable(name)}"
