"""The end of an exported file: what `python FILE` runs it with.

In: the session's inputs. Out: Python text that makes them and prints what `gradient` gives. May not
know: programs.

Small arrays stand there as they were. Larger ones of Reals are replaced by random ones of the shape,
and the file says so; Int tensors always stand as they were, since not every whole number is an index.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from logosnb.notebook.export.python import python_name

Array = np.ndarray[Any, Any]
MOST_WRITTEN = 200  # elements of an array that a file holds


def example_inputs(inputs: Mapping[str, Array], parameters: Sequence[str]) -> str:
    lines = ['if __name__ == "__main__":']
    lines += [f"    {line}" for name in parameters for line in _input(name, inputs[name])]
    names = ", ".join(map(python_name, parameters))
    lines += [
        f"    for name, value in gradient({names}).items():",
        "        print(name, value, sep='\\n')",
    ]
    return "\n".join(lines) + "\n"


def _input(name: str, array: Array) -> list[str]:
    if array.size <= MOST_WRITTEN or array.dtype.kind == "i":
        return [f"{python_name(name)} = np.array({_written(array)}).reshape({array.shape})"]
    return [
        "# random: the array of the session is too large for this file",
        f"{python_name(name)} = np.random.default_rng(0).normal(size={array.shape})",
    ]


def _written(array: Array) -> str:
    text = repr(array.astype(np.float64 if array.dtype.kind == "f" else np.int64).tolist())
    return text.replace("nan", "np.nan").replace("inf", "np.inf")
