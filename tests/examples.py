"""Worked examples of the op table as programs, for every test that runs them."""

from __future__ import annotations

import numpy as np

from logosnb.ops.op import Example, Op, kind_of
from logosnb.ops.table import TABLE, find
from logosnb.ops.template import render
from logosnb.stages.resolve import parse

CASES = [
    (f"{op.name}-{number}", op, example)
    for op in TABLE.values()
    for number, example in enumerate(op.examples, 1)
]
IDS = [case[0] for case in CASES]


def words(example: Example) -> list[str]:
    text = example.statement.rstrip(".")
    return text.split() if text.startswith("Set ") else text.split(" be ", 1)[1].split()


def integer_names(op: Op, example: Example) -> set[str]:
    found = find(words(example))
    assert found is not None and found.op is op, f"{example.statement} is not a phrase of {op.name}"
    ints = {
        str(part)
        for hole, part in found.bindings.items()
        if kind_of(hole) == "ints" or hole in op.integers
    }
    return ints | set(example.integers)


def declarations(op: Op, example: Example) -> str:
    ints = integer_names(op, example)
    lines = [
        f"Let {name} be a {len(rows)} by {len(rows[0])} tensor of {'Int' if name in ints else 'Real'}."
        for name, rows in example.inputs.items()
    ]
    return "\n".join([*lines, *([example.setup] if example.setup else [])])


def program_text(op: Op, example: Example) -> str:
    return f"{declarations(op, example)}\n{example.statement}\n"


def arrays(op: Op, example: Example) -> dict[str, np.ndarray]:
    ints = integer_names(op, example)
    return {
        name: np.array(rows, dtype=np.int64 if name in ints else np.float64)
        for name, rows in example.inputs.items()
    }


def output_name(op: Op, example: Example) -> str:
    return parse(program_text(op, example)).stages[-1].out


def expansion_text(op: Op, example: Example) -> str:
    """The example's program with the op written out as its expansion."""
    from logosnb.gradient.sweep import stage_values

    program = parse(program_text(op, example))
    stage = program.stages[-1]
    values = stage_values(stage, program.shapes, program.kinds)
    lines = render(op.expansion, values, set(stage.operands), lambda stem, _: stem)
    return "\n".join([declarations(op, example), *lines]) + "\n"
