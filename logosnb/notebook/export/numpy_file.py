"""A program, with its derived backward pass, as one file of NumPy that runs alone.

In: a Program, the names to give back, example inputs. Out: the text of a Python file with the function
`gradient`. May not know: notebooks, gradients (the backward is part of the program).

An op stands there as its spelling, or as the loops of its expansion; loops stay loops.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from logosnb.gradient.backward import taken_names
from logosnb.gradient.names import Names
from logosnb.gradient.sweep import stage_values
from logosnb.interpreter.bounds import lows_of
from logosnb.language import tree
from logosnb.language.parser import parse_source
from logosnb.language.tree import Statement
from logosnb.notebook.export.examples import example_inputs
from logosnb.notebook.export.prelude import prelude
from logosnb.notebook.export.python import Dialect, Remark, Writer, block, python_name, refused
from logosnb.notebook.export.spelled import helpers_in, is_view, spelled
from logosnb.ops.template import render
from logosnb.stages.program import Program
from logosnb.stages.stage import Stage
from logosnb.stages.typing import section_types
from logosnb.stages.walk import everything

Array = np.ndarray[Any, Any]
DTYPES = {"Real": "float", "Int": "int"}
FUNCTIONS = {
    "sqrt": "square_root",
    "exp": "exponential",
    "log": "logarithm",
    "tanh": "tangent",
    "sin": "sine",
    "cos": "cosine",
    "min": "smaller",
    "max": "larger",
    "floor": "floor_of",
    "ceil": "ceiling_of",
    "round": "rounded",
}
NUMPY = Dialect(
    name="numpy",
    item=lambda tensor, at: f"{tensor}.item({at})",
    set_item=lambda tensor, at, value: f"{tensor}.flat[{at}] = {value}",
    zeros=lambda rows, columns, kind: f"np.zeros(({rows}, {columns}), dtype={DTYPES[kind]})",
    functions=FUNCTIONS,
)


def numpy_file(
    program: Program, returned: Mapping[str, str], inputs: Mapping[str, Array], title: str
) -> str:
    """The file.

    returned: what `gradient` gives back, key to name in the program; inputs: arrays that `python FILE`
    runs with, and the parameters of the function. Raises LogosError for what has no place in a file
    (Text, functions), naming its line.
    """
    parameters = [name for name in program.declared if name in inputs]
    statements = tuple(s for s in expanded(program) if not _supplied(s, parameters))
    declared = tuple(s for s in program.main if _supplied(s, parameters))
    writer = Writer(
        section_types(declared + statements, (), program.functions),
        lows_of(statements),
        NUMPY,
        lambda stage: _stage(stage, program, writer),
    )
    lines = list(block(statements, writer, " " * 8))
    return _file(title, parameters, program, lines, returned, inputs, writer)


def _supplied(statement: Statement, parameters: list[str]) -> bool:
    return isinstance(statement, tree.Declare) and statement.name in parameters


# ---- ops --------------------------------------------------------------------------------------


def _stage(stage: Stage, program: Program, writer: Writer) -> Iterator[str]:
    text = spelled(stage, program, "numpy")
    if text is None:
        raise refused(stage, f"the op {stage.op} inside a function")
    writer.used |= helpers_in(text, "numpy")
    yield f"{python_name(stage.out)} = {f'{text}.copy()' if is_view(text) else text}"


def expanded(program: Program) -> tuple[Statement, ...]:
    """Main, each op that has no spelling as a remark and the loops of its expansion."""
    names = Names(taken_names(program))
    return tuple(s for node in program.main for s in _expanded(node, program, names))


def _expanded(node: Statement, program: Program, names: Names) -> Iterator[Statement]:
    if not isinstance(node, Stage):
        if any(isinstance(inside, Stage) for inside in everything((node,))):
            raise refused(node, "an op inside a block")
        yield node
        return
    if node.text:
        yield Remark(node.text.strip())
    if spelled(node, program, "numpy") is not None:
        yield node
        return
    values = stage_values(node, program.shapes, program.kinds)
    lines = render(node.definition.expansion, values, set(node.operands), names.own)
    yield from parse_source("\n".join(lines) + "\n").main


# ---- the file ---------------------------------------------------------------------------------


def _file(
    title: str,
    parameters: list[str],
    program: Program,
    lines: list[str],
    returned: Mapping[str, str],
    inputs: Mapping[str, Array],
    writer: Writer,
) -> str:
    shapes = [f"{python_name(n)}: {program.shapes[n]}, {program.kinds[n]}" for n in parameters]
    copies = [
        f"    {python_name(n)} = np.array({python_name(n)}, dtype={DTYPES[program.kinds[n]]})"
        for n in parameters
    ]
    results = ", ".join(f'"{key}": {python_name(name)}' for key, name in returned.items())
    helpers = prelude(writer.used, "numpy")
    parts = [
        f'"""{title}"""\n\nimport numpy as np',
        *([helpers] if helpers else []),
        "\n".join(
            [
                f"def gradient({', '.join(map(python_name, parameters))}):",
                f'    """{"; ".join(shapes) or "No inputs"}. Gives arrays by name."""',
                *copies,
                '    with np.errstate(all="ignore"):',
                *lines,
                f"    return {{{results}}}",
            ]
        ),
        example_inputs(inputs, parameters),
    ]
    return "\n\n\n".join(parts)
