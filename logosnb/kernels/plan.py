"""The passes from a Program to a program of kernels, in the order in which they run.

In: a Program and a dtype. Out: `Plan`: Main with a Compute statement wherever kernels serve, the
kernels in order, and notes about what stays with the interpreter. May not know: machine code.

1. place: a declared tensor becomes an array of the dtype, supplied or zeros
2. products: matrix products go to BLAS
3. expand: every other op becomes the loops of its block
4. nests: loops become kernels; Loop (nest.py) finds those that carry nothing between iterations
5. what is left stays as it is, with the interpreter
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from logosnb.interpreter.stages import runner
from logosnb.kernels import memory
from logosnb.kernels.compute import Compute, Made, Supplied
from logosnb.kernels.expand import RESULT, expansion, own_name
from logosnb.kernels.kernel import Kernel
from logosnb.kernels.nest import NotCompiled, may_be_read_first, nest
from logosnb.kernels.products import product
from logosnb.language import tree
from logosnb.language.tree import Statement
from logosnb.ops.op import Shape, kind_of
from logosnb.stages.program import Program
from logosnb.stages.stage import Stage
from logosnb.stages.typing import Types, program_types, section_types
from logosnb.stages.walk import everything

Array = np.ndarray[Any, Any]
LOOPS = (tree.RepeatRange, tree.RepeatEach, tree.RepeatForever, tree.While, tree.If)


@dataclass
class Plan:
    program: Program
    dtype: str
    kernels: list[Kernel] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def zeros(self, supplied: Mapping[str, Array]) -> dict[str, Array]:
        """Zeros of the dtype for what is declared and not supplied."""
        real = np.float64 if self.dtype == "f64" else np.float32
        return {
            name: memory.zeros(declared.shape, real if declared.kind == "Real" else np.int64)
            for name, declared in self.program.declared.items()
            if name not in supplied
        }


def planned(program: Program, dtype: str) -> Plan:
    """The plan of a program, made once for each dtype and kept with the program."""
    key = ("plan", dtype)
    if key not in program.memo:
        program.memo[key] = Planner(program, dtype).plan()
    kept: Plan = program.memo[key]
    return kept


class Planner:
    """Makes one plan."""

    def __init__(self, program: Program, dtype: str) -> None:
        self.program = program
        self.dtype = dtype
        self.real = np.float64 if dtype == "f64" else np.float32
        self.types, _ = program_types(program)
        self.found = Plan(program, dtype)

    def plan(self) -> Plan:
        main = tuple(self._planned(statement) for statement in self.program.main)
        self.found.program = replace(self.program, main=main, memo={})
        return self.found

    def _planned(self, statement: Statement) -> Statement:
        try:
            if isinstance(statement, tree.Declare):
                return self._placed(statement)
            if isinstance(statement, Stage):
                return self._computed(statement)
            if isinstance(statement, LOOPS):
                return self._looped(statement)
        except NotCompiled as refusal:
            self._note(statement, refusal)
            if isinstance(statement, Stage):
                return self._meant(statement)
        return statement

    def _note(self, statement: Statement, refusal: NotCompiled) -> None:
        at = refusal.statement.position if refusal.statement.position.line else statement.position
        note = f"line {at.line} stays with the interpreter: {refusal.why}"
        if note not in self.found.notes:
            self.found.notes.append(note)

    # ---- passes

    def _placed(self, declare: tree.Declare) -> Statement:
        """An input is read where it lies, and shown as a view that cannot be written to; a tensor that
        the program also writes is a copy, as the interpreter makes it."""
        sizes = (declare.name, declare.rows, declare.columns, declare.kind)
        if declare.name in self.program.inputs:
            return Supplied(*sizes, position=declare.position)
        return Made(*sizes, position=declare.position)

    def _computed(self, stage: Stage) -> Statement:
        if stage.shape is None or any(name not in self.program.shapes for _, name in stage.tensors):
            raise NotCompiled(stage, "its shapes are known only at run time")
        direct = product(stage)
        if direct is not None:
            return self._direct(stage, direct)
        return self._expanded(self._with_known_rows(stage))

    def _direct(self, stage: Stage, function: Callable[..., Array]) -> Statement:
        def run(*arrays: Array) -> tuple[Array]:
            with np.errstate(all="ignore"):
                return (function(*(self._as_real(array) for array in arrays)),)

        reads = tuple(name for _, name in stage.tensors)
        return Compute(run, reads, (stage.out,), position=stage.position)

    def _as_real(self, array: Array) -> Array:
        return array.astype(self.real, copy=False)

    def _with_known_rows(self, stage: Stage) -> Stage:
        """Row numbers that are constants, as their numbers."""
        operands = dict(stage.operands)
        for hole, value in stage.operands.items():
            if kind_of(hole) == "row" and isinstance(value, str):
                known = self.program.constants.get(value)
                if not isinstance(known, int):
                    raise NotCompiled(stage, f"`{value}` is known only at run time")
                operands[hole] = known
        return replace(stage, operands=operands)

    def _expanded(self, stage: Stage) -> Statement:
        shapes, kinds = self.program.shapes, self.program.kinds
        found = expansion(stage, shapes, kinds)
        own_shapes = {own_name(hole): shapes[name] for hole, name in stage.tensors}
        own_kinds = {
            own_name(hole): self._read_as(stage, hole, kinds[name]) for hole, name in stage.tensors
        }
        for declare in found.declared:
            own_shapes[declare.name] = self._declared_shape(declare)
            own_kinds[declare.name] = declare.kind
        pieces = (found.statements,) if _one(found.statements) else _apart(found.statements)
        kernels = [
            self._kernel(p, own_shapes, own_kinds, {}, frozenset(), stage.op) for p in pieces
        ]
        return self._running(stage, found.declared, kernels, own_shapes, own_kinds)

    def _read_as(self, stage: Stage, hole: str, kind: str) -> str:
        """Ints among Reals are read as Reals."""
        whole = stage.kind == "Int" or kind_of(hole) == "ints" or hole in stage.definition.integers
        return kind if whole else "Real"

    def _declared_shape(self, declare: tree.Declare) -> Shape:
        sizes = (declare.rows, declare.columns)
        return Shape(*(size.value for size in sizes if isinstance(size, tree.IntLiteral)))

    def _running(
        self,
        stage: Stage,
        declared: tuple[tree.Declare, ...],
        kernels: list[Kernel],
        shapes: Mapping[str, Shape],
        kinds: Mapping[str, str],
    ) -> Statement:
        reads = tuple(name for _, name in stage.tensors)
        holes = [own_name(hole) for hole, _ in stage.tensors]
        written = stage.definition.writes

        def run(*arrays: Array) -> tuple[Array, ...]:
            given = dict(zip(holes, arrays))
            flat = {name: self._flat(array, kinds[name]) for name, array in given.items()}
            made = {d.name: self._zeros(shapes[d.name], d.kind) for d in declared}
            flat |= {name: array.reshape(-1) for name, array in made.items()}
            for kernel in kernels:
                kernel(flat, {})
            return () if written is not None else (made[RESULT],)

        binds = () if written is not None else (stage.out,)
        return Compute(run, reads, binds, position=stage.position)

    def _flat(self, array: Array, kind: str) -> Array:
        return (array if kind == "Int" else self._as_real(array)).reshape(-1)

    def _zeros(self, shape: Shape, kind: str) -> Array:
        return memory.zeros(shape, np.int64 if kind == "Int" else self.real)

    def _meant(self, stage: Stage) -> Statement:
        """A stage by its meaning, in f64, its result in the dtype."""
        if self.dtype == "f64":
            return stage
        function = runner(stage)
        names = tuple(str(value) for value in stage.operands.values() if isinstance(value, str))

        def run(*values: Any) -> tuple[Array, ...]:
            wide = [v.astype(np.float64) if _is_narrow(v) else v for v in values]
            result = function(*wide)
            if stage.definition.writes is None:
                return (self._as_real(result) if stage.kind == "Real" else result,)
            target = values[names.index(stage.out)]
            target[...] = result
            return ()

        binds = (stage.out,) if stage.definition.writes is None else ()
        return Compute(run, names, binds, position=stage.position)

    # ---- loops

    def _looped(self, statement: Statement) -> Statement:
        wanted = self._read_elsewhere(statement)
        shapes, kinds = self.program.shapes, self.program.kinds
        constants = self.program.constants
        kernel = self._kernel((statement,), shapes, kinds, constants, wanted, _said(statement))
        found = kernel.nest
        reads = (*found.tensors, *found.inputs)

        def run(*values: Any) -> tuple[Any, ...]:
            tensors, scalars = values[: len(found.tensors)], values[len(found.tensors) :]
            flat = {name: array.reshape(-1) for name, array in zip(found.tensors, tensors)}
            return tuple(kernel(flat, dict(zip(found.inputs, scalars))))

        return Compute(run, reads, found.outputs, position=statement.position)

    def _read_elsewhere(self, statement: Statement) -> frozenset[str]:
        """Names that other statements of Main read, and those that Main itself binds outside loops."""
        names = {s.name for s in self.program.main if isinstance(s, tree.Let)}
        for other in self.program.main:
            if other is not statement:
                names |= read_before_bound(other)
        return frozenset(names)

    def _kernel(
        self,
        statements: tuple[Statement, ...],
        shapes: Mapping[str, Shape],
        kinds: Mapping[str, str],
        constants: Mapping[str, int | float],
        wanted: frozenset[str],
        name: str,
    ) -> Kernel:
        types = self._types(statements, kinds)
        found = nest(statements, types, shapes, kinds, constants, wanted)
        kernel = Kernel(found, self.dtype, name)
        self.found.kernels.append(kernel)
        return kernel

    def _types(self, statements: tuple[Statement, ...], kinds: Mapping[str, str]) -> Types:
        """The types inside a nest: its own names by what it binds, others as Main has them."""
        one = tree.IntLiteral(1)
        declared = tuple(tree.Declare(name, one, one, kind) for name, kind in kinds.items())
        own = section_types((*declared, *statements), (), self.program.functions)
        outside = {n: t for n, t in self.types.names.items() if n not in own.names}
        parameters = tuple(tree.Parameter(n, t) for n, t in outside.items() if t.element is None)
        known = section_types((*declared, *statements), parameters, self.program.functions)
        return Types({**self.types.names, **known.names}, known.fixed, self.program.functions)


def read_before_bound(statement: Statement) -> set[str]:
    """The names whose value a statement takes from before it."""
    if isinstance(statement, Stage):
        return {str(value) for value in statement.operands.values()}
    names = {node.id for node in everything((statement,)) if isinstance(node, tree.Name)}
    return {name for name in names if may_be_read_first(name, (statement,))}


def _one(statements: tuple[Statement, ...]) -> bool:
    """Whether scalars of the text's outermost level tie its statements together."""
    return any(not isinstance(statement, LOOPS) for statement in statements)


def _apart(statements: tuple[Statement, ...]) -> tuple[tuple[Statement, ...], ...]:
    return tuple((statement,) for statement in statements)


def _is_narrow(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == np.float32


def _said(statement: Statement) -> str:
    match statement:
        case tree.RepeatRange(name=name):
            return f"Repeat for {name}, line {statement.position.line}"
    return f"line {statement.position.line}"
