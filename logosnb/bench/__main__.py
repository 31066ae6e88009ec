"""`python -m logosnb.bench [words]`: kernels beside PyTorch and JAX, in one run.

In: words that a row's name must hold (all rows if none). Out: a table: the median time of the output
and all gradients, for each; the ratio of the fastest peer's time to ours, and the ratio aimed at; and
the floor, the time that the matrix products and the copying of every tensor once would take. f32, two
threads for all. Each result is first held against a peer's. May not know: how a kernel is made.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from dataclasses import dataclass
from typing import Any

# A machine may name an older processor for OpenBLAS than it has: not for a benchmark.
for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
    os.environ.pop(name, None)
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=true")

import numpy as np  # noqa: E402  # after the environment is set

import logosnb  # noqa: E402
from logosnb.bench.peers import Step, steps  # noqa: E402
from logosnb.bench.rows import Row, rows  # noqa: E402

SECONDS = 1.5  # spent on each measurement
TOLERANCE = 2e-3  # of the largest magnitude: two f32 computations that add in another order


def median(step: Step, seconds: float = SECONDS) -> float:
    """Seconds, the median of as many runs as the time allows, at least three."""
    step()
    times: list[float] = []
    while len(times) < 3 or (sum(times) < seconds and len(times) < 1000):
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


@dataclass(frozen=True)
class Own:
    """One step of ours, as a training loop has it: compiled once, the output and gradients kept."""

    compiled: logosnb.Compiled
    inputs: dict[str, Any]
    grads: dict[str, str]

    def __call__(self) -> logosnb.Result:
        return self.compiled(self.inputs)


def own_step(row: Row, values: dict[str, Any], cotangent: Any) -> Own:
    program = logosnb.parse(row.program)
    shape = program.shapes["y"]
    declared = f"Let dy be a {shape.rows} by {shape.columns} tensor of Real.\n"
    wrt = [name for name in row.inputs if name not in row.fixed]
    derived = logosnb.backward(declared + row.program, "y", "dy", wrt)
    keep = ["y", *derived.grads.values()]
    compiled = logosnb.compile(derived.program, dtype="f32", keep=keep)
    return Own(compiled, {**values, "dy": cotangent}, dict(derived.grads))


def agrees(row: Row, own: Own, theirs: Any) -> bool:
    """Whether a peer's output and gradients are ours."""
    y, grads = theirs
    names = [name for name in row.inputs if name not in row.fixed]
    theirs_by_name = dict(zip(names if len(grads) == len(names) else row.inputs, grads))
    mine = own()
    pairs = [(mine["y"], y), *((mine[own.grads[n]], theirs_by_name[n]) for n in names)]
    return all(_close(a, np.asarray(_plain(b)).reshape(a.shape)) for a, b in pairs)


def _plain(tensor: Any) -> Any:
    return tensor.detach().numpy() if hasattr(tensor, "detach") else tensor


def _close(a: Any, b: Any) -> bool:
    return bool(np.abs(a - b).max() <= TOLERANCE * max(float(np.abs(b).max()), 1e-6))


def floor(row: Row, flops: float, copied: float) -> float:
    """Seconds for the row's products at the rate of a large one, and each tensor read or written once."""
    elements = 2.0 * sum(r * c for r, c in row.inputs.values())
    program = logosnb.parse(row.program)
    elements += 2.0 * program.shapes["y"].rows * program.shapes["y"].columns
    return row.operations / flops + 4.0 * elements / copied


def rates() -> tuple[float, float]:
    """Operations a second of a large f32 product, and bytes a second of a large copy."""
    a = np.ones((1024, 1024), np.float32)
    b = np.ones((4096, 4096), np.float32)
    c = np.empty_like(b)
    return 2.0 * 1024**3 / median(lambda: a @ a), 2.0 * b.nbytes / median(lambda: np.copyto(c, b))


def measure(row: Row, flops: float, copied: float) -> str:
    values = row.values()
    shape = logosnb.parse(row.program).shapes["y"]
    random = np.random.default_rng(1)
    scalar = (shape.rows, shape.columns) == (1, 1)
    cotangent = np.ones((1, 1), np.float32) if scalar else random.normal(size=shape).astype("f4")
    own = own_step(row, values, cotangent)
    peers = steps(row, values, cotangent)
    wrong = [name for name, step in peers.items() if not agrees(row, own, step())]
    mine = median(own)
    times = {name: median(step) for name, step in peers.items()}
    return line(row, mine, times, floor(row, flops, copied), wrong)


def line(row: Row, mine: float, times: dict[str, float], least: float, wrong: list[str]) -> str:
    shown = "".join(
        f"{times[n] * 1e3:10.3f}" if n in times else " " * 10 for n in ("PyTorch", "JAX")
    )
    ratio = min(times.values()) / mine if times else float("nan")
    doubt = f"  differs from {', '.join(wrong)}" if wrong else ""
    return f"{row.name:45s}{mine * 1e3:10.3f}{shown}{ratio:8.2f}{row.aim:6.1f}{least / mine:8.2f}{doubt}"


def main() -> None:
    words = sys.argv[1:]
    flops, copied = rates()
    print(f"product {flops / 1e9:.0f} GFLOP/s, copy {copied / 1e9:.0f} GB/s; times in ms, f32")
    print(
        f"{'':45s}{'logosnb':>10s}{'PyTorch':>10s}{'JAX':>10s}{'ratio':>8s}{'aim':>6s}{'floor':>8s}"
    )
    for row in rows():
        if all(word in row.name for word in words):
            print(measure(row, flops, copied), flush=True)


if __name__ == "__main__":
    main()
