"""The passes from a Program to segments of kernels, in the order in which they run.

In: a Program, a dtype, what a caller supplies and wants. Out: `Plan`: Main with a segment wherever
kernels serve, the kernels in order, and notes about what stays with the interpreter. May not know:
machine code.

1. gather: ops become the loops of their blocks, products stay products (gather.py)
2. turn: a transpose that feeds a product becomes a flag of it (fuse.py)
3. recognise: attention runs in blocks of keys (attention.py)
4. fuse: neighbours over the same rows become one loop (fuse.py)
5. zeros: who fills a new tensor (zeros.py)
6. emit: each task's source (kernel.py, emit_cpu.py); nest.Loop finds loops that carry nothing
7. layout: where each tensor lies, and when its place is free again (layout.py)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from logosnb.interpreter.stages import runner
from logosnb.kernels.attention import (
    Attend,
    AttendBackward,
    backward_kernel,
    forward_kernel,
    with_forwards,
)
from logosnb.kernels.compute import Compute, Made, Supplied
from logosnb.kernels.fuse import fused, turned_products, without_unread
from logosnb.kernels.gather import LOOPS, Gathered, of_stage, of_statement, read_before_bound
from logosnb.kernels.kernel import Kernel, of_loops, of_product
from logosnb.kernels.nest import SCALARS, NotCompiled
from logosnb.kernels.segment import Interface, Segment
from logosnb.kernels.task import Loops, Product, Task
from logosnb.kernels.workshop import Workshop
from logosnb.kernels.zeros import with_zeros
from logosnb.language import tree
from logosnb.language.tree import Statement, Type
from logosnb.stages.program import Program
from logosnb.stages.stage import Stage

Array = np.ndarray[Any, Any]


@dataclass
class Plan:
    """program: Main with Compute statements; kernels: in order; notes: what stays with the interpreter;
    whole: the one segment that Main is, inputs aside, if it is."""

    program: Program
    dtype: str
    kernels: list[Kernel] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    whole: Segment | None = None


def planned(
    program: Program,
    dtype: str,
    supplied: Iterable[str] = (),
    keep: Iterable[str] | None = None,
    general: bool = False,
) -> Plan:
    """The plan of a program, made once and kept with it.

    supplied: declared tensors that the program writes and a caller gives all the same; keep: the names
    that are wanted, all if None; general: without kernels that are right for finite numbers alone."""
    own = frozenset(supplied) & frozenset(program.optional)
    wanted = None if keep is None else frozenset(keep)
    key = ("plan", dtype, own, wanted, general)
    if key not in program.memo:
        program.memo[key] = Planner(Workshop(program, dtype, general), own, wanted).plan()
    kept: Plan = program.memo[key]
    return kept


@dataclass
class Run:
    """Statements in a row that kernels do: what they gathered, and where each stands in Main."""

    gathered: Gathered = field(default_factory=Gathered)
    statements: list[Statement] = field(default_factory=list)


class Planner:
    """Makes one plan."""

    def __init__(
        self, shop: Workshop, supplied: frozenset[str], keep: frozenset[str] | None
    ) -> None:
        self.shop, self.program = shop, shop.program
        self.supplied = supplied
        self.keep = keep
        self.real = np.float64 if shop.dtype == "f64" else np.float32
        self.found = Plan(shop.program, shop.dtype)
        self.readers = self._readers()

    def plan(self) -> Plan:
        declared, runs = self._divided()
        main: list[Statement] = [*declared]
        segments = []
        for run in runs:
            if isinstance(run, Run):
                segments.append(self._segment(run))
                main.append(_as_statement(segments[-1], run))
            else:
                main.append(run)
        if len(segments) == len(runs) == 1 and not any(isinstance(d, Made) for d in declared):
            self.found.whole = segments[0]
        self.found.program = replace(self.program, main=tuple(main), memo={})
        return self.found

    # ---- which statements kernels do

    def _divided(self) -> tuple[list[Statement], list[Run | Statement]]:
        """Declarations of what a caller supplies; then runs of compiled statements and others."""
        declared: list[Statement] = []
        runs: list[Run | Statement] = []
        for statement in self.program.main:
            if isinstance(statement, tree.Declare) and self._is_supplied(statement.name):
                declared.append(self._supplied(statement))
                continue
            gathered = self._gathered(statement)
            if gathered is None:
                runs.append(self._left(statement))
                continue
            if not runs or not isinstance(runs[-1], Run):
                runs.append(Run())
            _add(runs[-1], gathered, statement)
        return declared, runs

    def _is_supplied(self, name: str) -> bool:
        return name in self.program.inputs or name in self.supplied

    def _supplied(self, declare: tree.Declare) -> Statement:
        """An input is read where it lies, and shown as a view that cannot be written to; a tensor that
        the program also writes is a copy, as the interpreter makes it."""
        sizes = (declare.name, declare.rows, declare.columns, declare.kind)
        kind = Supplied if declare.name in self.program.inputs else Made
        return kind(*sizes, position=declare.position)

    def _gathered(self, statement: Statement) -> Gathered | None:
        """What kernels do for a statement; None, and a note, if they do nothing."""
        try:
            if isinstance(statement, tree.Declare):
                return Gathered(made=[statement.name], bound=[statement.name])
            if isinstance(statement, Stage):
                return of_stage(statement, self.shop)
            if isinstance(statement, LOOPS) or self._is_scalar(statement):
                task = of_statement(statement, self._read_elsewhere(statement), self.shop)
                return Gathered([task])
        except NotCompiled as refusal:
            if not self._is_scalar(statement):
                self._note(statement, refusal)
        return None

    def _is_scalar(self, statement: Statement) -> bool:
        """Whether it binds or changes a number of Main, or an item."""
        match statement:
            case tree.Let(name=name) | tree.Set(target=tree.Name(id=name)):
                return self.shop.types.names.get(name) in SCALARS
            case tree.Update(target=tree.Name(id=name)):
                return self.shop.types.names.get(name) in SCALARS
            case tree.Set(target=tree.Item()) | tree.Update(target=tree.Item()):
                return True
        return False

    def _left(self, statement: Statement) -> Statement:
        return self._meant(statement) if isinstance(statement, Stage) else statement

    def _note(self, statement: Statement, refusal: NotCompiled) -> None:
        at = refusal.statement.position if refusal.statement.position.line else statement.position
        note = f"line {at.line} stays with the interpreter: {refusal.why}"
        if note not in self.found.notes:
            self.found.notes.append(note)

    def _readers(self) -> dict[str, set[int]]:
        """Which statements of Main read each name from before them."""
        found: dict[str, set[int]] = {}
        for statement in self.program.main:
            for name in read_before_bound(statement):
                found.setdefault(name, set()).add(id(statement))
        return found

    def _read_elsewhere(self, statement: Statement) -> frozenset[str]:
        """Names that other statements of Main read, and those that Main itself binds outside loops."""
        bound = {s.name for s in self.program.main if isinstance(s, tree.Let)}
        read = {name for name, who in self.readers.items() if who - {id(statement)}}
        return frozenset(bound | read)

    # ---- segments

    def _segment(self, run: Run) -> Segment:
        kept = self._kept(run)
        tasks = self._passes(run.gathered.tasks, run.gathered.made, kept)
        kernels = [_kernel(task, self.shop) for task in tasks]
        self.found.kernels += kernels
        return Segment(kernels, self._interface(kernels, run, kept), self.shop)

    def _passes(self, tasks: list[Task], made: list[str], kept: frozenset[str]) -> list[Task]:
        tasks = without_unread(turned_products(tasks), kept)
        tasks = fused(with_forwards(tasks, made, self.shop), self.shop)
        touched = {name for task in tasks for name in task.reads | task.writes}
        return with_zeros(tasks, [n for n in made if n in touched or n in kept], self.shop)

    def _kept(self, run: Run) -> frozenset[str]:
        """The tensors that are wanted, or read by a statement outside of the run."""
        own = {id(statement) for statement in run.statements}
        read = {name for name, who in self.readers.items() if who - own}
        bound = run.gathered.bound
        return frozenset(n for n in bound if self.keep is None or n in self.keep or n in read)

    def _interface(self, kernels: list[Kernel], run: Run, kept: frozenset[str]) -> Interface:
        made = [n for n in run.gathered.made if n in kept or _is_touched(n, kernels)]
        inside = set(made)
        touched = dict.fromkeys(name for kernel in kernels for name in kernel.tensors)
        return Interface(
            reads=tuple(name for name in touched if name not in inside),
            made=tuple(made),
            kept=tuple(name for name in made if name in kept),
            scalars=self._typed(_taken(kernels)),
            outputs=self._typed(dict.fromkeys(n for k in kernels for n in k.outputs)),
        )

    def _typed(self, names: Iterable[str]) -> tuple[tuple[str, Type], ...]:
        return tuple((name, self.shop.types.names[name]) for name in names)

    # ---- what stays with the interpreter

    def _meant(self, stage: Stage) -> Statement:
        """A stage by its meaning, in f64, its result in the dtype."""
        if self.found.dtype == "f64":
            return stage
        function = runner(stage)
        names = tuple(str(value) for value in stage.operands.values() if isinstance(value, str))

        def run(*values: Any) -> tuple[Array, ...]:
            wide = [v.astype(np.float64) if _is_narrow(v) else v for v in values]
            result = function(*wide)
            if stage.definition.writes is None:
                return (result.astype(self.real) if stage.kind == "Real" else result,)
            target = values[names.index(stage.out)]
            target[...] = result
            return ()

        binds = (stage.out,) if stage.definition.writes is None else ()
        return Compute(run, names, binds, position=stage.position)


def _kernel(task: Task, shop: Workshop) -> Kernel:
    match task:
        case Loops():
            return of_loops(task, shop)
        case Product():
            return of_product(task, shop)
        case Attend():
            return forward_kernel(task, shop)
        case AttendBackward():
            return backward_kernel(task, shop)
    raise TypeError(type(task).__name__)


def _add(run: Any, gathered: Gathered, statement: Statement) -> None:
    run.gathered.tasks += gathered.tasks
    run.gathered.made += gathered.made
    run.gathered.bound += gathered.bound
    run.statements.append(statement)


def _is_touched(name: str, kernels: list[Kernel]) -> bool:
    return any(name in kernel.tensors for kernel in kernels)


def _taken(kernels: list[Kernel]) -> dict[str, None]:
    """The scalars that kernels read before one of them leaves them."""
    left: set[str] = set()
    taken: dict[str, None] = {}
    for kernel in kernels:
        taken |= {name: None for name in kernel.inputs if name not in left}
        left |= set(kernel.outputs)
    return taken


def _as_statement(segment: Segment, run: Run) -> Statement:
    """The segment in the place of its statements, for the interpreter to run between others."""
    face = segment.face
    scalars = tuple(name for name, _ in face.scalars)
    binds = (*face.kept, *(name for name, _ in face.outputs))

    def compute(*values: Any) -> tuple[Any, ...]:
        arrays, numbers = values[: len(face.reads)], values[len(face.reads) :]
        made = segment.run(arrays, numbers, {})
        return tuple(made[name] for name in binds)

    position = run.statements[0].position
    return Compute(compute, (*face.reads, *scalars), binds, position=position)


def _is_narrow(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == np.float32
