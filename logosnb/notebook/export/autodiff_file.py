"""A forward program as PyTorch or JAX code whose own differentiation computes the same gradient.

In: a Program that lifts whole, output, wrt, inputs, "torch" or "jax". Out: the text of a Python file
with the functions `forward` and `gradient`. May not know: the derived backward: the file is there to
be compared with it.

An op without a spelling becomes a function over its elements, one scalar each, in the loops of its
expansion. That is slow, and right for every op.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from logosnb.interpreter.bounds import lows_of
from logosnb.kernels.expand import RESULT, expansion, own_name
from logosnb.language import tree
from logosnb.language.errors import LogosError
from logosnb.notebook.export.examples import example_inputs
from logosnb.notebook.export.numpy_file import FUNCTIONS
from logosnb.notebook.export.prelude import LIBRARIES, prelude
from logosnb.notebook.export.python import Dialect, Writer, block, python_name
from logosnb.notebook.export.spelled import helpers_in, spelled
from logosnb.stages.program import Program
from logosnb.stages.stage import Stage
from logosnb.stages.typing import section_types

Array = np.ndarray[Any, Any]


class Library(NamedTuple):
    """imports: the file's first lines; gradient: the body of the function of that name, with what stands in
    braces filled in: all parameters, and those of wrt, as tuples and as arguments."""

    imports: str
    gradient: str


TORCH = Library(
    "import numpy as np\nimport torch",
    """
    given = zip(({parameters}), DTYPES)
    {parameters} = (torch.tensor(np.asarray(array), dtype=dtype) for array, dtype in given)
    wanted = ({wrt})
    for tensor in wanted:
        tensor.requires_grad_()
    value = forward({arguments})
    weights = torch.tensor(np.asarray(cotangent), dtype=value.dtype)
    found = torch.autograd.grad(value, wanted, weights, allow_unused=True)
    zeros = [torch.zeros_like(tensor) for tensor in wanted]
    return dict(zip(({names}), [z if g is None else g for g, z in zip(found, zeros)]))
""",
)
JAX = Library(
    'import jax\nimport jax.numpy as jnp\nimport numpy as np\n\njax.config.update("jax_enable_x64", True)',
    """
    given = zip(({parameters}), DTYPES)
    {parameters} = (jnp.asarray(array, dtype=dtype) for array, dtype in given)
    value, pull_back = jax.vjp(lambda {wrt_arguments}: forward({arguments}), {wrt_arguments})
    found = pull_back(jnp.asarray(cotangent, dtype=value.dtype))
    return dict(zip(({names}), found))
