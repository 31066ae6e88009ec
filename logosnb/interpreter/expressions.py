"""Expressions as Python source.

In: an expression and the types of its section's names. Out: Python text, direct where types are
known and a helper of runtime.py where they are not. May not know: statements.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatchmethod

from logosnb.language import tree
from logosnb.language.tree import BOOL, INT, REAL, TENSOR, TEXT, Type
from logosnb.stages.typing import REAL_BUILTINS, Typing

NUMBERS = {INT, REAL}
PLAIN = {INT, REAL, BOOL, TEXT}


@dataclass(frozen=True)
class Access:
    """One indexing in a line of code, to say afterwards which one went out of range."""

    label: str
    sequence: str
    index: str
    tensor: bool


class Expressions:
    """Emits the expressions of one section; `accesses` gathers the indexings of the current line."""

    def __init__(self, typing: Typing, positive: frozenset[str]) -> None:
        self.typing = typing
        self.positive_names = positive
        self.accesses: list[Access] = []
        self.temporaries = 0

    def type(self, node: tree.Expression) -> Type:
        return self.typing.of(node)

    def condition(self, node: tree.Expression) -> str:
        """Python text that is true where the value counts as true."""
        known = self.type(node)
        plain = known in PLAIN or known.name == "Seq"
        return self.emit(node) if plain else f"_truth({self.emit(node)})"

    def as_bool(self, node: tree.Expression) -> str:
        code = self.condition(node)
        return code if self.type(node) == BOOL else f"bool({code})"

    def copied(self, node: tree.Expression) -> str:
        """A value on its way into a name: sequences and what may be one are copied."""
        made_here = isinstance(node, tree.SeqLiteral | tree.NewSeq | tree.Items | tree.Copy)
        code = self.emit(node)
        return code if self.type(node) in PLAIN or made_here else f"_copied({code})"

    # ---- signs of Ints, known from the text

    def positive(self, node: tree.Expression) -> bool:
        match node:
            case tree.IntLiteral(value=value):
                return value >= 1
            case tree.Name(id=name):
                return name in self.positive_names
            case tree.Binary(operator="+", left=left, right=right):
                return (self.positive(left) and self.natural(right)) or (
                    self.natural(left) and self.positive(right)
                )
            case tree.Binary(operator="*", left=left, right=right):
                return self.positive(left) and self.positive(right)
        return False

    def natural(self, node: tree.Expression) -> bool:
        match node:
            case tree.IntLiteral(value=value):
                return value >= 0
            case tree.Length():
                return True
            case tree.Binary(operator="-", left=left, right=tree.IntLiteral(value=1)):
                return self.positive(left)
            case tree.Binary(operator="+" | "*", left=left, right=right):
                return self.natural(left) and self.natural(right)
            case tree.Binary(operator="/" | "//", left=left, right=right):
                return self.natural(left) and self.positive(right) and self.type(left) == INT
        return self.positive(node)

    # ---- one method a node

    @singledispatchmethod
    def emit(self, node: tree.Expression) -> str:
        """Python text that computes the value."""
        raise TypeError(f"no expression: {node}")

    @emit.register
    def _(self, node: tree.IntLiteral) -> str:
        return repr(node.value)

    @emit.register
    def _(self, node: tree.RealLiteral) -> str:
        return repr(node.value) if node.value < 1e308 else f"float('{node.value!r}')"

    @emit.register
    def _(self, node: tree.Special) -> str:
        return "_inf" if node.name == "infinity" else "_nan"

    @emit.register
    def _(self, node: tree.BoolLiteral) -> str:
        return repr(node.value)

    @emit.register
    def _(self, node: tree.TextLiteral) -> str:
        parts = [
            repr(part)
            if isinstance(part, str)
            else f"_formatted({self.emit(part.value)}, {part.form!r})"
            for part in node.parts
        ]
        return "(" + (" + ".join(parts) or "''") + ")"

    @emit.register
    def _(self, node: tree.Name) -> str:
        return f"v_{node.id}"

    @emit.register
    def _(self, node: tree.Unary) -> str:
        if node.operator == "not":
            return f"(not {self.condition(node.operand)})"
        code = self.emit(node.operand)
        return f"(-{code})" if self.type(node.operand) in NUMBERS else f"_negative({code})"

    @emit.register
    def _(self, node: tree.Logic) -> str:
        return f"({self.as_bool(node.left)} {node.operator} {self.as_bool(node.right)})"

    @emit.register
    def _(self, node: tree.Binary) -> str:
        left, right = self.emit(node.left), self.emit(node.right)
        if node.operator == "combined with":
            return f"(_show_value({left}) + _show_value({right}))"
        types = {self.type(node.left), self.type(node.right)}
        if not types <= NUMBERS:
            return f"_arithmetic({node.operator!r}, {left}, {right})"
        if node.operator in ("+", "-", "*"):
            return f"({left} {node.operator} {right})"
        return self._whole(node, left, right) if types == {INT} else self._real(node, left, right)

    def _whole(self, node: tree.Binary, left: str, right: str) -> str:
        plain = self.natural(node.left) and self.positive(node.right)
        match node.operator:
            case "//":
                return f"({left} // {right})"
            case "/":
                return f"({left} // {right})" if plain else f"_quotient({left}, {right})"
            case "%":
                return f"({left} % {right})" if plain else self._remainder(node, left, right)
        return f"_int_power({left}, {right})"

    def _remainder(self, node: tree.Binary, left: str, right: str) -> str:
        """Python's `%` is LOGOS's where both signs are plus, which is cheap to see of a name."""
        if isinstance(node.left, tree.Name) and self.positive(node.right):
            return f"({left} % {right} if {left} >= 0 else _remainder({left}, {right}))"
        return f"_remainder({left}, {right})"

    def _real(self, node: tree.Binary, left: str, right: str) -> str:
        if node.operator == "/":
            return self._divided(node, left, right)
        if node.operator == "**":
            if isinstance(node.left, tree.Name) and node.right in (
                tree.IntLiteral(2),
                tree.RealLiteral(2.0),
            ):
                return f"({left} * {left})"
            return f"_power({left}, {right})"
        return f"{'_floor_divide' if node.operator == '//' else '_real_remainder'}({left}, {right})"

    def _divided(self, node: tree.Binary, left: str, right: str) -> str:
        constant = isinstance(node.right, tree.IntLiteral | tree.RealLiteral) and node.right.value
        if constant:
            return f"({left} / {right})"
        simple = (tree.Name, tree.IntLiteral, tree.RealLiteral)
        if isinstance(node.left, simple) and isinstance(node.right, tree.Name):
            return f"({left} / {right} if {right} else _divide({left}, {right}))"
        return f"_divide({left}, {right})"

    @emit.register
    def _(self, node: tree.Comparison) -> str:
        types = {self.type(operand) for operand in node.operands}
        codes = [self.emit(operand) for operand in node.operands]
        if types <= NUMBERS or types == {TEXT}:
            pairs = [f" {sign} {code}" for sign, code in zip(node.operators, codes[1:])]
            return f"({codes[0]}{''.join(pairs)})"
        names = [self._temporary() for _ in codes[1:-1]]
        left = [codes[0], *names]
        right = [*(f"({n} := {c})" for n, c in zip(names, codes[1:-1])), codes[-1]]
        links = [self._compared(*link) for link in zip(node.operators, left, right)]
        return f"({' and '.join(links)})"

    def _compared(self, sign: str, left: str, right: str) -> str:
        if sign in ("==", "!="):
            return f"({'not ' * (sign == '!=')}_equal({left}, {right}))"
        return f"_ordered({sign!r}, {left}, {right})"

    @emit.register
    def _(self, node: tree.Between) -> str:
        chain = (node.low, node.value, node.high)
        return self.emit(tree.Comparison(chain, ("<=", "<=")))

    @emit.register
    def _(self, node: tree.Parity) -> str:
        code = self.emit(node.value)
        rest = f"{code} % 2" if self.type(node.value) == INT else f"_parity({code})"
        return f"({rest} == {0 if node.kind == 'even' else 1})"

    @emit.register
    def _(self, node: tree.Divisible) -> str:
        value, divisor = self.emit(node.value), self.emit(node.divisor)
        if {self.type(node.value), self.type(node.divisor)} == {INT}:
            return f"({value} % {divisor} == 0)"
        return f"_divisible({value}, {divisor})"

    @emit.register
    def _(self, node: tree.Contains) -> str:
        return f"_contains({self.emit(node.sequence)}, {self.emit(node.value)})"

    @emit.register
    def _(self, node: tree.Call) -> str:
        function = self.typing.functions.get(node.function)
        if function is not None:
            pairs = zip(node.arguments, function.parameters)
            return f"f_{node.function}({', '.join(self._passed(a, p) for a, p in pairs)})"
        codes = [self.emit(argument) for argument in node.arguments]
        if node.function in REAL_BUILTINS and self.type(node.arguments[0]) == REAL:
            return f"_real_{node.function}({codes[0]})"
        return f"_builtins[{node.function!r}]({', '.join(codes)})"

    def _passed(self, argument: tree.Expression, parameter: tree.Parameter) -> str:
        if parameter.mutable:
            return self.emit(argument)
        return self.converted(argument, parameter.type)

    def converted(self, node: tree.Expression, wanted: Type | None) -> str:
        """A copied value, made the type that the program declares for it."""
        known = self.type(node)
        if wanted is None or (known == wanted and wanted in PLAIN):
            return self.copied(node)
        if wanted == REAL and known == INT:
            return f"float({self.emit(node)})"
        return f"_as_type({self.copied(node)}, {str(wanted)!r})"

    @emit.register
    def _(self, node: tree.Item) -> str:
        sequence, direct = self.sequence(node.sequence)
        if not direct:
            return f"_item({sequence}, {self.emit(node.index)})"
        return f"{sequence}[{self.place(node, sequence)}]"

    def sequence(self, node: tree.Expression) -> tuple[str, bool]:
        """The code of what is indexed, and whether Python's own brackets serve."""
        known = self.type(node)
        if known == TENSOR and isinstance(node, tree.Name):
            return f"m_{node.id}", True
        return self.emit(node), known == TEXT or known.name == "Seq"

    def place(self, node: tree.Item, sequence: str) -> str:
        """A zero-based index that Python refuses where LOGOS does."""
        code = self.emit(node.index)
        label = node.sequence.id if isinstance(node.sequence, tree.Name) else "the sequence"
        self.accesses.append(Access(label, sequence, code, sequence.startswith("m_")))
        if isinstance(node.index, tree.IntLiteral):
            return str(node.index.value - 1) if node.index.value > 0 else "_far"
        if self.type(node.index) != INT:
            return f"_whole_place({code})"
        if self.positive(node.index):
            return f"{code} - 1"
        if isinstance(node.index, tree.Name):
            return f"{code} - 1 if {code} > 0 else _far"
        name = self._temporary()
        return f"{name} - 1 if ({name} := {code}) > 0 else _far"

    def _temporary(self) -> str:
        self.temporaries += 1
        return f"_t{self.temporaries}"

    @emit.register
    def _(self, node: tree.Items) -> str:
        parts = (node.sequence, node.first, node.last)
        return f"_items({', '.join(self.emit(part) for part in parts)})"

    @emit.register
    def _(self, node: tree.Length) -> str:
        code = self.emit(node.sequence)
        known = self.type(node.sequence)
        return f"len({code})" if known == TEXT or known.name == "Seq" else f"_length({code})"

    @emit.register
    def _(self, node: tree.Copy) -> str:
        return f"_copied({self.emit(node.value)})"

    @emit.register
    def _(self, node: tree.SeqLiteral) -> str:
        return f"[{', '.join(self.copied(item) for item in node.items)}]"

    @emit.register
    def _(self, node: tree.NewSeq) -> str:
        return "[]"
