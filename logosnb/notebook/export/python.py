"""LOGOS statements as plain Python that reads like them.

In: resolved statements, the types of their names, a `Dialect`, what writes an op. Out: lines of Python, and
which helpers of prelude.py they call. May not know: files, how an op is written.

A scalar is a Python number throughout. Where Python and LOGOS differ (division, `%`, NaN in `max`,
an index from the end) a helper does what LOGOS says; where nothing can differ the text is bare.
"""

from __future__ import annotations

import keyword
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from logosnb.interpreter.bounds import low
from logosnb.language import tree
from logosnb.language.errors import LogosError
from logosnb.language.printer import print_expression
from logosnb.language.tree import INT, REAL, Expression, Statement
from logosnb.notebook.export.prelude import HELPERS
from logosnb.stages.stage import Stage
from logosnb.stages.typing import Types

LOOSE, SUM, PRODUCT, ATOM = range(4)  # how tightly a piece of Python holds together
# Names that the written files use for themselves.
RESERVED = frozenset(
    "np torch jnp jax abs bool dict float int len list max min print range round sum xp "
    "number filled numbers forward gradient name value".split()
)


@dataclass(frozen=True)
class Dialect:
    """How a library is written.

    item: of a tensor and an index from zero; set_item: the same with a value; zeros: of rows, columns
    and kind; functions: LOGOS builtin to a Python call; helpers: which of them are helpers.
    """

    name: str
    item: Callable[[str, str], str]
    set_item: Callable[[str, str, str], str]
    zeros: Callable[[str, str, str], str]
    functions: Mapping[str, str]


@dataclass(frozen=True)
class Remark(Statement):
    """A comment between statements."""

    text: str


@dataclass
class Writer:
    """Writes the statements of one section.

    stage: writes an op that stands among them; used: the helpers that the text calls.
    """

    types: Types
    lows: Mapping[str, float]
    dialect: Dialect
    stage: Callable[[Stage], Iterator[str]]
    used: set[str] = field(default_factory=set)

    def helper(self, name: str, *arguments: str) -> str:
        self.used.add(name)
        return f"{name}({', '.join(arguments)})"

    def is_int(self, *expressions: Expression) -> bool:
        return all(self.types.of(expression) == INT for expression in expressions)


def python_name(name: str) -> str:
    """A LOGOS name as one that Python, and the file, do not use for something else."""
    taken = name in RESERVED or any(name in table for table in HELPERS.values())
    return f"{name}_" if taken or keyword.iskeyword(name) else name


def refused(node: tree.Node, what: str) -> LogosError:
    line = f"line {node.position.line}: " if node.position.line else ""
    return LogosError(f"{line}{what} has no place in an exported file; a LOGOS file holds all")


# ---- expressions ------------------------------------------------------------------------------


def expression(node: Expression, w: Writer) -> str:
    """The Python text of an expression; what is not atomic stands in brackets where it is part."""
    match node:
        case tree.IntLiteral(value=value):
            return str(value)
        case tree.RealLiteral(value=value):
            return repr(value)
        case tree.Special(name=name):
            return 'float("inf")' if name == "infinity" else 'float("nan")'
        case tree.BoolLiteral(value=value):
            return str(value)
        case tree.Name(id=name):
            return python_name(name)
        case tree.Unary(operator="-", operand=operand):
            return f"-{part(operand, w)}"
        case tree.Binary():
            return _binary(node, w)
        case tree.Item(index=index, sequence=whole):
            return _item(index, whole, w)
        case tree.Call():
            return _call(node, w)
    return _test(node, w)


def part(node: Expression, w: Writer, level: int = ATOM) -> str:
    """An expression as an operand, in brackets where it holds together less than `level`."""
    text = expression(node, w)
    return text if _level(node, w) >= level else f"({text})"


def _level(node: Expression, w: Writer) -> int:
    """How tightly the Python text of an expression holds together."""
    match node:
        case tree.Binary(operator="+" | "-"):
            return SUM
        case tree.Binary(operator="*") | tree.Unary(operator="-"):
            return PRODUCT
        case tree.Binary(operator="/"):
            return PRODUCT if _is_bare(node, w) else ATOM
        case tree.Binary(operator="//", left=left, right=right):
            return PRODUCT if w.is_int(left, right) else ATOM
        case tree.Unary() | tree.Logic() | tree.Comparison() | tree.Between():
            return LOOSE
        case tree.Parity() | tree.Divisible() | tree.Contains():
            return LOOSE
    return ATOM