""",
)
FILES = {"torch": TORCH, "jax": JAX}


def autodiff_file(
    program: Program,
    of: str,
    wrt: Sequence[str],
    inputs: Mapping[str, Array],
    cotangent: Array,
    library: str,
) -> str:
    """The file. Raises LogosError for a tensor of wrt that the program computes, and for a program that
    is not stages alone."""
    _require_stages(program, wrt)
    parameters = [name for name in program.declared if name in inputs]
    functions: list[str] = []
    used: set[str] = set()
    body = list(_body(program, parameters, library, functions, used))
    names = ", ".join(map(python_name, parameters))
    forward = "\n".join([f"def forward({names}):", *body, f"    return {python_name(of)}"])
    gradient = _gradient(program, parameters, wrt, library)
    title = f'"""The gradient of {of}, by {library}: for comparison with the derived one."""'
    given = {**inputs, "cotangent": cotangent}
    helpers = prelude(used, library)
    parts = [f"{title}\n\n{FILES[library].imports}", helpers, *functions, forward, gradient]
    parts.append(example_inputs(given, [*parameters, "cotangent"]))
    return "\n\n\n".join(part for part in parts if part)


def _require_stages(program: Program, wrt: Sequence[str]) -> None:
    if program.unrecognized:
        line, text = program.unrecognized[0]
        raise LogosError(f"line {line}: `{text}` is no stage; this export writes stages alone")
    for name in wrt:
        if name not in program.declared:
            raise LogosError(
                f"`{name}` is computed by the program; this export differentiates by inputs alone"
            )


def _body(
    program: Program,
    parameters: list[str],
    library: str,
    functions: list[str],
    used: set[str],
) -> Iterator[str]:
    """The lines of `forward`; `functions` collects those that ops without a spelling become."""
    for node in program.main:
        if isinstance(node, Stage):
            text = _stage(node, program, library, functions, used)
            yield f"    {python_name(node.out)} = {text}"
        elif isinstance(node, tree.Declare) and node.name not in parameters:
            shape = program.shapes[node.name]
            yield f"    {python_name(node.name)} = {_zeros(library, shape, node.kind)}"
        elif isinstance(node, tree.Let) and node.name in program.constants:
            yield f"    {python_name(node.name)} = {program.constants[node.name]!r}"


def _zeros(library: str, shape: tuple[int, int], kind: str) -> str:
    return f"{LIBRARIES[library]}.zeros({tuple(shape)}, dtype={_dtype(library, kind)})"


def _dtype(library: str, kind: str) -> str:
    return f"{LIBRARIES[library]}.{'int64' if kind == 'Int' else 'float64'}"


def _stage(
    stage: Stage, program: Program, library: str, functions: list[str], used: set[str]
) -> str:
    text = spelled(stage, program, library)
    if text is not None:
        used |= helpers_in(text, library)
        return text
    name = f"stage_{len(functions) + 1}"
    functions.append(_function(name, stage, program, library, used))
    return f"{name}({', '.join(python_name(v) for v in _arguments(stage).values())})"


def _arguments(stage: Stage) -> dict[str, str]:
    """Name inside the function to name outside: the tensors, and a row number that has a name."""
    tensors = {own_name(hole): name for hole, name in stage.tensors}
    rows = {
        value: value
        for hole, value in stage.operands.items()
        if isinstance(value, str) and own_name(hole) not in tensors
    }
    return tensors | rows


def _function(name: str, stage: Stage, program: Program, library: str, used: set[str]) -> str:
    """One op over lists of scalars."""
    found = expansion(stage, program.shapes, program.kinds)
    written = stage.definition.writes
    out = RESULT if written is None else own_name(written)
    holes = [
        tree.Declare(own_name(hole), tree.IntLiteral(1), tree.IntLiteral(1), program.kinds[tensor])
        for hole, tensor in stage.tensors
    ]
    statements = found.declared + found.statements
    types = section_types((*holes, *_row_types(stage), *statements), (), {})
    writer = Writer(types, lows_of(statements), _dialect(library), lambda _: iter(()), used)
    used |= {"numbers", "filled", "number"}
    shape = program.shapes[stage.out]
    kind = _dtype(library, program.kinds[stage.out])
    return "\n".join(
        [
            f"def {name}({', '.join(_arguments(stage))}):",
            f'    """{stage.text.strip()}"""',
            *(f"    {own_name(hole)} = numbers({own_name(hole)})" for hole, _ in stage.tensors),
            *block(statements, writer),
            f"    return filled({out}, {shape.rows}, {shape.columns}, {kind})",
        ]
    )


def _row_types(stage: Stage) -> Iterator[tree.Let]:
    """Row numbers that have a name are Ints."""
    for inside, outside in _arguments(stage).items():
        if inside == outside:
            yield tree.Let(inside, tree.IntLiteral(1))


def _dialect(library: str) -> Dialect:
    return Dialect(
        name=library,
        item=lambda tensor, at: f"{tensor}[{at}]",
        set_item=lambda tensor, at, value: f"{tensor}[{at}] = {value}",
        zeros=lambda rows, columns, kind: (
            f"[{'0' if kind == 'Int' else '0.0'}] * ({rows} * {columns})"
        ),
        functions=FUNCTIONS,
    )


def _gradient(program: Program, parameters: list[str], wrt: Sequence[str], library: str) -> str:
    names = [python_name(name) for name in parameters]
    wanted = [python_name(name) for name in wrt]
    dtypes = ", ".join(_dtype(library, program.kinds[name]) for name in parameters)
    body = FILES[library].gradient.format(
        parameters="".join(f"{name}, " for name in names).strip(),
        arguments=", ".join(names),
        wrt="".join(f"{name}, " for name in wanted).strip(),
        wrt_arguments=", ".join(wanted),
        names="".join(f'"{name}", ' for name in wrt).strip(),
    )
    head = f"def gradient({', '.join([*names, 'cotangent'])}):"
    about = '    """The gradient of the sum of the output times the cotangent, by name."""'
    return f"DTYPES = [{dtypes}]\n\n\n{head}\n{about}\n{body.strip(chr(10))}"
