"""A nest as Python source that Numba compiles: a kernel, of the signature that native.py states.

In: a Nest and "f64" or "f32". Out: `Source`: the text and what the words of a step must hold. May not
know: arrays, threads.

    def kernel(bases, scalars, words, first, last, piece):
        a_x = reals64(bases[words[0]])
        a_y = reals64(bases[words[1]])
        n0 = words[2]
        for v_row in range(first, last + 1):
            …
        return 0

A tensor is a pointer `a_x` to its items. Every Int literal is a word (n0, n1, …), so that another batch
size is the same kernel. The stop flag is looked at in every loop that may go on for long. It returns 0,
or 1 where something stands that the interpreter must name: an index out of range, a division of Ints by
zero, an Int that may leave 64 bits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import singledispatchmethod

from logosnb.kernels.nest import Nest, NotCompiled, added_value
from logosnb.language import tree
from logosnb.language.tree import BOOL, INT, REAL, Expression, Statement, Type
from logosnb.stages.walk import everything

FAIL = "return 1"
BLOCK = 128  # items of a sum in f32 before it is added to f64
HEAD = "def kernel(bases, scalars, words, first, last, piece):"


@dataclass
class Source:
    """text: with the program's names. Its words hold the slot of each of `tensors`, then those of
    `inputs` and `outputs` among the scalars, then the `literals`."""

    text: str
    tensors: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    literals: list[int]

    @property
    def canonical(self) -> str:
        """The text with names by their order, the same for every program that computes the same."""
        order: dict[str, str] = {}

        def numbered(found: re.Match[str]) -> str:
            return order.setdefault(found[0], f"{found[1]}_{len(order)}")

        return re.sub(r"\b([abvsc])_(\w+)", numbered, self.text)


@dataclass
class Writer:
    nest: Nest
    dtype: str
    lines: list[str] = field(default_factory=list)
    depth: int = 1
    literals: list[int] = field(default_factory=list)
    temporaries: int = 0
    blocked: frozenset[str] = frozenset()

    def source(self) -> Source:
        nest = self.nest
        self.sums = sums(nest.statements)
        for name in nest.zeroed:
            self.cleared(name)
        if nest.split:
            loop = nest.statements[0]
            assert isinstance(loop, tree.RepeatRange)
            self.loop(loop, "first", "last", nest.windows)
        else:
            self.block(nest.statements)
        written, self.lines = self.lines, []
        self.unpacked()
        given = len(nest.tensors) + len(nest.inputs)
        for place, name in enumerate(nest.outputs, given):
            written.append(f"    scalars[words[{place}]] = {self.as_bits(name)}")
        text = "\n".join([HEAD, *self.lines, *written, "    return 0"]) + "\n"
        return Source(text, nest.tensors, nest.inputs, nest.outputs, self.literals)

    def unpacked(self) -> None:
        """Each operand of the step from its word."""
        nest = self.nest
        for place, name in enumerate(nest.tensors):
            view = "ints" if nest.kinds[name] == "Int" else f"reals{self.dtype[1:]}"
            own = " + piece" if name in nest.summed else ""
            self.line(f"a_{name} = {view}(bases[words[{place}]{own}])")
        for place, name in enumerate(nest.inputs, len(nest.tensors)):
            self.line(f"v_{name} = {self.from_bits(name, f'scalars[words[{place}]]')}")
        given = len(nest.tensors) + len(nest.inputs) + len(nest.outputs)
        for place in range(len(self.literals)):
            self.line(f"n{place} = words[{given + place}]")

    def from_bits(self, name: str, bits: str) -> str:
        kind = self.nest.types.names[name]
        if kind == REAL:
            return f"{self.real_type}(real_of({bits}))"
        return f"({bits} != 0)" if kind == BOOL else bits

    def as_bits(self, name: str) -> str:
        kind = self.nest.types.names[name]
        return f"bits_of(np.float64(v_{name}))" if kind == REAL else f"np.int64(v_{name})"

    def cleared(self, name: str) -> None:
        """Zeros in a tensor that this kernel is the first to touch."""
        zero = "0" if self.nest.kinds[name] == "Int" else self.constant(0.0)
        self.line(f"for z in range({self.literal(self.nest.size(name))}):")
        self.line(f"    a_{name}[z] = {zero}")

    def cleared_window(self, name: str, loop: tree.RepeatRange) -> None:
        """Zeros in what one iteration alone touches."""
        zero = "0" if self.nest.kinds[name] == "Int" else self.constant(0.0)
        width = self.literal(self.nest.windows[name])
        start = f"{width} * (v_{loop.name} - {self.whole(loop.first)})"
        self.line(f"for z in range({start}, {start} + {width}):")
        self.line(f"    a_{name}[np.uint64(z)] = {zero}")

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def block(self, statements: tuple[Statement, ...]) -> None:
        for statement in statements:
            self.write(statement)

    def body(self, statements: tuple[Statement, ...]) -> None:
        self.depth += 1
        self.block(statements)
        if not statements:
            self.line("pass")
        self.depth -= 1

    def literal(self, value: int) -> str:
        """Small Ints stand in the text; a size is an argument."""
        if -2 <= value <= 2:
            return str(value)
        if value not in self.literals:
            self.literals.append(value)
        return f"n{self.literals.index(value)}"

    def type(self, expression: Expression) -> Type:
        return self.nest.types.of(expression)

    # ---- statements

    @singledispatchmethod
    def write(self, statement: Statement) -> None:
        raise TypeError(type(statement).__name__)

    @write.register
    def _(self, let: tree.Let) -> None:
        if isinstance(let.value, tree.NewSeq):
            kind = "np.int64" if let.value.element == INT else self.real_type
            self.line(f"s_{let.name} = np.empty(64, {kind})")
            self.line(f"c_{let.name} = 0")
            return
        self.assign(let.name, let.value)

    @write.register
    def _(self, set_: tree.Set) -> None:
        if isinstance(set_.target, tree.Name):
            self.assign(set_.target.id, set_.value)
        elif isinstance(set_.target, tree.Item):
            place, kind = self.place(set_.target)
            value = self.whole(set_.value) if kind == INT else self.real(set_.value)
            if kind == INT:
                self.check_whole(set_.value)
            added = added_value(set_)
            if added is not None and kind == REAL:
                self.line(f"{place} += {self.real(added)}")
            else:
                self.line(f"{place} = {value}")

    @write.register
    def _(self, update: tree.Update) -> None:
        changed = tree.Binary(update.operator, update.target, update.value)
        self.write(tree.Set(update.target, changed))

    def assign(self, name: str, value: Expression) -> None:
        kind = self.nest.types.names[name]
        if kind == REAL:
            if name in self.sums and is_added(name, value):
                assert isinstance(value, tree.Binary)
                right = self.real(value.right)
                right = right if value.operator == "+" else f"(-{right})"
                own = "b" if name in self.blocked else "v"
                self.line(f"{own}_{name} = fast_add({own}_{name}, {right})")
                return
            text = self.real(value)
            self.line(
                f"v_{name} = np.float64({text})" if name in self.sums else f"v_{name} = {text}"
            )
        elif kind == INT:
            self.check_whole(value)
            self.line(f"v_{name} = {self.whole(value)}")
        else:
            self.line(f"v_{name} = {self.truth(value)}")

    def check_whole(self, value: Expression) -> None:
        """Leave to the interpreter what may not fit into 64 bits."""
        if not self.nest.fits(value) and not isinstance(
            value, tree.Name | tree.Item | tree.IntLiteral
        ):
            bound = self.float_of(value)
            self.line(f"if not (-4e18 < {bound} < 4e18):")
            self.line(f"    {FAIL}")

    @write.register
    def _(self, push: tree.Push) -> None:
        assert isinstance(push.target, tree.Name)
        name = push.target.id
        self.line(f"if c_{name} == s_{name}.shape[0]:")
        self.line(f"    s_{name} = grown(s_{name})")
        whole = self.type(push.target).element == INT
        if whole:
            self.check_whole(push.value)
        value = self.whole(push.value) if whole else self.real(push.value)
        self.line(f"s_{name}[c_{name}] = {value}")
        self.line(f"c_{name} += 1")

    @write.register
    def _(self, chosen: tree.If) -> None:
        depth = self.depth
        for condition, body in chosen.branches:
            self.line(f"if {self.truth(condition)}:")
            self.body(body)
            self.line("else:")
            self.depth += 1
        self.block(chosen.otherwise or ())
        self.line("pass")
        self.depth = depth

    @write.register
    def _(self, loop: tree.While) -> None:
        """The condition stands inside, with the checks that it needs."""
        self.line("while True:")
        self.depth += 1
        self.line(f"if not {self.truth(loop.condition)}:")
        self.line("    break")
        self.depth -= 1
        self.stoppable(loop.body)

    @write.register
    def _(self, loop: tree.RepeatForever) -> None:
        self.line("while True:")
        self.stoppable(loop.body)

    @write.register
    def _(self, loop: tree.RepeatRange) -> None:
        self.check_whole(loop.first)
        self.check_whole(loop.last)
        names = self.sums_inside(loop)
        if names:
            self.summing_loop(loop, names)
        else:
            self.loop(loop, self.whole(loop.first), self.whole(loop.last))

    def loop(
        self, loop: tree.RepeatRange, first: str, last: str, windows: Iterable[str] = ()
    ) -> None:
        self.line(f"for v_{loop.name} in range({first}, {last} + 1):")
        self.depth += 1
        for name in windows:
            self.cleared_window(name, loop)
        self.depth -= 1
        if self.holds_loops(loop.body):
            self.stoppable(loop.body)
        else:
            self.body(loop.body)

    def summing_loop(self, loop: tree.RepeatRange, names: list[str]) -> None:
        """An innermost loop that gathers sums of f32: each block of items in f32, which fills vectors
        with twice as many items as f64 does, the blocks in f64, which keeps the digits."""
        start, end, block = (f"{name}{self.temporary()}" for name in ("start", "end", "block"))
        self.line(f"{end} = {self.whole(loop.last)} + 1")
        self.line(f"for {start} in range({self.whole(loop.first)}, {end}, {BLOCK}):")
        self.depth += 1
        for name in names:
            self.line(f"b_{name} = np.float32(0.0)")
        self.line(f"for v_{loop.name} in range({start}, min({start} + {BLOCK}, {end})):")
        self.blocked = frozenset(names)
        self.body(loop.body)
        self.blocked = frozenset()
        for name in names:
            self.line(f"v_{name} += np.float64(b_{name})")
        self.depth -= 1

    def temporary(self) -> int:
        self.temporaries += 1
        return self.temporaries

    def sums_inside(self, loop: tree.RepeatRange) -> list[str]:
        """The sums of f32 that an innermost loop gathers and does nothing else with."""
        if self.dtype == "f64" or self.holds_loops(loop.body):
            return []
        added = [s.target.id for s in loop.body if self.is_sum(s)]
        found = [name for name in dict.fromkeys(added)]
        plain = all(isinstance(s, tree.Let | tree.Set) for s in loop.body)
        uses = [n.id for n in everything(loop.body) if isinstance(n, tree.Name)]
        alone = all(uses.count(name) == 2 * added.count(name) for name in found)
        return found if plain and alone else []

    def is_sum(self, statement: Statement) -> bool:
        match statement:
            case tree.Set(target=tree.Name(id=name), value=value):
                real = self.nest.types.names[name] == REAL
                return real and name in self.sums and is_added(name, value)
        return False

    def stoppable(self, body: tuple[Statement, ...]) -> None:
        """A body that a person's interrupt leaves."""
        self.depth += 1
        self.line("if asked(bases[0]) != 0:")
        self.line(f"    {FAIL}")
        self.depth -= 1
        self.body(body)

    def holds_loops(self, body: tuple[Statement, ...]) -> bool:
        """An innermost loop is left alone, so that it becomes vector code."""
        loops = (tree.RepeatRange, tree.RepeatEach, tree.RepeatForever, tree.While)
        return any(isinstance(node, loops) for node in everything(body))

    @write.register
    def _(self, loop: tree.RepeatEach) -> None:
        assert isinstance(loop.sequence, tree.Name)
        place, name = f"t{self.temporary()}", loop.sequence.id
        self.line(f"for {place} in range(c_{name}):")
        self.depth += 1
        self.line(f"v_{loop.name} = s_{name}[{place}]")
        self.depth -= 1
        self.body(loop.body)

    @write.register
    def _(self, statement: tree.Break) -> None:
        self.line("break")

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
        return f"a_{name}[np.uint64({self.from_zero(item.index)})]", kind

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
        text = {float("inf"): "np.inf", float("-inf"): "-np.inf"}.get(value, repr(value))
        text = "np.nan" if value != value else text
        return text if self.dtype == "f64" else f"np.float32({text})"

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
