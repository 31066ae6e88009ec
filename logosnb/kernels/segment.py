"""A segment: kernels that run one after the other in a single call of machine code.

In: kernels, a Workshop, what is read from outside and what is kept. Out: `Segment`, which takes arrays
and scalars and gives those that it makes. May not know: the program's other statements.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from logosnb.kernels import blas, memory, threads
from logosnb.kernels.kernel import LONG, Kernel
from logosnb.kernels.layout import layout
from logosnb.kernels.native import yield_address
from logosnb.kernels.pieces import Cut, cut
from logosnb.kernels.places import Places, base_count
from logosnb.kernels.sequence import addresser, alone, compiled, lay_out, together
from logosnb.kernels.task import PRODUCTS_A_STATEMENT
from logosnb.kernels.workshop import Workshop
from logosnb.language.tree import BOOL, REAL, Type

Array = np.ndarray[Any, Any]
TOGETHER = 300_000  # simple statements in steps that are cut, from which a second thread is called


class NeedsInterpreter(Exception):
    """A kernel met what only the interpreter can name: an error, or an Int beyond 64 bits."""


class NeedsGeneral(Exception):
    """A kernel that is right for finite numbers alone met others."""


def require(status: int) -> None:
    if status != 0:
        raise NeedsGeneral if status == 2 else NeedsInterpreter


@dataclass(frozen=True)
class Interface:
    """reads: tensors from outside; made: tensors that it makes; kept: those of them that are wanted;
    scalars: names and types from outside; outputs: scalars that it leaves."""

    reads: tuple[str, ...]
    made: tuple[str, ...]
    kept: tuple[str, ...]
    scalars: tuple[tuple[str, Type], ...] = ()
    outputs: tuple[tuple[str, Type], ...] = ()


class Segment:
    """Kernels with their interface; built at the first run, which may come from several threads."""

    def __init__(self, kernels: Sequence[Kernel], face: Interface, shop: Workshop) -> None:
        self.face = face
        self.shop = shop
        self.kernels = list(kernels)
        self._lock = threading.Lock()
        self._built: Built | None = None

    def built(self) -> Built:
        if self._built is None:
            with self._lock:
                self._built = self._built or Built(self)
        return self._built

    def run(
        self, arrays: Sequence[Array], scalars: Sequence[Any], out: Mapping[str, Array]
    ) -> Made:
        """Run on C-contiguous arrays of the dtype; raises NeedsInterpreter, NeedsGeneral.

        out: arrays to write kept tensors into instead of new ones."""
        return self.built().run(arrays, scalars, out)


class Made(Mapping[str, Any]):
    """What a run made, by name; the arrays of small tensors are made when they are asked for."""

    def __init__(self, built: Built, own: dict[str, Any], block: Array) -> None:
        self._built, self._own, self._block = built, own, block
        self._names: tuple[str, ...] = built.names

    def add(self, values: Mapping[str, Any]) -> None:
        """More values, before those that are there."""
        self._own.update(values)
        self._names = tuple(dict.fromkeys((*values, *self._names)))

    def __getitem__(self, name: str) -> Any:
        if name not in self._own:
            self._own[name] = self._built.view(name, self._block)
        return self._own[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class Built:
    """The table of steps and the places of tensors, for the number of threads of this process."""

    def __init__(self, segment: Segment) -> None:
        self.face, self.shop = segment.face, segment.shop
        self.cut = steps = cut(segment.kernels, self.shop)
        self.kernels = steps.kernels
        self.names = (*self.face.kept, *(name for name, _ in self.face.outputs))
        self.scalar_slots = self._numbered_scalars()
        self.layout = self._laid_out(steps)
        bases = base_count(self.face.reads, self.layout, steps.groups)
        self.at = Places(
            self.layout, self.face.reads, len(self.kernels), len(self.scalar_slots), bases
        )
        self.table, self.words = self._steps(steps)
        self.places = self.at.table()
        self._choose()

    def _numbered_scalars(self) -> dict[str, int]:
        names = [name for name, _ in self.face.scalars]
        for kernel in self.kernels:
            names += [*kernel.inputs, *kernel.outputs]
        return {name: slot for slot, name in enumerate(dict.fromkeys(names))}

    def _laid_out(self, steps: Cut) -> Any:
        def size(name: str) -> int:
            return self.shop.bytes(steps.copies.get(name, name))

        touched = [steps.touched(step) for step in range(len(self.kernels))]
        made = [*self.face.made, *steps.copies]
        return layout(touched, made, frozenset(self.face.kept), size)

    def _steps(self, steps: Cut) -> tuple[Array, Array]:
        """The table, and the words that its steps take."""
        words: list[int] = []
        table: list[list[int]] = []
        first = self.at.groups(steps.groups)
        for step, (kernel, count) in enumerate(zip(self.kernels, steps.counts)):
            table.append([kernel.build(), len(words), *kernel.ends, count])
            words += [first.get((step, name), self.at.slots[name]) for name in kernel.tensors]
            words += [self.scalar_slots[name] for name in (*kernel.inputs, *kernel.outputs)]
            words += kernel.literals
        return np.array(table, np.int64).reshape(-1, 5), np.array([*words, 0], np.int64)

    def _choose(self) -> None:
        """Which code runs it."""
        self.several = self.cut.shared_work > TOGETHER and threads.count() > 1
        self.long = any(k.endless or k.operations > LONG for k in self.kernels)
        self.own_products = any(
            k.uses_blas and k.operations * PRODUCTS_A_STATEMENT > blas.SHARED for k in self.kernels
        )
        self.plain = not (self.several or self.long or self.own_products)
        self.lay_out, self.address = compiled(lay_out), addresser()
        self.function = compiled(together if self.several else alone)
        self.yield_ = yield_address()

    # ---- runs

    def run(
        self, arrays: Sequence[Array], scalars: Sequence[Any], out: Mapping[str, Array]
    ) -> Made:
        own_memory = np.empty(self.at.memory, np.uint8)
        own = {name: out[name] if name in out else self._new(name) for name in self.layout.own}
        held = [*arrays, *own.values()]
        if self.at.scratch:
            held.append(memory.empty((self.at.scratch,), np.uint8))
        addresses = np.array([self.address(array) for array in held], np.int64)
        if scalars:
            self._put(scalars, own_memory)
        arguments = (self.table, self.words, self.places, addresses, own_memory, self.yield_)
        require(self._call(arguments, held))
        made = Made(self, own, own_memory)
        if self.face.outputs or out:
            self._finish(made, own_memory, out)
        return made

    def _call(self, arguments: tuple[Any, ...], held: object) -> int:
        """The status of a run; `held` is alive until the last thread is done."""
        if self.plain:
            status: int = self.function(*arguments)
            return status
        self.lay_out(*arguments)
        with blas.one_thread() if self.own_products else nullcontext():
            if self.long:
                stop = arguments[4][:8].view(np.int64)
                return threads.interruptible(self.function, arguments, stop, self.several, held)
            if self.several:
                return threads.with_help(self.function, arguments)
            return self.function(*arguments)  # type: ignore[no-any-return]

    def _new(self, name: str) -> Array:
        shape = self.shop.shapes[name]
        return memory.empty((shape.rows, shape.columns), self.shop.dtype_of(name))

    def view(self, name: str, own_memory: Array) -> Array:
        """A small result, in the memory of its run."""
        shape = self.shop.shapes[name]
        start = self.at.results_at + self.layout.shared[name]
        dtype = self.shop.dtype_of(name)
        return np.ndarray((shape.rows, shape.columns), dtype, own_memory.data, start)

    def _scalars(self, own_memory: Array) -> Array:
        end = self.at.scalars_at + 8 * len(self.scalar_slots)
        return own_memory[self.at.scalars_at : end].view(np.int64)

    def _put(self, scalars: Sequence[Any], own_memory: Array) -> None:
        bits = self._scalars(own_memory)
        for (name, kind), value in zip(self.face.scalars, scalars):
            slot = self.scalar_slots[name]
            if kind == REAL:
                bits.view(np.float64)[slot] = value
            elif -(2**63) <= value < 2**63:
                bits[slot] = value
            else:
                raise NeedsInterpreter

    def _finish(self, made: Made, own_memory: Array, out: Mapping[str, Array]) -> None:
        bits = self._scalars(own_memory)
        made.add({n: as_value(bits[self.scalar_slots[n]], kind) for n, kind in self.face.outputs})
        for name in self.layout.shared.keys() & out.keys():
            out[name][...] = made[name]
            made.add({name: out[name]})


def as_value(bits: Any, kind: Type) -> Any:
    if kind == REAL:
        return float(bits.view(np.float64))
    return bool(bits) if kind == BOOL else int(bits)
