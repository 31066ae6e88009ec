"""How literals, names, Texts, logic and comparisons are written in Python.

In: expressions. Out: Code. May not know: statements.
"""

from __future__ import annotations

from logosnb.interpreter.lines import variable
from logosnb.interpreter.section import (
    ATOM,
    LOOSE,
    SUM,
    Code,
    Section,
    copy_of,
    emit,
    helper,
    owned,
)
from logosnb.language import tree
from logosnb.language.tree import BOOL, INT, REAL, TEXT, Expression, Type
from logosnb.stages.typing import NUMERIC

MOST_DIGITS = 4000  # Python reads no longer decimal ints; hexadecimal ones it does


@emit.register
def _(literal: tree.IntLiteral, section: Section) -> Code:
    value = literal.value
    text = hex(value) if value.bit_length() > MOST_DIGITS else str(value)
    return Code(text if value >= 0 else f"({text})", INT)


@emit.register
def _(literal: tree.RealLiteral, section: Section) -> Code:
    text = repr(literal.value)
    return Code(text if literal.value >= 0 else f"({text})", REAL)


@emit.register
def _(literal: tree.Special, section: Section) -> Code:
    return Code("_inf" if literal.name == "infinity" else "_nan", REAL)


@emit.register
def _(literal: tree.BoolLiteral, section: Section) -> Code:
    return Code(str(literal.value), BOOL)


@emit.register
def _(name: tree.Name, section: Section) -> Code:
    return Code(variable(name.id), section.type_of(name))


@emit.register
def _(copy: tree.Copy, section: Section) -> Code:
    return copy_of(emit(copy.value, section))


@emit.register
def _(literal: tree.SeqLiteral, section: Section) -> Code:
    items = ", ".join(owned(item, section).text for item in literal.items)
    return Code(f"[{items}]", section.types.of(literal))


@emit.register
def _(new: tree.NewSeq, section: Section) -> Code:
    return Code("[]", section.types.of(new))


# ---- Text -------------------------------------------------------------------------------------


@emit.register
def _(literal: tree.TextLiteral, section: Section) -> Code:
    parts = [_piece(part, section) for part in literal.parts]
    return Code(" + ".join(parts) or "''", TEXT, SUM if len(parts) > 1 else ATOM)


def _piece(part: str | tree.Interpolation, section: Section) -> str:
    if isinstance(part, str):
        return ascii(part)
    if part.form:
        return f"_format({emit(part.value, section).text}, {ascii(part.form)})"
    return shown(part.value, section)


def shown(expression: Expression, section: Section) -> str:
    """The Python text of a value as Show prints it."""
    code = emit(expression, section)
    return code.within(ATOM) if code.type == TEXT else f"_show({code.text})"


def combined(left: Expression, right: Expression, section: Section) -> Code:
    """`left combined with right`."""
    return Code(f"{shown(left, section)} + {shown(right, section)}", TEXT, SUM)


# ---- logic ------------------------------------------------------------------------------------


def truth(expression: Expression, section: Section) -> Code:
    """Whether the value counts as true, as a Bool."""
    code = emit(expression, section)
    if code.type == BOOL:
        return code
    if code.type in NUMERIC:
        return Code(f"{code.within(SUM)} != 0", BOOL, LOOSE)
    if code.type.name in ("Seq", "Text"):
        return Code(f"len({code.text}) != 0", BOOL, LOOSE)
    return helper("_truth", BOOL, code.text)


@emit.register
def _(logic: tree.Logic, section: Section) -> Code:
    left, right = truth(logic.left, section), truth(logic.right, section)
    return Code(f"{left.within(SUM)} {logic.operator} {right.within(SUM)}", BOOL, LOOSE)


def negated(operand: Expression, section: Section) -> Code:
    """`not operand`."""
    return Code(f"not {truth(operand, section).within(SUM)}", BOOL, LOOSE)


# ---- comparison -------------------------------------------------------------------------------


@emit.register
def _(chain: tree.Comparison, section: Section) -> Code:
    operands = [emit(operand, section) for operand in chain.operands]
    pairs = list(zip(operands, chain.operators, operands[1:]))
    if all(_direct(left.type, sign, right.type) for left, sign, right in pairs):
        rest = "".join(f" {sign} {right.within(SUM)}" for _, sign, right in pairs)
        return Code(operands[0].within(SUM) + rest, BOOL, LOOSE)
    return _pairwise(operands, chain.operators, section)


def _pairwise(operands: list[Code], signs: tuple[str, ...], section: Section) -> Code:
    """A chain as `a < b and b < c`, each operand evaluated once at most."""
    tests, left = [], operands[0]
    for number, (sign, right) in enumerate(zip(signs, operands[1:]), 1):
        later = right
        if number < len(signs) and not right.simple:
            name = section.temporary()
            right, later = Code(f"({name} := {right.text})", right.type), Code(name, right.type)
        tests.append(_compared(left, sign, right))
        left = later
    return Code(" and ".join(tests), BOOL, LOOSE)


def _compared(left: Code, sign: str, right: Code) -> str:
    if _direct(left.type, sign, right.type):
        return f"({left.within(SUM)} {sign} {right.within(SUM)})"
    if sign in ("==", "!="):
        return f"{'' if sign == '==' else 'not '}_equal({left.text}, {right.text})"
    return f"_ordered({ascii(sign)}, {left.text}, {right.text})"


def _direct(left: Type, sign: str, right: Type) -> bool:
    """Whether Python's own comparison says what LOGOS means."""
    if left in NUMERIC and right in NUMERIC:
        return True
    return left == right and (left == TEXT or (left == BOOL and sign in ("==", "!=")))


@emit.register
def _(between: tree.Between, section: Section) -> Code:
    operands = (between.low, between.value, between.high)
    return emit(tree.Comparison(operands, ("<=", "<=")), section)


@emit.register
def _(parity: tree.Parity, section: Section) -> Code:
    code = emit(parity.value, section)
    if code.type == INT:
        return Code(f"{code.within(ATOM)} % 2 == {int(parity.kind == 'odd')}", BOOL, LOOSE)
    even = helper("_is_even", BOOL, code.text)
    return even if parity.kind == "even" else Code(f"not {even.text}", BOOL, LOOSE)


@emit.register
def _(divisible: tree.Divisible, section: Section) -> Code:
    value, divisor = emit(divisible.value, section), emit(divisible.divisor, section)
    if value.type == divisor.type == INT:
        return Code(f"{value.within(ATOM)} % {divisor.within(ATOM)} == 0", BOOL, LOOSE)
    return helper("_is_divisible", BOOL, value.text, divisor.text)


@emit.register
def _(contains: tree.Contains, section: Section) -> Code:
    whole, value = emit(contains.sequence, section), emit(contains.value, section)
    element = whole.type.element if whole.type.name == "Seq" else None
    alike = element in NUMERIC and value.type in NUMERIC
    alike = alike or (element == TEXT and value.type == TEXT)
    return helper("_has" if alike else "_contains", BOOL, whole.text, value.text)
