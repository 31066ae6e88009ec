"""How fast the interpreter runs scalar loops: `python -m logosnb.bench.interpreter`.

In: nothing. Out: for three programs, the median time in LOGOS and in plain Python written by hand,
run in turn, and their ratio. May not know: how the interpreter works.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from typing import Any

from logosnb.interpreter import execute
from logosnb.stages.resolve import parse

REPEATS = 9

SIEVE = """
Let limit be 200000.
Let prime be a new Seq of Bool.
Repeat for k from 1 to limit:
    Push true to prime.
Set item 1 of prime to false.
Let i be 2.
While i * i <= limit:
    If item i of prime:
        Let j be i * i.
        While j <= limit:
            Set item j of prime to false.
            j += i.
    i += 1.
Let result be 0.
Repeat for k from 1 to limit:
    If item k of prime:
        result += 1.
"""


def sieve() -> int:
    limit = 200000
    prime = []
    for _ in range(limit):
        prime.append(True)
    prime[0] = False
    i = 2
    while i * i <= limit:
        if prime[i - 1]:
            j = i * i
            while j <= limit:
                prime[j - 1] = False
                j += i
        i += 1
    result = 0
    for k in range(limit):
        if prime[k]:
            result += 1
    return result


BODIES = """
Let n be 5.
Let xs be [0.0, 4.84, 8.34, 12.89, 15.37].
Let ys be [0.0, -1.16, 4.12, -15.11, -25.91].
Let zs be [0.0, -0.10, -0.40, -0.22, 0.17].
Let us be [0.0, 0.60, -1.01, 1.08, 0.97].
Let vs be [0.0, 2.81, 1.82, 0.86, 0.59].
Let ws be [0.0, -0.02, 0.008, -0.01, -0.03].
Let ms be [39.47, 0.037, 0.011, 0.0017, 0.002].
Let step be 0.001.
Repeat for round from 1 to 2000:
    Repeat for i from 1 to n:
        Repeat for j from i + 1 to n:
            Let dx be item i of xs - item j of xs.
            Let dy be item i of ys - item j of ys.
            Let dz be item i of zs - item j of zs.
            Let square be dx * dx + dy * dy + dz * dz.
            Let pull be step / (square * sqrt(square)).
            Let mi be item i of ms * pull.
            Let mj be item j of ms * pull.
            us[i] -= dx * mj.
            vs[i] -= dy * mj.
            ws[i] -= dz * mj.
            us[j] += dx * mi.
            vs[j] += dy * mi.
            ws[j] += dz * mi.
    Repeat for i from 1 to n:
        xs[i] += step * item i of us.
        ys[i] += step * item i of vs.
        zs[i] += step * item i of ws.
Let result be item 1 of xs + item 5 of zs.
"""


def bodies() -> float:
    n, step = 5, 0.001
    xs, ys = [0.0, 4.84, 8.34, 12.89, 15.37], [0.0, -1.16, 4.12, -15.11, -25.91]
    zs, us = [0.0, -0.10, -0.40, -0.22, 0.17], [0.0, 0.60, -1.01, 1.08, 0.97]
    vs, ws = [0.0, 2.81, 1.82, 0.86, 0.59], [0.0, -0.02, 0.008, -0.01, -0.03]
    ms = [39.47, 0.037, 0.011, 0.0017, 0.002]
    for _ in range(2000):
        for i in range(n):
            for j in range(i + 1, n):
                dx, dy, dz = xs[i] - xs[j], ys[i] - ys[j], zs[i] - zs[j]
                square = dx * dx + dy * dy + dz * dz
                pull = step / (square * math.sqrt(square))
                mi, mj = ms[i] * pull, ms[j] * pull
                us[i] -= dx * mj
                vs[i] -= dy * mj
                ws[i] -= dz * mj
                us[j] += dx * mi
                vs[j] += dy * mi
                ws[j] += dz * mi
        for i in range(n):
            xs[i] += step * us[i]
            ys[i] += step * vs[i]
            zs[i] += step * ws[i]
    return xs[0] + zs[4]


PRODUCT = """
Let n be 60.
Let a be a new Seq of Real.
Let b be a new Seq of Real.
Let c be a new Seq of Real.
Repeat for k from 1 to n * n:
    Push (k % 7) * 0.5 to a.
    Push (k % 11) * 0.25 to b.
    Push 0.0 to c.
Repeat for i from 1 to n:
    Repeat for j from 1 to n:
        Let total be 0.0.
        Repeat for k from 1 to n:
            total += item (i - 1) * n + k of a * item (k - 1) * n + j of b.
        Set item (i - 1) * n + j of c to total.
Let result be item 1 of c + item n * n of c.
"""


def product() -> float:
    n = 60
    a, b, c = [], [], []
    for k in range(1, n * n + 1):
        a.append((k % 7) * 0.5)
        b.append((k % 11) * 0.25)
        c.append(0.0)
    for i in range(n):
        for j in range(n):
            total = 0.0
            for k in range(n):
                total += a[i * n + k] * b[k * n + j]
            c[i * n + j] = total
    return c[0] + c[n * n - 1]


BENCHES: dict[str, tuple[str, Callable[[], float]]] = {
    "prime sieve to 200 000": (SIEVE, sieve),
    "n-body, 2000 steps": (BODIES, bodies),
    "matrix product, 60 by 60": (PRODUCT, product),
}


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds that a call took, and what it gave."""
    start = time.perf_counter()
    found = work()
    return time.perf_counter() - start, found


def measured(source: str, by_hand: Callable[[], float]) -> tuple[float, float]:
    """Median seconds in LOGOS and by hand, run in turn; both must give the same."""
    program = parse(source)
    logos, python = [], []
    for _ in range(REPEATS):
        seconds, values = timed(lambda: execute(program, {}, print))
        logos.append(seconds)
        seconds, result = timed(by_hand)
        python.append(seconds)
        if values["result"] != result:
            raise ValueError(f"LOGOS gives {values['result']}, Python {result}")
    return statistics.median(logos), statistics.median(python)


def main() -> None:
    """Print the table."""
    print(f"{'program':26}{'LOGOS':>10}{'Python':>10}{'ratio':>8}")
    for name, (source, by_hand) in BENCHES.items():
        logos, python = measured(source, by_hand)
        print(f"{name:26}{logos * 1e3:8.1f}ms{python * 1e3:8.1f}ms{logos / python:8.2f}")


if __name__ == "__main__":
    main()
