"""A program as compiled Python: one function a section, and where each of its lines came from.

In: a Program. Out: `Code`, which runs it and turns what goes wrong into sentences with lines. May not
know: backends other than this one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any

import numpy as np

from logosnb.interpreter import runtime
from logosnb.interpreter.display import formatted, show_value
from logosnb.interpreter.expressions import Access
from logosnb.interpreter.stages import Failure, apply
from logosnb.interpreter.statements import Section, Statements
from logosnb.language import tree
from logosnb.language.errors import LocatedError, LogosRuntimeError
from logosnb.language.tree import NOWHERE, Position
from logosnb.stages.program import Program
from logosnb.stages.stage import Stage
from logosnb.stages.typing import TENSOR, Typing

FILE = "<logos {}>"
_numbers = itertools.count(1)


@dataclass
class Code:
    """Compiled sections of one program."""

    program: Program
    file: str
    compiled: CodeType
    positions: list[Position]
    accesses: list[list[Access]]
    stages: list[Stage]

    def run(
        self, inputs: Mapping[str, np.ndarray[Any, Any]], show: Callable[[str], None]
    ) -> dict[str, Any]:
        """Every name that Main bound, to its value."""
        space = {**HELPERS, "_stages": self.stages, "_apply": self._apply}
        space["_show"] = lambda value: _show_lines(value, show)
        space["_given"] = {name: np.array(array) for name, array in inputs.items()}
        exec(self.compiled, space)  # our own generated text, with every name mangled
        try:
            found = space["main"]()
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            raise self._located(error) from None
        fresh = {stage.out for stage in self.stages if stage.fresh}
        named = {n[2:]: v for n, v in found.items() if n.startswith("v_") and n[2:] not in fresh}
        return {name: value for name, value in named.items() if name in self._bound_in_main}

    @property
    def _bound_in_main(self) -> frozenset[str]:
        kept: frozenset[str] = self.program.memo["names"]
        return kept

    def _apply(self, stage: Stage, read: Mapping[str, Any]) -> Any:
        return apply(stage, read)

    # ---- errors

    def _located(self, error: BaseException) -> LocatedError:
        """The error as a sentence at the innermost LOGOS line that was running."""
        frame, line = _innermost(error, self.file)
        position = self.positions[line - 1] if frame is not None else NOWHERE
        if isinstance(error, LocatedError):
            error.source = error.source or self.program.source
            error.first_line = self.program.first_line
            return error
        sentence = self._sentence(error, frame, line)
        return LogosRuntimeError(sentence, position, self.program.source, self.program.first_line)

    def _sentence(self, error: BaseException, frame: FrameType | None, line: int) -> str:
        match error:
            case Failure():
                return str(error)
            case ZeroDivisionError():
                return "an Int is divided by zero"
            case RecursionError():
                name = frame.f_code.co_name.removeprefix("f_") if frame else "a function"
                return f"`{name}` calls itself too deep"
            case OverflowError():
                return "an Int is too large to become a Real"
            case MemoryError():
                return "the memory does not suffice"
            case NameError():
                return f"`{_missing(error)}` has no value yet"
            case IndexError() | TypeError() | ValueError():
                return self._access_sentence(error, frame, line)
        raise error  # not a fault of the program: ours, and to be seen

    def _access_sentence(self, error: Exception, frame: FrameType | None, line: int) -> str:
        """Which indexing of the line was out of range, found by looking at its values again."""
        for access in self.accesses[line - 1] if frame else ():
            sentence = _wrong_access(access, frame)
            if sentence:
                return sentence
        if isinstance(error, ValueError):
            return "the value does not fit into 64 bits, as an item of a tensor of Int must"
        if isinstance(error, TypeError) and frame and self.accesses[line - 1]:
            return "a tensor of Int takes Ints alone, a tensor of Real numbers alone"
        raise error


def _innermost(error: BaseException, file: str) -> tuple[FrameType | None, int]:
    frame, line, trace = None, 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            frame, line = trace.tb_frame, trace.tb_lineno
        trace = trace.tb_next
    return frame, line


def _wrong_access(access: Access, frame: FrameType | None) -> str | None:
    assert frame is not None
    space = dict(frame.f_globals), dict(frame.f_locals)
    try:
        sequence, index = eval(access.sequence, *space), eval(access.index, *space)
    except Exception:
        return None
    size = len(sequence)
    if type(index) is not int:
        return f"an index of `{access.label}` is an Int, not {runtime.kind(index)}"
    if 1 <= index <= size:
        return None
    if access.tensor:
        rows, columns = frame.f_locals[f"v_{access.label}"].shape
        return (
            f"there is no item {index} of `{access.label}`, which is {rows} by {columns}: "
            f"its items are 1 … {size}"
        )
    return f"there is no item {index} of `{access.label}`, which has {size} item{'s' * (size != 1)}"


def _missing(error: NameError) -> str:
    name = error.name or str(error).split("'")[1]
    return name[2:] if name[:2] in ("v_", "m_") else name


def _show_lines(value: Any, show: Callable[[str], None]) -> None:
    for line in show_value(value).split("\n"):
        show(line)


def _formatted(value: Any, form: str) -> str:
    try:
        return formatted(value, form)
    except ValueError as error:
        raise Failure(str(error)) from None


def _whole_place(index: Any) -> int:
    """The zero-based index of a value whose type only the run knows."""
    if type(index) is not int:
        raise TypeError("an index is an Int")
    return index - 1 if index > 0 else runtime.FAR


def _no_target() -> None:
    raise Failure("only a name, or an item of one, can be set")


HELPERS: dict[str, Any] = {
    **{f"_{name}": getattr(runtime, name) for name in vars(runtime) if name[0].islower()},
    **{
        f"_real_{name}": function
        for name, function in {
            "sqrt": runtime.root,
            "exp": runtime.exponential,
            "log": runtime.logarithm,
            "tanh": math.tanh,
            "sin": runtime.sine,
            "cos": runtime.cosine,
        }.items()
    },
    "_builtins": runtime.BUILTINS,
    "_inf": math.inf,
    "_nan": math.nan,
    "_far": runtime.FAR,
    "_formatted": _formatted,
    "_show_value": show_value,
    "_whole_place": _whole_place,
    "_no_target": _no_target,
}


def compiled(program: Program) -> Code:
    """The program's code, made once and kept with it."""
    if "interpreter" not in program.memo:
        program.memo["interpreter"] = _compile(program)
    kept: Code = program.memo["interpreter"]
    return kept