def _test(node: Expression, w: Writer) -> str:
    """Bools, and what makes Seqs."""
    match node:
        case tree.Unary(operand=operand):
            return f"not {part(operand, w)}"
        case tree.Comparison(operands=operands, operators=operators):
            texts = [part(operand, w) for operand in operands]
            return texts[0] + "".join(f" {o} {t}" for o, t in zip(operators, texts[1:]))
        case tree.Logic(operator=operator, left=left, right=right):
            return f"{_truth(left, w)} {operator} {_truth(right, w)}"
        case tree.Between(value=value, low=least, high=most):
            return f"{part(least, w)} <= {part(value, w)} <= {part(most, w)}"
        case tree.Parity(value=value, kind=kind):
            return f"{part(value, w)} % 2 == {0 if kind == 'even' else 1}"
        case tree.Divisible(value=value, divisor=divisor):
            return f"{part(value, w)} % {part(divisor, w)} == 0"
        case tree.Contains(sequence=sequence, value=value):
            return f"{part(value, w)} in {part(sequence, w)}"
    return _sequence(node, w)


def _truth(node: Expression, w: Writer) -> str:
    """An operand of `and` and `or`, as the Bool that LOGOS makes of it."""
    text = part(node, w)
    return text if w.types.of(node) == tree.BOOL else f"bool({text})"


def _sequence(node: Expression, w: Writer) -> str:
    match node:
        case tree.SeqLiteral(items=items):
            return f"[{', '.join(expression(item, w) for item in items)}]"
        case tree.NewSeq():
            return "[]"
        case tree.Length(sequence=sequence):
            return _length(sequence, w)
        case tree.Copy(value=value):
            return owned(value, w)
    raise refused(node, f"`{print_expression(node)}`")


def _length(node: Expression, w: Writer) -> str:
    if w.types.of(node).name != "Seq":
        raise refused(node, f"the length of `{print_expression(node)}`")
    return f"len({expression(node, w)})"


def owned(node: Expression, w: Writer) -> str:
    """The value as one that no other name holds."""
    text = expression(node, w)
    shared = isinstance(node, tree.Name | tree.Item) and w.types.of(node).name == "Seq"
    if shared and (w.types.of(node).element or INT).element is not None:
        raise refused(node, "a copy of a Seq of Seqs")
    return f"list({text})" if shared else text


def _binary(node: tree.Binary, w: Writer) -> str:
    sign, whole = node.operator, w.is_int(node.left, node.right)
    if sign in "+-":
        return f"{part(node.left, w, SUM)} {sign} {part(node.right, w, PRODUCT)}"
    if sign == "*" or (sign == "/" and _is_bare(node, w)) or (sign == "//" and whole):
        return f"{part(node.left, w, PRODUCT)} {sign} {part(node.right, w)}"
    names = {"/": "quotient" if whole else "over", "//": "floored", "%": "rest", "**": "power"}
    if sign not in names:
        raise refused(node, f"`{sign}`")
    return w.helper(names[sign], expression(node.left, w), expression(node.right, w))


def _is_bare(division: tree.Binary, w: Writer) -> bool:
    """Whether Python's own `/` does it: a Real over a number that is not zero."""
    right = division.right
    number = isinstance(right, tree.RealLiteral | tree.IntLiteral) and right.value != 0
    return number and w.types.of(division.left) == REAL


def place(index: Expression, w: Writer) -> str:
    """An index, from zero; checked where it is not known to be at least one."""
    if low(index, w.lows) >= 1:
        return _one_less(index, w)
    return w.helper("item_place", expression(index, w))


def _one_less(index: Expression, w: Writer) -> str:
    match index:
        case tree.IntLiteral(value=value):
            return str(value - 1)
        case tree.Binary(operator="+", left=left, right=tree.IntLiteral(value=1)):
            return expression(left, w)
    return f"{part(index, w, SUM)} - 1"


def _item(index: Expression, whole: Expression, w: Writer) -> str:
    at, holder = place(index, w), expression(whole, w)
    kind = w.types.of(whole).name
    if kind == "Tensor":
        return w.dialect.item(holder, at)
    if kind != "Seq":
        raise refused(index, f"an item of `{print_expression(whole)}`")
    return f"{holder}[{at}]"


