"""How calls are written in Python: of builtins, and of the program's functions.

In: Call. Out: Code. May not know: statements.

Arguments are values of their own: a Seq or tensor that stands in a name is copied, unless the
function only reads it, and then nobody can tell. A `mutable` parameter is the caller's own.
"""

from __future__ import annotations

from logosnb.interpreter.lines import variable
from logosnb.interpreter.section import (
    Code,
    Section,
    converted,
    emit,
    helper,
    owned,
)
from logosnb.interpreter.write_items import length_of
from logosnb.language import tree
from logosnb.language.tree import INT, REAL, Expression
from logosnb.language.words import BUILTINS
from logosnb.stages.typing import NUMERIC, declared

HELPERS = {
    "sqrt": "_square_root",
    "exp": "_exponential",
    "log": "_logarithm",
    "tanh": "_hyperbolic_tangent",
    "sin": "_sine",
    "cos": "_cosine",
    "abs": "_magnitude",
    "min": "_smallest",
    "max": "_largest",
    "floor": "_floor",
    "ceil": "_ceiling",
    "round": "_rounded",
}
# For a Real in a name: Python's own function where it does what IEEE says, else the helper.
DIRECT = {
    "sqrt": "(_math_sqrt({x}) if {x} >= 0 else _nan)",
    "exp": "(_math_exp({x}) if {x} < 709.0 else _exponential({x}))",
    "log": "(_math_log({x}) if {x} > 0 else _logarithm({x}))",
    "tanh": "_math_tanh({x})",
    "sin": "(_math_sin({x}) if {x} - {x} == 0 else _nan)",
    "cos": "(_math_cos({x}) if {x} - {x} == 0 else _nan)",
}
EXTREMES = {"min": "<", "max": ">"}


@emit.register
def _(call: tree.Call, section: Section) -> Code:
    if call.function in BUILTINS:
        return _builtin(call, section)
    code = called(call, section)
    if section.types.functions[call.function].result is not None:
        return code
    return helper("_given", code.type, code.text, ascii(call.function))


# ---- builtins ---------------------------------------------------------------------------------


def _builtin(call: tree.Call, section: Section) -> Code:
    name, arguments = call.function, call.arguments
    if name == "length":
        return length_of(arguments[0], section)
    if name == "pow":
        return emit(tree.Binary("**", arguments[0], arguments[1]), section)
    codes = [emit(argument, section) for argument in arguments]
    text = _direct(name, codes)
    if text is not None:
        return Code(text, section.type_of(call))
    return helper(HELPERS[name], section.type_of(call), *(code.text for code in codes))


def _direct(name: str, codes: list[Code]) -> str | None:
    first = codes[0]
    if name == "abs" and first.type in NUMERIC:
        return f"abs({first.text})"
    if name in DIRECT and first.type == REAL and first.simple:
        return DIRECT[name].format(x=first.text)
    if name in EXTREMES and len(codes) == 2 and all(code.simple for code in codes):
        return _extreme(EXTREMES[name], *codes)
    return None


def _extreme(sign: str, left: Code, right: Code) -> str | None:
    """The smaller or larger of two names; the first also where it is NaN."""
    if left.type == right.type == INT:
        return f"({left.text} if {left.text} {sign} {right.text} else {right.text})"
    if left.type == right.type == REAL:
        kept = f"{left.text} {sign} {right.text} or {left.text} != {left.text}"
        return f"({left.text} if {kept} else {right.text})"
    return None


# ---- functions of the program -----------------------------------------------------------------


def called(call: tree.Call, section: Section) -> Code:
    """A call, whose value may be none."""
    function = section.types.functions[call.function]
    shared = any(parameter.mutable for parameter in function.parameters)
    texts = [
        _argument(function, parameter, argument, section, shared).text
        for parameter, argument in zip(function.parameters, call.arguments)
    ]
    return helper(f"f_{variable(function.name)}", section.type_of(call), *texts)


def _argument(
    function: tree.Function,
    parameter: tree.Parameter,
    argument: Expression,
    section: Section,
    shared: bool,
) -> Code:
    wanted = declared(parameter.type)
    what = f"`{parameter.name}` of `{function.name}` takes"
    own = parameter.mutable and wanted.name in ("Seq", "Tensor")
    if own and not isinstance(argument, tree.Name):
        sentence = f"{what} the name of a {wanted.name}: it is mutable, the caller's own"
        return helper("_refuse", wanted, ascii(sentence))
    copies = shared or parameter.name in section.changed[function.name]
    code = owned(argument, section) if copies and not own else emit(argument, section)
    return converted(code, wanted, what, section, own)


def returned(expression: Expression, section: Section) -> Code:
    """The value that a function returns: nobody else's, so that what is borrowed is copied."""
    local = isinstance(expression, tree.Name) and expression.id not in section.borrowed
    code = emit(expression, section) if local else owned(expression, section)
    result = section.types.functions[section.name or ""].result
    if result is None:
        return code
    return converted(code, declared(result), f"`{section.name}` returns", section)
