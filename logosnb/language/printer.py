"""The printer: from a tree back to the text that the parser reads as the same tree.

In: a Source, statement or expression. Out: LOGOS, one sentence a line, blocks indented by four
spaces, brackets only where the tree needs them. May not know: any op.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import singledispatch

from logosnb.language import tree
from logosnb.language.texts import escaped
from logosnb.language.tree import Expression, Statement

INDENT = "    "

# How tightly each expression holds together, as grammar.lark has it.
PHRASE, OR, AND, NOT, COMPARISON, JOINED, SUM, PRODUCT, MINUS, POWER, OPERAND, ATOM = range(12)
TIGHTNESS = {
    "combined with": JOINED,
    **dict.fromkeys(("+", "-"), SUM),
    **dict.fromkeys(("*", "/", "//", "%"), PRODUCT),
    "**": POWER,
    "or": OR,
    "and": AND,
}


def print_source(source: tree.Source) -> str:
    """The whole program; functions come first, so that lines appended to it belong to Main."""
    functions = [_function(function) for function in source.functions]
    main = "".join(f"{print_statement(statement)}\n" for statement in source.main)
    if not functions:
        return main
    return "\n".join([*functions, f"## Main\n{main}"] if source.main else functions)


def print_statement(statement: Statement, depth: int = 0) -> str:
    """A statement with what stands under it, without a line end after it."""
    margin = INDENT * depth
    return margin + _statement(statement, depth)


def print_expression(expression: Expression) -> str:
    """An expression or phrase, without brackets round the whole."""
    return _expression(expression)[0]


# ---- sections ---------------------------------------------------------------------------------


def _function(function: tree.Function) -> str:
    groups = " and ".join(f"({_parameter(parameter)})" for parameter in function.parameters)
    result = f" -> {function.result}" if function.result else ""
    head = f"## To {function.name}{' ' if groups else ''}{groups}{result}:\n"
    return head + "".join(f"{print_statement(statement, 1)}\n" for statement in function.body)


def _parameter(parameter: tree.Parameter) -> str:
    return f"{parameter.name}: {'mutable ' if parameter.mutable else ''}{parameter.type}"


# ---- statements -------------------------------------------------------------------------------


@singledispatch
def _statement(statement: Statement, depth: int) -> str:
    raise TypeError(f"no statement of LOGOS: {type(statement).__name__}")


@_statement.register
def _(let: tree.Let, depth: int) -> str:
    mutable = "mutable " if let.mutable else ""
    kind = f": {let.type}" if let.type else ""
    return f"Let {mutable}{let.name}{kind} be {print_expression(let.value)}."


@_statement.register
def _(declare: tree.Declare, depth: int) -> str:
    rows, columns = print_expression(declare.rows), print_expression(declare.columns)
    return f"Let {declare.name} be a {rows} by {columns} tensor of {declare.kind}."


@_statement.register
def _(statement: tree.Set, depth: int) -> str:
    return f"Set {print_expression(statement.target)} to {print_expression(statement.value)}."


@_statement.register
def _(statement: tree.SetPhrase, depth: int) -> str:
    return f"Set {_parts(statement.parts)} to {print_expression(statement.value)}."


@_statement.register
def _(update: tree.Update, depth: int) -> str:
    return f"{_target(update.target)} {update.operator}= {_at_least(update.value, OR)}."


def _target(target: Expression) -> str:
    """What an update changes: only a name or brackets may begin a sentence."""
    if isinstance(target, tree.Item):
        return f"{_target(target.sequence)}[{_at_least(target.index, OR)}]"
    return print_expression(target)


@_statement.register
def _(statement: tree.CallStatement, depth: int) -> str:
    return f"{print_expression(statement.call)}."


@_statement.register
def _(show: tree.Show, depth: int) -> str:
    return f"Show {print_expression(show.value)}."


@_statement.register
def _(push: tree.Push, depth: int) -> str:
    return f"Push {print_expression(push.value)} to {_at_least(push.target, OPERAND)}."


@_statement.register
def _(pop: tree.Pop, depth: int) -> str:
    into = f" into {pop.into}" if pop.into is not None else ""
    return f"Pop from {_at_least(pop.target, OPERAND)}{into}."


@_statement.register
def _(statement: tree.Break, depth: int) -> str:
    return "Break."


@_statement.register
def _(statement: tree.Return, depth: int) -> str:
    value = f" {print_expression(statement.value)}" if statement.value else ""
    condition = f" if {_at_least(statement.condition, OR)}" if statement.condition else ""
    return f"Return{value}{condition}."


@_statement.register
def _(statement: tree.If, depth: int) -> str:
    blocks = []
    for number, (condition, body) in enumerate(statement.branches):
        word = "Otherwise If" if number else "If"
        blocks.append(f"{word} {_at_least(condition, OR)}:{_body(body, depth)}")
    if statement.otherwise is not None:
        blocks.append(f"Otherwise:{_body(statement.otherwise, depth)}")
    return f"\n{INDENT * depth}".join(blocks)


@_statement.register
def _(loop: tree.While, depth: int) -> str:
    return f"While {_at_least(loop.condition, OR)}:{_body(loop.body, depth)}"


@_statement.register
def _(loop: tree.RepeatRange, depth: int) -> str:
    first, last = _at_least(loop.first, OR), _at_least(loop.last, OR)
    return f"Repeat for {loop.name} from {first} to {last}:{_body(loop.body, depth)}"


@_statement.register
def _(loop: tree.RepeatEach, depth: int) -> str:
    return f"Repeat for {loop.name} in {_at_least(loop.sequence, OR)}:{_body(loop.body, depth)}"


@_statement.register
def _(loop: tree.RepeatForever, depth: int) -> str:
    return f"Repeat forever:{_body(loop.body, depth)}"


def _body(body: Iterable[Statement], depth: int) -> str:
    return "".join(f"\n{print_statement(statement, depth + 1)}" for statement in body)


# ---- expressions: each with how tightly it holds together -------------------------------------


def _at_least(expression: Expression, tightness: int) -> str:
    """The expression, in brackets unless it holds together at least so tightly."""
    text, own = _expression(expression)
    return text if own >= tightness else f"({text})"


def _before_of(index: Expression) -> str:
    """An index, told apart from `length of` where it ends in a name `length`, `copy` likewise."""
    text = _at_least(index, OR)
    return f"({text})" if re.search(r"\b(length|copy)$", text) else text


def _list(expressions: Iterable[Expression], tightness: int) -> str:
    return ", ".join(_at_least(expression, tightness) for expression in expressions)


@singledispatch
def _expression(expression: Expression) -> tuple[str, int]:
    raise TypeError(f"no expression of LOGOS: {type(expression).__name__}")


@_expression.register
def _(literal: tree.IntLiteral) -> tuple[str, int]:
    return str(literal.value), ATOM if literal.value >= 0 else MINUS


@_expression.register
def _(literal: tree.RealLiteral) -> tuple[str, int]:
    text = repr(literal.value)
    return text, MINUS if text.startswith("-") else ATOM


@_expression.register
def _(special: tree.Special) -> tuple[str, int]:
    return special.name, ATOM


@_expression.register
def _(literal: tree.BoolLiteral) -> tuple[str, int]:
    return "true" if literal.value else "false", ATOM


@_expression.register
def _(literal: tree.TextLiteral) -> tuple[str, int]:
    return f'"{"".join(_piece(part) for part in literal.parts)}"', ATOM


def _piece(part: str | tree.Interpolation) -> str:
    if isinstance(part, str):
        return escaped(part)
    form = f":{part.form}" if part.form else ""
    return f"{{{_at_least(part.value, OR)}{form}}}"


@_expression.register
def _(name: tree.Name) -> tuple[str, int]:
    return name.id, ATOM


@_expression.register
def _(unary: tree.Unary) -> tuple[str, int]:
    if unary.operator == "not":
        return f"not {_at_least(unary.operand, NOT)}", NOT
    return f"-{_at_least(unary.operand, MINUS)}", MINUS


@_expression.register
def _(binary: tree.Binary) -> tuple[str, int]:
    own = TIGHTNESS[binary.operator]
    if own == POWER:
        left, right = _at_least(binary.left, OPERAND), _at_least(binary.right, MINUS)
    else:
        left, right = _at_least(binary.left, own), _at_least(binary.right, own + 1)
    return f"{left} {binary.spelling or binary.operator} {right}", own


@_expression.register
def _(logic: tree.Logic) -> tuple[str, int]:
    own = TIGHTNESS[logic.operator]
    left, right = _at_least(logic.left, own), _at_least(logic.right, own + 1)
    return f"{left} {logic.operator} {right}", own


@_expression.register
def _(comparison: tree.Comparison) -> tuple[str, int]:
    first, *rest = [_at_least(operand, JOINED) for operand in comparison.operands]
    steps = zip(comparison.operators, rest, strict=True)
    return first + "".join(f" {sign} {operand}" for sign, operand in steps), COMPARISON


@_expression.register
def _(test: tree.Between) -> tuple[str, int]:
    value, low, high = (_at_least(part, JOINED) for part in (test.value, test.low, test.high))
    return f"{value} is between {low} and {high}", COMPARISON


@_expression.register
def _(test: tree.Parity) -> tuple[str, int]:
    return f"{_at_least(test.value, JOINED)} is {test.kind}", COMPARISON


@_expression.register
def _(test: tree.Divisible) -> tuple[str, int]:
    value, divisor = _at_least(test.value, JOINED), _at_least(test.divisor, JOINED)
    return f"{value} is divisible by {divisor}", COMPARISON


@_expression.register
def _(test: tree.Contains) -> tuple[str, int]:
    sequence, value = _at_least(test.sequence, JOINED), _at_least(test.value, JOINED)
    return f"{sequence} contains {value}", COMPARISON


@_expression.register
def _(call: tree.Call) -> tuple[str, int]:
    return f"{call.function}({_list(call.arguments, PHRASE)})", ATOM


@_expression.register
def _(item: tree.Item) -> tuple[str, int]:
    index, sequence = _before_of(item.index), _at_least(item.sequence, OPERAND)
    return f"item {index} of {sequence}", OPERAND


@_expression.register
def _(items: tree.Items) -> tuple[str, int]:
    first, last = _at_least(items.first, OR), _before_of(items.last)
    return f"items {first} through {last} of {_at_least(items.sequence, OPERAND)}", OPERAND


@_expression.register
def _(length: tree.Length) -> tuple[str, int]:
    return f"length of {_at_least(length.sequence, OPERAND)}", OPERAND


@_expression.register
def _(copy: tree.Copy) -> tuple[str, int]:
    return f"copy of {_at_least(copy.value, OPERAND)}", OPERAND


@_expression.register
def _(sequence: tree.SeqLiteral) -> tuple[str, int]:
    return f"[{_list(sequence.items, OR)}]", ATOM


@_expression.register
def _(sequence: tree.NewSeq) -> tuple[str, int]:
    return f"a new Seq of {sequence.element}", ATOM


@_expression.register
def _(phrase: tree.Phrase) -> tuple[str, int]:
    return _parts(phrase.parts), PHRASE


def _parts(parts: Iterable[tree.Word | Expression]) -> str:
    return " ".join(_part(part, first=number == 0) for number, part in enumerate(parts))


def _part(part: tree.Word | Expression, first: bool) -> str:
    if isinstance(part, tree.Word):
        return part.text
    bare = isinstance(part, tree.IntLiteral | tree.RealLiteral) and not first
    text = print_expression(part)
    return text if bare else f"({text})"