def _call(node: tree.Call, w: Writer) -> str:
    function, arguments = node.function, [expression(a, w) for a in node.arguments]
    if function == "length":
        return _length(node.arguments[0], w)
    if function == "pow":
        return w.helper("power", *arguments)
    if function == "abs" or (function in ("min", "max") and w.is_int(*node.arguments)):
        return f"{function}({', '.join(arguments)})"
    if w.is_int(*node.arguments) and function in ("floor", "ceil", "round"):
        return arguments[0]
    if function not in w.dialect.functions:
        raise refused(node, f"the function `{function}`")
    text = arguments[0]
    for argument in arguments[1:] or [""]:
        inside = f"{text}, {argument}" if argument else text
        text = w.helper(w.dialect.functions[function], inside)
    return text


# ---- statements -------------------------------------------------------------------------------


def block(statements: tuple[Statement, ...], w: Writer, indent: str = "    ") -> Iterator[str]:
    """The lines of a block, `indent` further in."""
    empty = True
    for statement in statements:
        for line in lines(statement, w):
            empty = empty and line.startswith("#")
            yield indent + line
    if empty:
        yield f"{indent}pass"


def lines(node: Statement, w: Writer) -> Iterator[str]:
    match node:
        case Remark(text=text):
            yield f"# {text}"
        case tree.Declare(name=name, rows=rows, columns=columns, kind=kind):
            size = expression(rows, w), expression(columns, w)
            yield f"{python_name(name)} = {w.dialect.zeros(*size, kind)}"
        case tree.Let(name=name, value=value):
            yield f"{python_name(name)} = {_fitted(name, value, w)}"
        case tree.Set() | tree.Update():
            yield _set(node, w)
        case tree.Push(value=value, target=target):
            yield f"{expression(target, w)}.append({owned(value, w)})"
        case tree.Pop(target=target, into=into):
            head = f"{python_name(into)} = " if into else ""
            yield f"{head}{expression(target, w)}.pop()"
        case tree.Break():
            yield "break"
        case tree.Show():
            yield f"# left out: Show {print_expression(node.value)}."
        case _:
            yield from _compound(node, w)


def _compound(node: Statement, w: Writer) -> Iterator[str]:
    match node:
        case tree.If(branches=branches, otherwise=otherwise):
            for number, (condition, body) in enumerate(branches):
                yield f"{'elif' if number else 'if'} {expression(condition, w)}:"
                yield from block(body, w)
            if otherwise is not None:
                yield "else:"
                yield from block(otherwise, w)
        case tree.While(condition=condition, body=body):
            yield f"while {expression(condition, w)}:"
            yield from block(body, w)
        case tree.RepeatForever(body=body):
            yield "while True:"
            yield from block(body, w)
        case tree.RepeatRange(name=name, first=first, last=last, body=body):
            yield f"for {python_name(name)} in range({expression(first, w)}, {_beyond(last, w)}):"
            yield from block(body, w)
        case tree.RepeatEach(name=name, sequence=sequence, body=body) if (
            w.types.of(sequence).name == "Seq"
        ):
            yield f"for {python_name(name)} in list({expression(sequence, w)}):"
            yield from block(body, w)
        case Stage():
            yield from w.stage(node)
        case _:
            raise refused(node, f"a statement of the kind {type(node).__name__}")


def _beyond(last: Expression, w: Writer) -> str:
    if isinstance(last, tree.IntLiteral):
        return str(last.value + 1)
    return f"{part(last, w, SUM)} + 1"


def _fitted(name: str, value: Expression, w: Writer) -> str:
    """The value as the type that the program gives to a name."""
    text = owned(value, w)
    return f"float({text})" if w.types.fixed.get(name) == REAL and w.is_int(value) else text


def _set(node: tree.Set | tree.Update, w: Writer) -> str:
    value = node.value
    if isinstance(node, tree.Update):
        value = tree.Binary(node.operator, node.target, node.value, position=node.position)
    if isinstance(node.target, tree.Name):
        name = node.target.id
        if w.types.of(node.target).name == "Tensor":
            raise refused(node, f"setting the whole tensor `{name}`")
        return f"{python_name(name)} = {_fitted(name, value, w)}"
    if not isinstance(node.target, tree.Item):
        raise refused(node, "what is set here")
    return _set_item(node.target, value, w)


def _set_item(target: tree.Item, value: Expression, w: Writer) -> str:
    whole = w.types.of(target.sequence)
    holder, at = expression(target.sequence, w), place(target.index, w)
    if whole.name != "Tensor":
        return f"{holder}[{at}] = {owned(value, w)}"
    if whole.element == INT and not w.is_int(value):
        raise refused(target, f"a Real in the tensor of Int `{holder}`")
    return w.dialect.set_item(holder, at, expression(value, w))