def _compile(program: Program) -> Code:
    stages: list[Stage] = []
    functions = program.functions
    sections = [_function(function, functions, stages) for function in functions.values()]
    typing = Typing(program.main, (), functions)
    program.memo["names"] = frozenset(typing.types)
    sections.append(_main(program, typing, stages))
    lines, positions, accesses = [], [], []
    for section in sections:
        lines += section.lines
        positions += section.positions
        accesses += section.accesses
    file = FILE.format(next(_numbers))
    code = compile("\n".join(lines) + "\n", file, "exec")
    return Code(program, file, code, positions, accesses, stages)


def _main(program: Program, typing: Typing, stages: list[Stage]) -> Section:
    statements = Statements(program.main, typing, (), stages)
    statements.in_main = True
    statements.depth = 0
    statements.line("def main():", NOWHERE)
    statements.depth = 1
    for statement in program.main:
        statements.emit(statement)
    statements.line("return locals()", NOWHERE)
    return statements.section


def _function(
    function: tree.Function, functions: Mapping[str, tree.Function], stages: list[Stage]
) -> Section:
    typing = Typing(function.body, function.parameters, functions)
    statements = Statements(function.body, typing, function.parameters, stages)
    statements.result = function.result
    statements.depth = 0
    names = ", ".join(f"v_{parameter.name}" for parameter in function.parameters)
    statements.line(f"def f_{function.name}({names}):", function.position)
    statements.depth = 1
    for parameter in function.parameters:
        if parameter.type == TENSOR and parameter.name in statements.items:
            statements.line(f"m_{parameter.name} = _flat(v_{parameter.name})", function.position)
    for statement in function.body:
        statements.emit(statement)
    if function.result is not None:
        statements.line(f"_no_return({function.name!r})", function.position)
    statements.line("return None", NOWHERE)
    return statements.section
