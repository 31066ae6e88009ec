"""How items are written in Python: directly where types are known, by a helper elsewhere.

In: Item, Items, Length, and places that are set. Out: Code. May not know: statements.

A direct access to item k is `xs[k - 1]`, for a tensor on its flat view. Python would count a
negative index from the end, so k is tested unless its lower bound shows that it is at least one. An
index beyond the end is Python's IndexError; what stood there is noted with the line, so that the
error can name it.
"""

from __future__ import annotations

from logosnb.interpreter.lines import Access
from logosnb.interpreter.section import (
    ATOM,
    SUM,
    Code,
    Section,
    emit,
    flat_name,
    helper,
    is_pure,
    said,
)
from logosnb.language import tree
from logosnb.language.printer import print_expression
from logosnb.language.tree import INT, Expression
from logosnb.stages.typing import ANY, NOTHING, element_of


@emit.register
def _(item: tree.Item, section: Section) -> Code:
    direct = place(item, section)
    if direct is not None:
        return direct
    whole, index = emit(item.sequence, section), emit(item.index, section)
    name = said(item.sequence)
    return helper("_item", section.type_of(item), whole.text, index.text, name)


def place(item: tree.Item, section: Section) -> Code | None:
    """A direct access to an item, to be read or set; None where only a helper will do."""
    if section.type_of(item.index) != INT or not is_pure(item):
        return None
    holder = _holder(item.sequence, section)
    if holder is None:
        return None
    index = _from_zero(item.index, section)
    text = f"{holder}[{index}]"
    one_based = emit(item.index, section).text
    section.lines.note(Access(text, holder, one_based, print_expression(item.sequence)))
    return Code(text, section.type_of(item))


def _holder(whole: Expression, section: Section) -> str | None:
    """What is indexed in Python: a list, a str, or the flat view of a tensor."""
    kind = section.type_of(whole)
    if isinstance(whole, tree.Name) and whole.id in section.flat:
        return flat_name(whole.id)
    if kind.name not in ("Seq", "Text") or not isinstance(whole, tree.Name | tree.Item):
        return None
    return emit(whole, section).within(ATOM)


def _from_zero(index: Expression, section: Section) -> str:
    """An index that counts from zero; one that is below zero becomes one beyond every end."""
    zero_based = _shifted(index, section)
    if section.low(index) >= 1:
        return zero_based
    one_based = emit(index, section)
    if one_based.simple:
        return f"{zero_based} if {one_based.text} > 0 else _far"
    name = section.temporary()
    return f"{name} - 1 if ({name} := {one_based.text}) > 0 else _far"


def _shifted(index: Expression, section: Section) -> str:
    """`index - 1`, folded into a literal that stands there."""
    match index:
        case tree.IntLiteral(value=value) if value >= 1:
            return str(value - 1)
        case tree.Binary(operator="+" | "-" as sign, left=left, right=tree.IntLiteral(value=value)):
            offset = (value if sign == "+" else -value) - 1
            text = emit(left, section).within(SUM)
            return f"{text} {'+' if offset > 0 else '-'} {abs(offset)}" if offset else text
    return f"{emit(index, section).within(SUM)} - 1"


@emit.register
def _(items: tree.Items, section: Section) -> Code:
    codes = [emit(part, section).text for part in (items.sequence, items.first, items.last)]
    return helper("_items", section.types.of(items), *codes, said(items.sequence))


@emit.register
def _(length: tree.Length, section: Section) -> Code:
    return length_of(length.sequence, section)


def length_of(whole: Expression, section: Section) -> Code:
    """`length of whole`, `length(whole)`."""
    code = emit(whole, section)
    name = "len" if code.type.name in ("Seq", "Text") else "_length"
    return helper(name, INT, code.text)


def element_type(whole: Expression, section: Section) -> tree.Type:
    """What may be put into a Seq: the type that the program gives, else anything."""
    root = whole
    while isinstance(root, tree.Item):
        root = root.sequence
    if not isinstance(root, tree.Name) or root.id not in section.types.fixed:
        return ANY
    found = element_of(section.type_of(whole))
    return ANY if found == NOTHING else found
