"""A segment: kernels that run one after the other in a single call of machine code.

In: kernels, a Workshop, what is read from outside and what is kept. Out: `Segment`, which takes arrays
and scalars and gives those that it makes. May not know: the program's other statements.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from logosnb.kernels import blas, memory, threads
from logosnb.kernels.adding import adding
from logosnb.kernels.kernel import LONG, Kernel
from logosnb.kernels.layout import SMALL, layout, rounded
from logosnb.kernels.native import yield_address
from logosnb.kernels.sequence import STATE, addresser, alone, compiled, lay_out, together
from logosnb.kernels.workshop import Workshop
from logosnb.language.tree import BOOL, REAL, Type

Array = np.ndarray[Any, Any]
TOGETHER = 300_000  # simple statements in steps that are cut, from which a second thread is called


class NeedsInterpreter(Exception):
    """A kernel met what only the interpreter can name: an error, or an Int beyond 64 bits."""


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
    """Built once; `run` may be called from several threads."""

    def __init__(self, kernels: Sequence[Kernel], face: Interface, shop: Workshop) -> None:
        self.face = face
        self.shop = shop
        self.kernels = list(kernels)
        self._lock = threading.Lock()

    # ---- built at the first run

    @cached_property
    def _built(self) -> _Built:
        return _Built(self)

    def run(
        self, arrays: Sequence[Array], scalars: Sequence[Any], out: Mapping[str, Array]
    ) -> Made:
        """Run on C-contiguous arrays of the dtype; raises NeedsInterpreter.

        out: arrays to write kept tensors into instead of new ones."""
        with self._lock:
            built = self._built
        return built.run(arrays, scalars, out)


class Made(Mapping[str, Any]):
    """What a run made, by name; the arrays of small tensors are made when they are asked for."""

    def __init__(self, built: _Built, own: dict[str, Any], block: Array) -> None:
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


class _Built:
    """The table of steps and the places of tensors, for the number of threads of this process."""

    def __init__(self, segment: Segment) -> None:
        self.face, self.shop = segment.face, segment.shop
        self.kernels, pieces = self._with_adding(segment.kernels)
        passing = [*self.face.made, *self._copies]
        touched = [self._touched(step) for step in range(len(self.kernels))]
        self.layout = layout(touched, passing, frozenset(self.face.kept), self.size)
        self.names = (*self.face.kept, *(name for name, _ in self.face.outputs))
        self._number_scalars()
        self._place_bases()
        self._write_steps(pieces)
        self.several = self._several(pieces)
        self.lay_out, self.address = compiled(lay_out), addresser()
        self.function = compiled(together if self.several else alone)
        self.yield_ = yield_address()
        self.long = any(k.endless or k.operations > LONG for k in self.kernels)
        self.own_products = any(
            k.uses_blas and k.operations * 16 > blas.SHARED for k in self.kernels
        )
        self.plain = not (self.several or self.long or self.own_products)

    def size(self, name: str) -> int:
        return self.shop.bytes(self._copies.get(name, name))

    def _with_adding(self, kernels: list[Kernel]) -> tuple[list[Kernel], list[int]]:
        """The kernels, after each that gathers sums in pieces one that adds them up."""
        self._copies: dict[str, str] = {}
        self._groups: dict[tuple[int, str], list[str]] = {}
        found: list[Kernel] = []
        pieces: list[int] = []
        for kernel in kernels:
            count = kernel.pieces(threads.count(), lambda n: self.shop.bytes(n) // self.shop.real)
            step = len(found)
            found.append(kernel)
            pieces.append(count)
            for name in kernel.summed if count > 1 else ():
                copies = [f"{name}, copy {piece} of step {step}" for piece in range(1, count)]
                self._copies |= dict.fromkeys(copies, name)
                self._groups[step, name] = [name, *copies]
                adder = adding(name, copies, self.shop)
                self._groups[len(found), name] = [name, *copies]
                found.append(adder)
                pieces.append(adder.pieces(threads.count(), lambda n: 0))
        return found, pieces

    def _touched(self, step: int) -> tuple[str, ...]:
        groups = [self._groups.get((step, name), ()) for name in self.kernels[step].tensors]
        return (*self.kernels[step].tensors, *(name for group in groups for name in group))

    # ---- places

    def _number_scalars(self) -> None:
        names = [name for name, _ in self.face.scalars]
        for kernel in self.kernels:
            names += [*kernel.inputs, *kernel.outputs]
        self.scalar_slots = {name: slot for slot, name in enumerate(dict.fromkeys(names))}

    def _place_bases(self) -> None:
        """Where each base comes from: the state; tensors read and large results, each an address; small
        ones in memory; scratch; then again those of each group of copies, in a row."""
        large = [*self.face.reads, *self.layout.own]
        near = self.layout.scratch <= SMALL
        found: list[tuple[int, int]] = [(-1, 0)]
        self.slots: dict[str, int] = {}

        def place(name: str, root: int, offset: int) -> None:
            self.slots[name] = len(found)
            found.append((root, offset))

        for root, name in enumerate(large):
            place(name, root, 0)
        for name, offset in (self.layout.shared | self.layout.offsets).items():
            place(name, -1 if near or name in self.layout.shared else len(large), offset)
        self.group_slots: dict[tuple[int, str], int] = {}
        for key, members in self._groups.items():
            self.group_slots[key] = len(found)
            found += [found[self.slots[member]] for member in members]
        self._write_places(found, near)

    def _write_places(self, found: list[tuple[int, int]], near: bool) -> None:
        state = STATE + 2 * len(self.kernels)
        self.scalars_at = 8 * state
        bases_at = self.scalars_at + 8 * len(self.scalar_slots)
        self.block_at = rounded(bases_at + 8 * len(found))
        scratch_at = self.block_at + rounded(self.layout.block)
        self.memory = scratch_at + (self.layout.scratch if near else 0)
        self.scratch = 0 if near else self.layout.scratch
        start = {name: self.block_at for name in self.layout.shared}
        start |= {name: scratch_at for name in self.layout.offsets} if near else {}
        moved = dict.fromkeys(range(len(found)), 0)
        moved |= {self.slots[name]: at for name, at in start.items()}
        for key, members in self._groups.items():
            first = self.group_slots[key]
            moved |= {first + n: moved[self.slots[member]] for n, member in enumerate(members)}
        pairs = [(root, offset + moved[slot]) for slot, (root, offset) in enumerate(found)]
        flat = [state, self.scalars_at, bases_at, *(item for pair in pairs for item in pair)]
        self.places = np.array(flat, np.int64)

    def _write_steps(self, pieces: list[int]) -> None:
        words: list[int] = []
        table: list[list[int]] = []
        for step, (kernel, count) in enumerate(zip(self.kernels, pieces)):
            table.append([kernel.build(), len(words), *kernel.ends, count])
            words += [self._slot(step, name) for name in kernel.tensors]
            words += [self.scalar_slots[name] for name in (*kernel.inputs, *kernel.outputs)]
            words += kernel.literals
        self.table = np.array(table, np.int64).reshape(len(table), 5)
        self.words = np.array([*words, 0], np.int64)

    def _slot(self, step: int, name: str) -> int:
        return self.group_slots.get((step, name), self.slots[name])

    def _several(self, pieces: list[int]) -> bool:
        cut = sum(k.operations for k, count in zip(self.kernels, pieces) if count > 1)
        return cut > TOGETHER and threads.count() > 1

    # ---- runs

    def run(
        self, arrays: Sequence[Array], scalars: Sequence[Any], out: Mapping[str, Array]
    ) -> Made:
        memory_ = np.empty(self.memory, np.uint8)
        own = {name: out[name] if name in out else self._new(name) for name in self.layout.own}
        held = [*arrays, *own.values()]
        if self.scratch:
            held.append(memory.empty((self.scratch,), np.uint8))
        addresses = np.array([self.address(array) for array in held], np.int64)
        if scalars:
            self._put(scalars, memory_)
        arguments = (self.table, self.words, self.places, addresses, memory_, self.yield_)
        if self.call(arguments, held) != 0:
            raise NeedsInterpreter
        made = Made(self, own, memory_)
        if self.face.outputs or out:
            self._finish(made, memory_, out)
        return made

    def call(self, arguments: tuple[Any, ...], held: object) -> int:
        """The status of a run; `held` is alive until the last thread is done."""
        self.lay_out(*arguments)
        if self.plain:
            status: int = self.function(*arguments)
            return status
        with blas.one_thread() if self.own_products else nullcontext():
            if self.long:
                stop = arguments[4][:8].view(np.int64)
                return threads.interruptible(self.function, arguments, stop, self.several, held)
            if self.several:
                return threads.with_help(self.function, arguments)
            return self.function(*arguments)  # type: ignore[no-any-return]

    def _new(self, name: str) -> Array:
        shape = self.shop.shapes[name]
        return memory.empty((shape.rows, shape.columns), self._dtype(name))

    def _dtype(self, name: str) -> Any:
        if self.shop.kinds[name] == "Int":
            return np.dtype(np.int64)
        return np.dtype(np.float64 if self.shop.dtype == "f64" else np.float32)

    def view(self, name: str, memory_: Array) -> Array:
        """A small result, in the memory of its run."""
        shape = self.shop.shapes[name]
        start = self.block_at + self.layout.shared[name]
        return np.ndarray((shape.rows, shape.columns), self._dtype(name), memory_.data, start)

    def _scalars(self, memory_: Array) -> Array:
        end = self.scalars_at + 8 * len(self.scalar_slots)
        return memory_[self.scalars_at : end].view(np.int64)

    def _put(self, scalars: Sequence[Any], memory_: Array) -> None:
        bits = self._scalars(memory_)
        for (name, kind), value in zip(self.face.scalars, scalars):
            slot = self.scalar_slots[name]
            if kind == REAL:
                bits.view(np.float64)[slot] = value
            elif -(2**63) <= value < 2**63:
                bits[slot] = value
            else:
                raise NeedsInterpreter

    def _finish(self, made: Made, memory_: Array, out: Mapping[str, Array]) -> None:
        bits = self._scalars(memory_)
        made.add({n: as_value(bits[self.scalar_slots[n]], kind) for n, kind in self.face.outputs})
        for name in self.layout.shared.keys() & out.keys():
            out[name][...] = made[name]
            made.add({name: out[name]})


def as_value(bits: Any, kind: Type) -> Any:
    if kind == REAL:
        return float(bits.view(np.float64))
    return bool(bits) if kind == BOOL else int(bits)
