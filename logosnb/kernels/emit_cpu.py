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
from dataclasses import dataclass
from functools import singledispatchmethod

from logosnb.kernels.expressions import FAIL, ExpressionWriter, is_added, sums
from logosnb.kernels.nest import added_value
from logosnb.language import tree
from logosnb.language.tree import BOOL, INT, REAL, Expression, Statement
from logosnb.stages.walk import everything

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


class Writer(ExpressionWriter):
    """Statements; `source` gives the whole."""

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
        globals_ = [f"f{n} = np.float32({text})" for n, text in enumerate(self.constants)]
        text = "\n".join([*globals_, HEAD, *self.lines, *written, "    return 0"]) + "\n"
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
        self.line(f"    a_{name}[z] = {zero}")

    def block(self, statements: tuple[Statement, ...]) -> None:
        for statement in statements:
            self.write(statement)

    def body(self, statements: tuple[Statement, ...]) -> None:
        self.depth += 1
        self.block(statements)
        if not statements:
            self.line("pass")
        self.depth -= 1

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

    def sums_inside(self, loop: tree.RepeatRange) -> list[str]:
        """The sums of f32 that an innermost loop gathers and does nothing else with."""
        if self.dtype == "f64" or self.holds_loops(loop.body):
            return []
        added = [name for s in loop.body if (name := self.summed_by(s)) is not None]
        found = list(dict.fromkeys(added))
        plain = all(isinstance(s, tree.Let | tree.Set) for s in loop.body)
        uses = [n.id for n in everything(loop.body) if isinstance(n, tree.Name)]
        alone = all(uses.count(name) == 2 * added.count(name) for name in found)
        return found if plain and alone else []

    def summed_by(self, statement: Statement) -> str | None:
        """The sum of Reals that a statement adds to, if that is all it does."""
        match statement:
            case tree.Set(target=tree.Name(id=name), value=value):
                real = self.nest.types.names[name] == REAL
                return name if real and name in self.sums and is_added(name, value) else None
        return None

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
