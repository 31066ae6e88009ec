"""Attention as tasks: its stage, and the loops of its rule, recognised by the rule's own text.

In: a Stage, or a loop of Main. Out: `Attend`, `AttendBackward` and their kernels. May not know: how the
blocks are computed (attention_code.py).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

from logosnb.kernels import attention_code, blas
from logosnb.kernels.build import source_of
from logosnb.kernels.kernel import Kernel
from logosnb.kernels.task import PRODUCTS_A_STATEMENT, Task
from logosnb.kernels.workshop import Workshop
from logosnb.ops.op import Shape
from logosnb.stages.stage import Stage

CONSTANTS = "ZERO, ONE, INFINITY = np.float32(0.0), np.float32(1.0), np.float32(np.inf)\n\n\n"
OPS = ("Attention", "FullAttention")
GRADIENTS = ("q", "k", "v", "sinks")


@dataclass(frozen=True)
class Form:
    """Which attention: rows of q and of k, heads, heads that share a key head, widths of a head of q and of
    v; position, window and chunk, 0 where there is none; scale, and cap, 0 where there is none."""

    rows: int
    keys: int
    heads: int
    sharing: int
    width: int
    value_width: int
    position: int
    window: int
    chunk: int
    scale: float
    cap: float

    @property
    def multiplications(self) -> float:
        """Of one product of scores by all heads, of what is attended."""
        seen = self.rows * self.keys * (0.5 if self.position else 1.0)
        near = self.window or self.chunk or self.keys
        return self.heads * self.width * min(seen, float(self.rows * near))

    @property
    def blocks(self) -> int:
        return -(-self.rows // attention_code.ROWS)


@dataclass(frozen=True)
class Attend(Task):
    """y and, for each row and head, what its backward needs to have the weights again."""

    form: Form
    y: str
    q: str
    k: str
    v: str
    sinks: str | None
    stats: str

    @property
    def operands(self) -> tuple[str, ...]:
        return (self.q, self.k, self.v, *([self.sinks] if self.sinks else []))

    @property
    def reads(self) -> frozenset[str]:
        return frozenset(self.operands)

    @property
    def writes(self) -> frozenset[str]:
        return frozenset((self.y, self.stats))

    @property
    def operations(self) -> float:
        return 2.5 * self.form.multiplications / PRODUCTS_A_STATEMENT


@dataclass(frozen=True)
class AttendBackward(Task):
    """Adds to the gradients of q, k, v and sinks, None where one is not wanted."""

    form: Form
    q: str
    k: str
    v: str
    sinks: str | None
    dy: str
    gradients: tuple[str | None, ...]
    y: str = ""
    stats: str = ""

    @property
    def operands(self) -> tuple[str, ...]:
        return (self.q, self.k, self.v, *([self.sinks] if self.sinks else []))

    @property
    def reads(self) -> frozenset[str]:
        return frozenset((*self.operands, self.dy, self.y, self.stats)) | self.writes

    @property
    def writes(self) -> frozenset[str]:
        return frozenset(name for name in self.gradients if name)

    @property
    def operations(self) -> float:
        return 6.0 * self.form.multiplications / PRODUCTS_A_STATEMENT


def attend(stage: Stage, shop: Workshop) -> Attend | None:
    """The stage as a task; None where the general loops must find what is wrong with it."""
    if stage.op not in OPS or stage.kind == "Int" or shop.general:
        return None
    named = dict(stage.tensors)
    form = form_of(stage.operands, {h: shop.shapes[n] for h, n in named.items()})
    if form is None or any(shop.kinds[name] != "Real" for name in named.values()):
        return None
    q, k, v, sinks = (named.get(hole) for hole in GRADIENTS)
    assert q and k and v
    stats = shop.tensor("stats", Shape(form.rows, 2 * form.heads), "Real")
    return Attend(stage.op, (stage.line,), form, stage.out, q, k, v, sinks, stats)


def form_of(operands: Any, shapes: dict[str, Shape]) -> Form | None:
    """The form by a stage's operands; None where a row would attend keys that are not there."""
    q, k, v = (shapes[hole] for hole in "qkv")
    heads = int(operands["heads"])
    groups = int(operands.get("key_heads", heads))
    width = q.columns // heads
    position = int(operands.get("position", 0))
    if "position" in operands and not 1 <= position <= k.rows - q.rows + 1:
        return None
    scale = operands.get("scale")
    return Form(
        q.rows, k.rows, heads, heads // groups, width, v.columns // groups, position,
        int(operands.get("window", 0)), int(operands.get("chunk", 0)),
        float(scale) if scale is not None else 1.0 / sqrt(width), float(operands.get("cap", 0.0)),
    )  # fmt: skip


