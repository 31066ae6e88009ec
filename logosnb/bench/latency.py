"""`python -m logosnb.bench --latency`: how long a notebook waits, each figure in a process of its own.

In: nothing. Out: a small table: the import; parsing, lifting and deriving 24 layers; compiling a
transformer block with an empty cache folder, and from a full one to the first result; kernels that
another size compiles. May not know: how a kernel is made.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from typing import Any

RUNS = 3
START = "import json, time\nstart = time.perf_counter()\n"
IMPORT = START + "import logosnb\nprint(json.dumps({'import': time.perf_counter() - start}))\n"
LAYERS = (
    "from logosnb.bench.layers import layers\nimport logosnb, json, time\n"
    "text, of, wrt = layers(24)\nstart = time.perf_counter()\n"
    "program = logosnb.parse(text)\nderived = logosnb.backward(program, of, 'dy', wrt).program\n"
    "print(json.dumps({'layers': time.perf_counter() - start}))\n"
)
BLOCK = """
import json, time
import numpy as np
import logosnb
from logosnb.bench.rows import block

def ready(rows):
    row = block(rows, 256, 1)
    text = f"Let dy be a {rows} by 256 tensor of Real.\\n" + row.program
    back = logosnb.backward(text, "y", "dy", row.wrt)
    return row, back.program, ["y", *back.grads.values()]

row, program, keep = ready(128)
start = time.perf_counter()
import numba, scipy.linalg.cython_blas
loaded = time.perf_counter()
compiled = logosnb.compile(program, dtype="f32", keep=keep)
compiled({**row.values(), "dy": np.ones((128, 256), np.float32)})
done = time.perf_counter()
known = {kernel.text for kernel in compiled.kernels}
_, program, keep = ready(96)
new = [k for k in logosnb.compile(program, dtype="f32", keep=keep).kernels if k.text not in known]
print(json.dumps({"libraries": loaded - start, "block": done - loaded, "new": len(new)}))
"""


def figures(code: str, **environment: str) -> dict[str, Any]:
    """What a fresh process prints last."""
    found = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    last: dict[str, Any] = json.loads(found.stdout.splitlines()[-1])
    return last


def median(code: str, figure: str, **environment: str) -> float:
    found: float = statistics.median(figures(code, **environment)[figure] for _ in range(RUNS))
    return found


def main() -> None:
    print(f"{'seconds, median of ' + str(RUNS):66s}{'found':>8s}{'aim':>8s}")
    _line("import logosnb", median(IMPORT, "import"), 0.3)
    _line("parse, lift and derive a 24-layer transformer", median(LAYERS, "layers"), 1.5)
    cold = []
    for _ in range(RUNS):
        with tempfile.TemporaryDirectory() as folder:
            cold.append(figures(BLOCK, XDG_CACHE_HOME=folder)["block"])
            warm = [figures(BLOCK, XDG_CACHE_HOME=folder) for _ in range(RUNS)]
    _line(
        "transformer block, both ways, empty cache, to the first result", statistics.median(cold), 5
    )
    _line("the same from the disk cache", statistics.median(w["block"] for w in warm), 0.4)
    _line(
        "    loading Numba and SciPy before that", statistics.median(w["libraries"] for w in warm)
    )
    _line("kernels that another number of rows compiles", warm[0]["new"], 0)


def _line(what: str, found: float, aim: float | None = None) -> None:
    print(f"{what:66s}{found:8.3g}{'' if aim is None else f'{aim:8.3g}'}", flush=True)
