"""`backward`: the derivative of a LOGOS program as a LOGOS program.

In: a forward program, its output, a cotangent, the tensors whose gradients are wanted. Out: a
`Backward`, or a `Refusal`. May not know: how programs are run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from logosnb.gradient.refusals import ParseRefusal, Shapeless, UnknownOutput, Unrecognized
from logosnb.gradient.sweep import Sweep
from logosnb.language.errors import LogosError, LogosSyntaxError, ShapeError
from logosnb.language.parser import parse_source
from logosnb.language.tree import Name
from logosnb.stages.program import Program
from logosnb.stages.resolve import parse, resolve
from logosnb.stages.walk import bound_names, everything


@dataclass(frozen=True)
class Backward:
    """A derived backward pass.

    source: the statements, one to a line, to append to Main of `forward`; grads: for each tensor
    of wrt the name of the tensor that holds its gradient; origins: for each line of source the
    line of the forward that it serves; cotangents: of every tensor that the sweep reached, the
    output and what lies between included, the name of its gradient.
    """

    source: str
    grads: Mapping[str, str]
    origins: tuple[int, ...]
    forward: Program = field(repr=False)
    cotangents: Mapping[str, str] = field(default_factory=dict, repr=False)

    @cached_property
    def program(self) -> Program:
        """Forward and backward as one Program."""
        return appended(self.forward, self.source)

    def __str__(self) -> str:
        return self.source


def backward(forward: str | Program, output: str, cotangent: str, wrt: Iterable[str]) -> Backward:
    """The statements that compute the gradient of Σ output ⊙ cotangent for every tensor in wrt.

    forward: source text or a Program. cotangent: a tensor that the program declares, of the
    output's shape (else ShapeError). Raises a Refusal where the derivative would be wrong or does
    not exist. After A. Griewank, A. Walther: Evaluating Derivatives, section 3.2 (reverse mode).
    """
    program = forward if isinstance(forward, Program) else _parsed(forward)
    wanted = tensor_names(wrt)
    _refuse(program, output, cotangent, wanted)
    sweep = Sweep(program, output, cotangent, wanted, taken_names(program))
    grads = sweep.run()
    source = "".join(line + "\n" for line in sweep.lines)
    return Backward(source, grads, tuple(sweep.origins), program, dict(sweep.gradients))


def tensor_names(wrt: Iterable[str] | str) -> tuple[str, ...]:
    """The names in wrt, each once; one name may stand for itself."""
    names = (wrt,) if isinstance(wrt, str) or not isinstance(wrt, Iterable) else tuple(wrt)
    for name in names:
        if not isinstance(name, str):
            raise LogosError(
                f"wrt lists names of tensors, text such as `x`, not a value of type {type(name).__name__}"
            )
    return tuple(dict.fromkeys(names))


def no_program(value: object) -> LogosError:
    """The error for a value that is neither text nor a Program."""
    kind = type(value).__name__
    return LogosError(f"a program is LOGOS text or what parse gave, not a value of type {kind}")


def _parsed(source: str) -> Program:
    if not isinstance(source, str):
        raise no_program(source)
    try:
        return parse(source)
    except LogosSyntaxError as error:
        raise ParseRefusal(error) from None


def _refuse(program: Program, output: str, cotangent: str, wrt: tuple[str, ...]) -> None:
    if program.unrecognized:
        raise Unrecognized(program.unrecognized)
    if output not in program.declared and all(s.out != output for s in program.stages):
        raise UnknownOutput(output)
    for tensor in (cotangent, *(t for t in wrt if t not in program.constants)):
        if tensor not in program.shapes:
            raise Shapeless(tensor)
    if program.shapes[cotangent] != program.shapes[output]:
        raise ShapeError(
            f"the cotangent `{cotangent}` is {program.shapes[cotangent]}, and the output "
            f"`{output}` is {program.shapes[output]}: they must be the same"
        )


def taken_names(program: Program) -> set[str]:
    """Every name that the program has anywhere, so that a fresh one is fresh everywhere."""
    statements = program.main + tuple(s for f in program.functions.values() for s in f.body)
    mentioned = {node.id for node in everything(statements) if isinstance(node, Name)}
    return {
        *mentioned,
        *bound_names(statements),
        *program.shapes,
        *program.functions,
        *(p.name for f in program.functions.values() for p in f.parameters),
    }


def appended(forward: Program, source: str) -> Program:
    """The program with the statements of `source` at the end of its Main.

    Their text stands below the forward's, so that every line of the forward keeps its number, also
    where functions follow Main.
    """
    lines = forward.source.rstrip("\n").split("\n")
    added = parse_source(source, forward.first_line + len(lines) + 1)
    tree = replace(forward.tree, main=forward.tree.main + added.main)
    return resolve(tree, "\n".join([*lines, "", source]), forward.first_line)
