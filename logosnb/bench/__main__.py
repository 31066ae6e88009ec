"""`python -m logosnb.bench [words]`: kernels beside NumPy, PyTorch and JAX, in one run.

In: words that a row's name must hold (all rows if none); `--markdown` for the README's table;
`--latency` for the waits instead. Out: a table: the median time of the output and all gradients, for
each; the ratio of the fastest peer's time to ours (for the fused Mlp, that of each element by itself)
and the ratio aimed at; and the floor, the share of our time that the matrix products and touching every
tensor once would take alone. f32, two threads for all. Each result is first held against the peers'. May
not know: how a kernel is made.
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
from logosnb.bench import latency  # noqa: E402
from logosnb.bench.peers import Step, steps  # noqa: E402
from logosnb.bench.rows import Row, rows  # noqa: E402

SECONDS = 1.0  # spent on each measurement
PAUSE = 0.3
TOLERANCE = 2e-3  # of the largest magnitude: two f32 computations that add in another order


def median(step: Step, seconds: float = SECONDS) -> float:
    """Seconds, the median of as many runs as the time allows, at least three; after a pause, since the
    threads of whoever ran before go on turning for a while."""
    time.sleep(PAUSE)
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
    derived = logosnb.backward(declared + row.program, "y", "dy", row.wrt)
    keep = ["y", *derived.grads.values()]
    compiled = logosnb.compile(derived.program, dtype="f32", keep=keep)
    return Own(compiled, {**values, "dy": cotangent}, dict(derived.grads))


def agrees(row: Row, own: Own, theirs: Any) -> bool:
    """Whether a peer's output and gradients are ours."""
    y, grads = theirs
    mine = own()
    pairs = [(mine["y"], y), *((mine[own.grads[n]], g) for n, g in zip(row.wrt, grads))]
    return all(_close(a, np.asarray(_plain(b)).reshape(a.shape)) for a, b in pairs)


def _plain(tensor: Any) -> Any:
    return tensor.detach().numpy() if hasattr(tensor, "detach") else tensor


def _close(a: Any, b: Any) -> bool:
    return bool(np.abs(a - b).max() <= TOLERANCE * max(float(np.abs(b).max()), 1e-6))


def floor(row: Row, flops: float, copied: float) -> float:
    """Seconds for the row's products at the rate of a large one, and each tensor read or written once:
    inputs and cotangent read, output and gradients written."""
    sizes = {name: r * c for name, (r, c) in row.inputs.items()}
    shape = logosnb.parse(row.program).shapes["y"]
    items = sum(sizes.values()) + sum(sizes[name] for name in row.wrt)
    items += 2 * shape.rows * shape.columns
    return row.operations / flops + 4.0 * items / copied


def rates() -> tuple[float, float]:
    """Operations a second of a large f32 product, and bytes a second, read and written, of a copy."""
    a = np.ones((1024, 1024), np.float32)
    b = np.ones((4096, 4096), np.float32)
    c = np.empty_like(b)
    return 2.0 * 1024**3 / median(lambda: a @ a), 2.0 * b.nbytes / median(lambda: np.copyto(c, b))


@dataclass(frozen=True)
class Measured:
    """Seconds: ours, of each peer, the floor's, and of the other way of the row if it has one; doubt:
    the peers whose result is not ours."""

    row: Row
    own: float
    peers: dict[str, float]
    least: float
    alone: float | None
    doubt: list[str]

    @property
    def ratio(self) -> float:
        fastest = min(self.peers.values(), default=float("nan"))
        return (fastest if self.alone is None else self.alone) / self.own

    def cells(self) -> list[str]:
        times = [self.own, *(self.peers.get(name) for name in PEERS)]
        shown = ["–" if t is None else shown_time(t) for t in times]
        return [self.row.name, *shown, f"{self.ratio:.2g}", f"{self.row.aim:g}", self.share]

    @property
    def share(self) -> str:
        return f"{self.least / self.own:.2g}"


def shown_time(seconds: float) -> str:
    """Milliseconds, three figures."""
    milliseconds = seconds * 1e3
    return f"{milliseconds:.3g}" if milliseconds < 100 else f"{milliseconds:.0f}"


def measure(row: Row, flops: float, copied: float) -> Measured:
    values = row.values()
    shape = logosnb.parse(row.program).shapes["y"]
    random = np.random.default_rng(1)
    scalar = (shape.rows, shape.columns) == (1, 1)
    cotangent = np.ones((1, 1), np.float32) if scalar else random.normal(size=shape).astype("f4")
    own = own_step(row, values, cotangent)
    peers = steps(row, values, cotangent)
    wrong = [name for name, step in peers.items() if not agrees(row, own, step())]
    times = {name: median(step) for name, step in peers.items()}
    alone = None if row.alone is None else median(row.alone(values, cotangent))
    return Measured(row, median(own), times, floor(row, flops, copied), alone, wrong)


PEERS = ("NumPy", "PyTorch", "compile", "JAX")
HEADER = ["row", "logosnb", *PEERS, "ratio", "aim", "floor"]


def line(cells: list[str], markdown: bool) -> str:
    if markdown:
        return f"| {' | '.join(cells)} |"
    return f"{cells[0]:45s}" + "".join(f"{cell:>9s}" for cell in cells[1:])


def main() -> None:
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    if "--latency" in sys.argv:
        latency.main()
        return
    markdown = "--markdown" in sys.argv
    flops, copied = rates()
    print(f"product {flops / 1e9:.0f} GFLOP/s, copy {copied / 1e9:.0f} GB/s; times in ms, f32")
    print(line(HEADER, markdown))
    if markdown:
        print(line(["---"] * len(HEADER), markdown))
    for row in rows():
        if all(word in row.name for word in words):
            found = measure(row, flops, copied)
            print(line(found.cells(), markdown), flush=True)
            for name in found.doubt:
                print(f"    {name} computes something else")


if __name__ == "__main__":
    main()
