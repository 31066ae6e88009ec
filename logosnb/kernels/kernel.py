"""A kernel: a nest with its machine code, called with arrays.

In: a Nest, a dtype. Out: `Kernel`. May not know: programs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Any

import numpy as np
from numba import types

from logosnb.kernels import threads
from logosnb.kernels.build import build
from logosnb.kernels.emit_cpu import Source, Writer
from logosnb.kernels.nest import Nest
from logosnb.kernels.ranges import Ranges
from logosnb.language import tree
from logosnb.language.tree import BOOL, INT, REAL, Statement
from logosnb.stages.walk import everything

Array = np.ndarray[Any, Any]
ENOUGH = 60_000  # inner iterations from which two threads are faster than one
LONG = 5e7  # inner iterations after which a kernel runs where an interrupt can reach it
PRIVATE = 4  # a summed tensor is copied a piece where the loop does this many times its size


class NeedsInterpreter(Exception):
    """A kernel met what only the interpreter can name: an error, or an Int beyond 64 bits."""


class Kernel:
    """name: what it serves; source: its text, for who wants to read it; bytes and operations it moves."""

    def __init__(self, nest: Nest, dtype: str, name: str) -> None:
        self.nest = nest
        self.dtype = dtype
        self.name = name
        self.code: Source = Writer(nest, dtype).source()
        self.operations = work(nest.statements, nest.ranges)

    @property
    def source(self) -> str:
        return self.code.text

    @property
    def bytes(self) -> int:
        """The bytes of the tensors that it touches, each once."""
        size = 8 if self.dtype == "f64" else 4
        return sum(self.nest.size(name) * size for name in self.nest.tensors)

    def __repr__(self) -> str:
        return f"Kernel({self.name}, {self.operations:.0f} operations, {self.bytes} bytes)"

    @cached_property
    def function(self) -> Any:
        return build(self.source, self._signature())

    def _signature(self) -> Any:
        """What only is read may be an array that cannot be written to."""
        nest = self.nest
        real = types.float64 if self.dtype == "f64" else types.float32
        arrays = [
            types.Array(
                types.int64 if nest.kinds[tensor] == "Int" else real,
                1,
                "C",
                readonly=tensor not in nest.written,
            )
            for tensor in nest.tensors
        ]
        names = {REAL: real, INT: types.int64, BOOL: types.boolean}
        scalars = [names[nest.types.names[name]] for name in nest.inputs]
        ends = [types.int64, types.int64] if nest.split else []
        out = [types.float64[::1]] if self.code.outputs else []
        literals = [types.int64] * len(self.code.literals)
        stop = types.Array(types.int64, 1, "C", readonly=True)
        return types.int64(stop, *ends, *out, *arrays, *scalars, *literals)

    def __call__(self, arrays: Mapping[str, Array], scalars: Mapping[str, Any]) -> list[Any]:
        """Run on flat arrays by name; gives the scalars of `nest.outputs`."""
        out = np.empty(len(self.code.outputs))
        rest = [scalars[name] for name in self.nest.inputs] + self.code.literals
        if not self.nest.split:
            given = [out] if self.code.outputs else []
            stop = np.zeros(1, np.int64)
            piece = partial(self.function, stop, *given, *self._flat(arrays), *rest)
            self._require(threads.at_once([piece], stop, self._long))
        else:
            self._cut(arrays, rest)
        return [self._as_value(name, value) for name, value in zip(self.code.outputs, out)]

    def _as_value(self, name: str, value: float) -> Any:
        kind = self.nest.types.names[name]
        return bool(value) if kind == BOOL else int(value) if kind == INT else float(value)

    def _flat(self, arrays: Mapping[str, Array]) -> list[Array]:
        return [arrays[name] for name in self.nest.tensors]

    def _cut(self, arrays: Mapping[str, Array], rest: list[Any]) -> None:
        loop = self.nest.statements[0]
        assert isinstance(loop, tree.RepeatRange)
        stop = np.zeros(1, np.int64)
        first, last = (int(self.nest.ranges.of(end).high) for end in (loop.first, loop.last))
        if self._alone(first, last):
            piece = partial(self.function, stop, first, last, *self._flat(arrays), *rest)
            self._require(threads.at_once([piece], stop, self._long))
            return
        pieces: list[Callable[[], int]] = []
        owns: list[dict[str, Array]] = []
        ends = np.linspace(first, last + 1, threads.count() + 1).astype(int).tolist()
        for start, end in zip(ends[:-1], ends[1:]):
            own = self._own(arrays, bool(owns))
            owns.append(own)
            flat = self._flat({**arrays, **own})
            pieces.append(partial(self.function, stop, start, end - 1, *flat, *rest))
        self._require(threads.at_once(pieces, stop, self._long))
        for own in owns[1:]:
            for name, array in own.items():
                arrays[name][...] += array

    def _own(self, arrays: Mapping[str, Array], later: bool) -> dict[str, Array]:
        """A later piece adds into zeros of its own, which are added up in the order of the pieces."""
        return {name: np.zeros_like(arrays[name]) for name in self.nest.summed} if later else {}

    def _alone(self, first: int, last: int) -> bool:
        summed = sum(self.nest.size(name) for name in self.nest.summed)
        small = self.operations < max(ENOUGH, PRIVATE * summed)
        return threads.count() == 1 or last - first < threads.count() or small

    @cached_property
    def _long(self) -> bool:
        """Whether a person may want to interrupt it: a loop without an end in sight, or much work."""
        endless = (tree.While, tree.RepeatForever)
        loops = any(isinstance(node, endless) for node in everything(self.nest.statements))
        return loops or self.operations > LONG

    def _require(self, statuses: list[int]) -> None:
        if any(statuses):
            raise NeedsInterpreter


def work(statements: tuple[Statement, ...], ranges: Ranges) -> float:
    """How many simple statements run, as far as the text tells."""
    total = 0.0
    for statement in statements:
        match statement:
            case tree.RepeatRange(first=first, last=last, body=body):
                trips = ranges.of(last).high - ranges.of(first).low + 1
                total += (trips if 0 <= trips < 1e12 else 16.0) * work(body, ranges)
            case tree.If(branches=branches, otherwise=otherwise):
                bodies = [body for _, body in branches] + [otherwise or ()]
                total += max(work(body, ranges) for body in bodies)
            case tree.While(body=body) | tree.RepeatEach(body=body) | tree.RepeatForever(body=body):
                total += 16.0 * work(body, ranges)
            case _:
                total += 1.0
    return total
