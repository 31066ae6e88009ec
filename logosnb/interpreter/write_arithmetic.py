"""How arithmetic is written in Python: as Python's own operator where that means the same.

In: Unary and Binary. Out: Code. May not know: statements.
"""

from __future__ import annotations

from logosnb.interpreter.section import (
    ATOM,
    PRODUCT,
    SHORT,
    SUM,
    Code,
    Section,
    emit,
    helper,
    is_pure,
)
from logosnb.interpreter.write_values import combined, negated
from logosnb.language import tree
from logosnb.language.tree import INT, REAL, Expression, Type
from logosnb.stages.typing import ANY, NOTHING, NUMERIC, arithmetic

HELPERS = {
    "+": "_add",
    "-": "_subtract",
    "*": "_multiply",
    "/": "_divide",
    "//": "_floor_divide",
    "%": "_remainder",
    "**": "_power",
}
LEVELS = {"+": (SUM, PRODUCT), "-": (SUM, PRODUCT), "*": (PRODUCT, ATOM)}
MOST_DIRECT = 4  # exponents up to this are safe to leave to Python, however large the base


@emit.register
def _(unary: tree.Unary, section: Section) -> Code:
    if unary.operator == "not":
        return negated(unary.operand, section)
    code = emit(unary.operand, section)
    if code.type in NUMERIC:
        return Code(f"(-{code.within(ATOM)})", code.type)
    return helper("_negate", _result(code.type), code.text)


@emit.register
def _(binary: tree.Binary, section: Section) -> Code:
    if binary.operator == "combined with":
        return combined(binary.left, binary.right, section)
    left, right = emit(binary.left, section), emit(binary.right, section)
    result = _result(left.type, right.type)
    if left.type in NUMERIC and right.type in NUMERIC:
        direct = _direct(binary, left, right, result, section)
        if direct is not None:
            return direct
    return helper(HELPERS[binary.operator], result, left.text, right.text)


def _result(*operands: Type) -> Type:
    found = arithmetic(*operands)
    return ANY if found == NOTHING else found


def _direct(
    binary: tree.Binary, left: Code, right: Code, result: Type, section: Section
) -> Code | None:
    """Numbers by Python's own operator, or None where only a helper will do."""
    sign = binary.operator
    if sign in LEVELS:
        outer, inner = LEVELS[sign]
        return Code(f"{left.within(outer)} {sign} {right.within(inner)}", result, outer)
    if sign == "**":
        return _power(binary.right, left, right, result)
    if result == INT:
        return _of_ints(binary, left, right, section)
    if result == REAL and sign == "/":
        return _quotient(binary, left, right, section)
    return None


def _power(exponent: Expression, left: Code, right: Code, result: Type) -> Code | None:
    if not isinstance(exponent, tree.IntLiteral) or not 0 <= exponent.value <= MOST_DIRECT:
        return None
    if left.type == INT:
        return Code(f"({left.within(ATOM)} ** {right.text})", result)
    if left.type == REAL and exponent.value == 2 and left.simple:
        return Code(f"{left.text} * {left.text}", result, PRODUCT)
    return None


def _of_ints(binary: tree.Binary, left: Code, right: Code, section: Section) -> Code | None:
    """`/` truncates and `%` follows the dividend: Python's `//` and `%` where nothing is negative."""
    sign = binary.operator
    python = "%" if sign == "%" else "//"
    quotient = f"{left.within(PRODUCT)} {python} {right.within(ATOM)}"
    known = section.low(binary.left) >= 0 and section.low(binary.right) >= 0
    if sign == "//" or known:
        return Code(quotient, INT, PRODUCT)
    if section.low(binary.right) >= 0 and left.simple and len(right.text) < SHORT:
        negative = f"-(-{left.text} {python} {right.within(ATOM)})"
        return Code(f"({quotient} if {left.text} >= 0 else {negative})", INT)
    name = "_divide_ints" if sign == "/" else "_remainder_ints"
    return helper(name, INT, left.text, right.text)


def _quotient(binary: tree.Binary, left: Code, right: Code, section: Section) -> Code | None:
    """A Real quotient: Python's, but where the divisor is zero, for which Python has only an error."""
    divisor = binary.right
    if isinstance(divisor, tree.IntLiteral | tree.RealLiteral) and divisor.value:
        return Code(f"{left.within(PRODUCT)} / {right.within(ATOM)}", REAL, PRODUCT)
    if len(left.text) > SHORT:
        return None
    if right.simple:
        test = name = right.text
    elif is_pure(binary):
        name = section.temporary()
        test = f"({name} := {right.text})"
    else:
        return None
    by_zero = f"_divide_by_zero({left.text}, {name})"
    return Code(f"({left.within(PRODUCT)} / {name} if {test} else {by_zero})", REAL)