def with_forwards(tasks: list[Task], made: list[str], shop: Workshop) -> list[Task]:
    """Each backward takes y and stats of the forward over the same operands; one is put before it where
    the program has none that still holds."""
    valid: dict[tuple[Form, tuple[str, ...]], Attend] = {}
    found: list[Task] = []
    for task in tasks:
        if isinstance(task, AttendBackward):
            forward = valid.get((task.form, task.operands))
            if forward is None:
                forward = _own(task, made, shop)
                found.append(forward)
            task = replace(task, y=forward.y, stats=forward.stats)
        valid = {k: a for k, a in valid.items() if not {*a.operands, a.y} & task.writes}
        if isinstance(task, Attend):
            valid[task.form, task.operands] = task
        found.append(task)
    return found


def _own(task: AttendBackward, made: list[str], shop: Workshop) -> Attend:
    form = task.form
    y = shop.tensor("y", Shape(form.rows, form.heads * form.value_width), "Real")
    stats = shop.tensor("stats", Shape(form.rows, 2 * form.heads), "Real")
    made += [y, stats]
    return Attend(task.serves, task.lines, form, y, task.q, task.k, task.v, task.sinks, stats)


def forward_kernel(task: Attend, shop: Workshop) -> Kernel:
    form = task.form
    tensors = (task.y, task.q, task.k, task.v, task.stats, task.sinks or task.q)
    flags = (int(task.sinks is not None),)
    units = form.heads * form.blocks
    code = attention_code
    parts = (code.cleared, code.finite, code.raised_row)
    return _kernel(task, code.forward, parts, tensors, flags, units, shop)


def backward_kernel(task: AttendBackward, shop: Workshop) -> Kernel:
    form = task.form
    gradients = tuple(name or task.q for name in task.gradients)
    tensors = (
        task.q, task.k, task.v, task.dy, task.y, task.stats, task.sinks or task.q, *gradients
    )  # fmt: skip
    flags = tuple(int(name is not None) for name in task.gradients)
    units = form.heads // form.sharing
    code = attention_code
    parts = (code.cleared, code.finite, code.dot, code.slopes_of_row)
    return _kernel(task, code.backward, parts, tensors, flags, units, shop)


def _kernel(
    task: Attend | AttendBackward,
    code: Any,
    parts: tuple[Any, ...],
    tensors: tuple[str, ...],
    flags: tuple[int, ...],
    units: int,
    shop: Workshop,
) -> Kernel:
    form = task.form
    names = f"ROWS, KEYS = {attention_code.ROWS}, {attention_code.KEYS}\n" + CONSTANTS
    text = blas.of_dtype(names + source_of(code, parts), shop.dtype)
    sizes = (
        form.rows, form.keys, form.heads, form.sharing, form.width, form.value_width, form.position,
        form.window, form.chunk,
    )  # fmt: skip
    literals = (
        blas.gemm_address(shop.dtype), *sizes, *flags, _bits(form.scale), _bits(form.cap)
    )  # fmt: skip
    size = sum(shop.bytes(name) for name in dict.fromkeys(tensors))
    return Kernel(
        task.serves, task.lines, text, text, tensors, task.writes, (1, units), task.operations, size,
        literals=literals, uses_blas=True, task=task,
    )  # fmt: skip


def _bits(value: float) -> int:
    found: int = struct.unpack("<q", struct.pack("<d", value))[0]
    return found
