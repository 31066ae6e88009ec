"""Expressions of a nest as Python source: items, numbers, conditions.

In: an expression of the tree. Out: its text, and lines of checks before it where something may be out of
range. May not know: statements, arrays.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import copysign, inf

from logosnb.kernels.nest import Nest, NotCompiled
from logosnb.language import tree
from logosnb.language.tree import BOOL, INT, REAL, Expression, Statement, Type
from logosnb.stages.walk import everything

FAIL = "return 1"


@dataclass
class ExpressionWriter:
    nest: Nest
    dtype: str
    lines: list[str] = field(default_factory=list)
    depth: int = 1
    literals: list[int] = field(default_factory=list)
    temporaries: int = 0
    blocked: frozenset[str] = frozenset()
    sums: frozenset[str] = frozenset()
    constants: list[str] = field(default_factory=list)

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def temporary(self) -> int:
        self.temporaries += 1
        return self.temporaries

    def literal(self, value: int) -> str:
        """Small Ints stand in the text; a size is an argument."""
        if -2 <= value <= 2:
            return str(value)
        if value not in self.literals:
            self.literals.append(value)
        return f"n{self.literals.index(value)}"

    def type(self, expression: Expression) -> Type:
        return self.nest.types.of(expression)

    def check_whole(self, value: Expression) -> None:
        """Leave to the interpreter what may not fit into 64 bits."""
        if not self.nest.fits(value) and not isinstance(
            value, tree.Name | tree.Item | tree.IntLiteral
        ):
            bound = self.float_of(value)
            self.line(f"if not (-4e18 < {bound} < 4e18):")
            self.line(f"    {FAIL}")

    # ---- items

    def place(self, item: tree.Item) -> tuple[str, Type]:
        """The access to an item, checked on a line before where it is not surely in range."""
        assert isinstance(item.sequence, tree.Name)
        name = item.sequence.id
        if name in self.nest.sequences:
            self.check_index(item.index, f"c_{name}")
            return f"s_{name}[np.uint64({self.from_zero(item.index)})]", self.type(item)
        if not self.nest.in_range(item):
            self.check_index(item.index, self.literal(self.nest.size(name)))
        kind = INT if self.nest.kinds[name] == "Int" else REAL
        return f"a_{name}[{self.from_zero(item.index)}]", kind

    def check_index(self, index: Expression, size: str) -> None:
        self.check_whole(index)
        self.line(f"if not 1 <= {self.whole(index)} <= {size}:")
        self.line(f"    {FAIL}")

    def from_zero(self, index: Expression) -> str:
        return f"{self.whole(index)} - 1"

    # ---- expressions

    @property
    def real_type(self) -> str:
        return "np.float64" if self.dtype == "f64" else "np.float32"

    def constant(self, value: float) -> str:
        """A Real; one of f32 is a global name, which costs Numba less to compile than a call."""
        value = value if self.dtype == "f64" else narrowed(value)
        text = {float("inf"): "np.inf", float("-inf"): "-np.inf"}.get(value, repr(value))
        text = "np.nan" if value != value else text
        if self.dtype == "f64":
            return text
        if text not in self.constants:
            self.constants.append(text)
        return f"f{self.constants.index(text)}"

    def real(self, node: Expression) -> str:
        """A Real of the kernel's type; an Int becomes one."""
        if self.type(node) == INT:
            if isinstance(node, tree.IntLiteral):
                return self.constant(float(node.value))
            self.check_whole(node)
            return f"{self.real_type}({self.whole(node)})"
        match node:
            case tree.RealLiteral(value=value):
                return self.constant(value)
            case tree.Special(name=name):
                return self.constant(float("inf" if name == "infinity" else "nan"))
            case tree.Name(id=name):
                narrow = self.dtype == "f32" and name in self.sums
                return f"np.float32(v_{name})" if narrow else f"v_{name}"
            case tree.Item():
                return self.place(node)[0]
            case tree.Unary(operand=operand):
                return f"(-{self.real(operand)})"
            case tree.Binary():
                return self.real_binary(node)
            case tree.Call():
                return self.real_call(node)
        raise TypeError(type(node).__name__)

    def real_binary(self, node: tree.Binary) -> str:
        left, right = self.real(node.left), self.real(node.right)
        match node.operator:
            case "+" | "-" | "*" | "/":
                return f"({left} {node.operator} {right})"
            case "**":
                return f"power({left}, {right})"
            case "//":
                return f"{self.real_type}(math.floor({left} / {right}))"
        return f"remainder({left}, {right})"

    def real_call(self, node: tree.Call) -> str:
        parts = [self.real(argument) for argument in node.arguments]
        match node.function:
            case "min" | "max":
                text = parts[0]
                for part in parts[1:]:
                    text = f"{node.function}imum({text}, {part})"
                return text
            case "exp" | "tanh" | "log":
                return f"{node.function}{self.dtype[1:]}({parts[0]})"
            case "pow":
                return f"power({parts[0]}, {parts[1]})"
            case "abs":
                return f"abs({parts[0]})"
        return f"{self.real_type}(math.{node.function}({parts[0]}))"

    def whole(self, node: Expression) -> str:
        match node:
            case tree.IntLiteral(value=value):
                return self.literal(value)
            case tree.Name(id=name):
                return f"v_{name}"
            case tree.Item():
                return self.place(node)[0]
            case tree.Unary(operand=operand):
                return f"(-{self.whole(operand)})"
            case tree.Binary():
                return self.whole_binary(node)
            case tree.Length(sequence=tree.Name(id=name)):
                return f"c_{name}"
            case tree.Call():
                return self.whole_call(node)
        raise TypeError(type(node).__name__)

    def whole_binary(self, node: tree.Binary) -> str:
        left, right = self.whole(node.left), self.whole(node.right)
        if node.operator in ("+", "-", "*"):
            return f"({left} {node.operator} {right})"
        if node.operator == "**":
            self.line(f"if {right} < 0 or not (-4e18 < float({left}) ** float({right}) < 4e18):")
            self.line(f"    {FAIL}")
            return f"({left} ** {right})"
        if self.nest.ranges.of(node.right).low < 1:
            self.line(f"if {right} == 0:")
            self.line(f"    {FAIL}")
        plain = self.nest.ranges.of(node.left).low >= 0 and self.nest.ranges.of(node.right).low >= 1
        if node.operator == "//" or plain:
            return f"({left} {'//' if node.operator != '%' else '%'} {right})"
        return f"{'quotient' if node.operator == '/' else 'rest'}({left}, {right})"

    def whole_call(self, node: tree.Call) -> str:
        if node.function in ("floor", "ceil", "round"):
            value = self.real(node.arguments[0])
            self.line(f"if not (-4e18 < {value} < 4e18):")
            self.line(f"    {FAIL}")
            name = "half_away" if node.function == "round" else f"math.{node.function}"
            return f"np.int64({name}({value}))"
        parts = ", ".join(self.whole(argument) for argument in node.arguments)
        return f"{node.function}({parts})"

    def float_of(self, node: Expression) -> str:
        """An Int expression computed in floats, to see whether it may leave 64 bits."""
        match node:
            case tree.Binary(operator="+" | "-" | "*" as sign, left=left, right=right):
                return f"({self.float_of(left)} {sign} {self.float_of(right)})"
            case tree.Unary(operand=operand):
                return f"(-{self.float_of(operand)})"
        return f"float({self.whole(node)})"

    # ---- conditions

    def truth(self, node: Expression) -> str:
        match node:
            case tree.BoolLiteral(value=value):
                return str(value)
            case tree.Logic(operator=word, left=left, right=right):
                self.require_pure(right)
                return f"({self.truth(left)} {word} {self.truth(right)})"
            case tree.Unary(operator="not", operand=operand):
                return f"(not {self.truth(operand)})"
            case tree.Comparison(operands=operands, operators=signs):
                return self.chain(operands, signs)
            case tree.Between(value=value, low=low, high=high):
                return self.chain((low, value, high), ("<=", "<="))
            case tree.Parity(value=value, kind=parity):
                return f"({self.whole(value)} % 2 == {int(parity == 'odd')})"
            case tree.Divisible(value=value, divisor=divisor):
                return f"({self.whole(tree.Binary('%', value, divisor))} == 0)"
            case tree.Contains(sequence=tree.Name(id=name), value=value):
                whole = self.type(tree.Name(name)).element == INT
                text = self.whole(value) if whole else self.real(value)
                return f"holds(s_{name}, c_{name}, {text})"
        kind = self.type(node)
        if kind == BOOL and isinstance(node, tree.Name):
            return f"v_{node.id}"
        return f"({self.whole(node) if kind == INT else self.real(node)} != 0)"

    def require_pure(self, node: Expression) -> None:
        """What stands behind `and` is looked at only if the first part holds: a check of an index
        that were made before it could fail where the program does not."""
        for part in everything((tree.Show(node),)):
            if isinstance(part, tree.Item):
                known = isinstance(part.sequence, tree.Name) and (
                    part.sequence.id not in self.nest.sequences and self.nest.in_range(part)
                )
                if not known:
                    raise NotCompiled(node, "an item behind `and` or `or` may be out of range")

    def chain(self, operands: tuple[Expression, ...], signs: tuple[str, ...]) -> str:
        whole = all(self.type(operand) == INT for operand in operands)
        if not whole and any(self.type(operand) not in (INT, REAL) for operand in operands):
            raise TypeError("a comparison of other things than numbers")
        texts = [self.whole(o) if whole else self.real(o) for o in operands]
        return "(" + texts[0] + "".join(f" {s} {t}" for s, t in zip(signs, texts[1:])) + ")"


def narrowed(value: float) -> float:
    """Infinite where f32 has no such number."""
    return value if abs(value) < 3.4028235677973366e38 or value != value else copysign(inf, value)


def sums(statements: tuple[Statement, ...]) -> frozenset[str]:
    """Names that gather a sum in a loop: bound to a number, then only added to."""
    bound: dict[str, list[Expression]] = {}
    for node in everything(statements):
        match node:
            case (
                tree.Let(name=name, value=value) | tree.Set(target=tree.Name(id=name), value=value)
            ):
                bound.setdefault(name, []).append(value)
            case tree.Update(target=tree.Name(id=name) as target, operator=sign, value=value):
                bound.setdefault(name, []).append(tree.Binary(sign, target, value))
    return frozenset(
        name for name, values in bound.items() if any(is_added(name, value) for value in values)
    )


def is_added(name: str, value: Expression) -> bool:
    return (
        isinstance(value, tree.Binary)
        and value.operator in ("+", "-")
        and value.left == tree.Name(name)
        and name
        not in {n.id for n in everything((tree.Show(value.right),)) if isinstance(n, tree.Name)}
    )
