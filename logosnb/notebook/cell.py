"""A `%%logos` cell, run: its text, options and the notebook's variables to a Session.

In: text, `Options`, variables. Out: a `Session`, or a LogosError. May not know: IPython.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from logosnb.checking import Report, check
from logosnb.gradient.backward import Backward, backward
from logosnb.inputs import Array, missing_sentence, prepared
from logosnb.language.errors import InputError
from logosnb.language.words import closest
from logosnb.notebook.building import Progress, build
from logosnb.notebook.options import Options
from logosnb.notebook.session import Session
from logosnb.running import Gradients, derivation, grad, real_inputs, require_backend, run
from logosnb.stages.program import Program
from logosnb.stages.resolve import parse

Variables = Mapping[str, Any]
Say = Callable[[str], None]


def run_cell(
    text: str,
    first_line: int,
    options: Options,
    variables: Variables,
    say: Say,
    progress: Progress | None = None,
) -> Session:
    """Parse, run, and what the options ask for besides. say: called with each line to print; progress:
    told what is being compiled."""
    program = parse(text, first_line)
    require_backend(options.backend, options.dtype)
    inputs = inputs_for(program, options, variables)
    if options.backend == "cpu":
        build(_that_runs(program, options), options.dtype or "f64", progress or Progress())
    if options.grad is None:
        result = run(program, inputs, backend=options.backend, dtype=options.dtype, show=say)
        return Session(program, inputs, result, draw=options.graph, name=options.name)
    gradients = gradients_for(program, inputs, options, variables, say)
    session = Session(
        program,
        inputs,
        gradients.result,
        options.grad,
        gradients,
        None,
        options.graph,
        options.name,
    )
    return replace(session, report=_checked(session, options, say)) if options.check else session


def _that_runs(program: Program, options: Options) -> Program:
    """The program with what is appended to it before it runs."""
    if options.grad is None:
        return program
    output, name = options.grad, options.cotangent
    if name is not None and name in program.declared:
        return _own_derivation(program, output, name, options).program
    wanted = real_inputs(program) if options.wrt is None else options.wrt
    return derivation(program, output, wanted)[0].program


# ---- inputs -----------------------------------------------------------------------------------


def inputs_for(program: Program, options: Options, variables: Variables) -> dict[str, Array]:
    """Copies of the variables that the program declares, as its tensors.

    A variable of an input's name must do, whatever it is. A tensor that the program may fill itself
    is taken from the notebook where a variable of its name is an array or a list.
    """
    wanted = required(program, options)
    if options.name in wanted:  # or the cell, run again, would read its own result
        raise InputError(
            f"`{options.name}` is an input of this program: give the result another name"
        )
    missing = [program.declared[name] for name in wanted if name not in variables]
    if missing:
        raise InputError(missing_sentence(missing))
    optional = [n for n in program.declared if n not in wanted and array_like(variables.get(n))]
    given = prepared(program, {name: variables[name] for name in [*wanted, *optional]})
    return {name: np.array(array) for name, array in given.items()}


def required(program: Program, options: Options) -> list[str]:
    """The inputs, and the cotangent where the program declares it."""
    own = [options.cotangent] if options.cotangent in program.declared else []
    return list(dict.fromkeys([*program.inputs, *(name for name in own if name)]))


def array_like(value: Any) -> bool:
    """Whether a variable looks like a tensor: an array of any library, a number, a list."""
    return hasattr(value, "__array__") or isinstance(value, list | tuple | int | float)


# ---- gradients --------------------------------------------------------------------------------


def gradients_for(
    program: Program, inputs: Mapping[str, Array], options: Options, variables: Variables, say: Say
) -> Gradients:
    """The gradient that the options ask for; its cotangent is the program's own tensor or a variable."""
    output, name = str(options.grad), options.cotangent
    if name is not None and name in program.declared:
        return _with_own_cotangent(program, inputs, output, name, options, say)
    cotangent = None if name is None else _variable(name, variables)
    return grad(
        program,
        inputs,
        of=output,
        wrt=options.wrt,
        cotangent=cotangent,
        backend=options.backend,
        dtype=options.dtype,
        show=say,
    )


def _with_own_cotangent(
    program: Program,
    inputs: Mapping[str, Array],
    output: str,
    name: str,
    options: Options,
    say: Say,
) -> Gradients:
    derived = _own_derivation(program, output, name, options)
    result = run(derived.program, inputs, backend=options.backend, dtype=options.dtype, show=say)
    grads = {tensor: np.array(result[gradient]) for tensor, gradient in derived.grads.items()}
    return Gradients(np.array(result[output]), grads, derived, result)


def _own_derivation(program: Program, output: str, name: str, options: Options) -> Backward:
    """By the program's own cotangent, which is no input to differentiate for unless asked."""
    key = ("own derivation", output, name, options.wrt)
    if key not in program.memo:
        others = [tensor for tensor in real_inputs(program) if tensor != name]
        program.memo[key] = backward(program, output, name, options.wrt or others)
    kept: Backward = program.memo[key]
    return kept


def _variable(name: str, variables: Variables) -> Any:
    if name not in variables:
        public = [v for v in variables if not v.startswith("_")]
        near = closest(name, public)
        hint = f"; did you mean `{near}`?" if near else ""
        raise InputError(f"the cotangent `{name}` is no variable of this notebook{hint}")
    return variables[name]


def _checked(session: Session, options: Options, say: Say) -> Report:
    """The check runs long on large programs, so it says that it has begun."""
    if not options.quiet:
        say(f"checking the gradient of {session.of} against central differences …")
    return check(
        session.program,
        session.inputs,
        of=str(session.of),
        wrt=tuple(session.grads),
        backends=tuple(dict.fromkeys(("interpreter", options.backend))),
    )
