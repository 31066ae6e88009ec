"""A transformer of several blocks, one after the other, as one program.

In: the number of blocks. Out: its text, its output, and what gets a gradient. May not know: how it is run.
"""

from __future__ import annotations

import re

from logosnb.bench.rows import block

ROWS, WIDTH = 32, 64
SHARED = ("x", "c", "s")  # the first block's input and the tables of rope


def layers(count: int) -> tuple[str, str, list[str]]:
    """(program with a cotangent `dy` declared, output, wrt)."""
    row = block(ROWS, WIDTH, 1)
    lines = row.program.splitlines()
    declared = [line for line in lines if "tensor of" in line]
    body = [line for line in lines if "tensor of" not in line]
    found = [f"Let dy be a {ROWS} by {WIDTH} tensor of Real."]
    found += [line for line in declared if line.split()[1] in SHARED]
    wrt = ["x"]
    for number in range(count):
        own = {name: f"{name}_{number}" for name in _names(lines) if name not in SHARED}
        wrt += [own[name] for name in row.inputs if name not in SHARED]
        found += [_own(line, own) for line in declared if line.split()[1] not in SHARED]
        source = own | ({"x": f"y_{number - 1}"} if number else {})
        found += [_own(line, source) for line in body]
    return "\n".join(found) + "\n", f"y_{count - 1}", wrt


def _names(lines: list[str]) -> list[str]:
    return [line.split()[1] for line in lines if line.startswith("Let ")]


def _own(line: str, names: dict[str, str]) -> str:
    """The line with the names of its block; the article of `be a 4 by 4 tensor` stays."""
    words = "|".join(sorted(names, key=len, reverse=True))
    pattern = rf"\b({words})\b(?! \d+ by)"
    return re.sub(pattern, lambda found: names[found[1]], line)
