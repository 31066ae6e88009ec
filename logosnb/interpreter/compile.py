"""From a Program to a Python function that runs it.

In: a Program. Out: `Compiled`: the Python text, for each of its lines the place in the program, and
`build`, which for a way to show text gives the function of the inputs that is Main. May not know:
how a single statement is written.

The text is one function `build` with a function for each section inside, so that one compiled
program may run in several threads at once:

    def build(_out):
     def f_v_mean(v_xs):
      ...
     def main(_inputs):
      ...
      return locals()
     return main
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

from logosnb.interpreter.bounds import lows_of
from logosnb.interpreter.helpers import HELPERS
from logosnb.interpreter.lines import Lines, Place, variable
from logosnb.interpreter.section import Section, flat_name
from logosnb.interpreter.write_statements import missing_result, write_block
from logosnb.language import tree
from logosnb.language.errors import LogosRuntimeError
from logosnb.language.tree import NOWHERE, Statement
from logosnb.language.words import BUILTINS
from logosnb.stages.program import Program
from logosnb.stages.stage import Stage
from logosnb.stages.typing import Types, program_types
from logosnb.stages.walk import everything, root_name

Main = Callable[[Mapping[str, Any]], dict[str, Any]]
_numbers = count(1)


@dataclass(frozen=True)
class Compiled:
    """text: Python; places: of each line; filename: as tracebacks show it; hidden: names of Main
    that the program's text does not bind."""

    text: str
    places: tuple[Place, ...]
    filename: str
    build: Callable[[Callable[[str], None]], Main]
    hidden: frozenset[str]


def compiled(program: Program) -> Compiled:
    """The program in Python; compiled once and kept with the program."""
    if "interpreter" not in program.memo:
        program.memo["interpreter"] = _compile(program)
    kept: Compiled = program.memo["interpreter"]
    return kept


def _compile(program: Program) -> Compiled:
    writer = _Writer(program)
    lines = writer.written()
    filename = f"<logos {next(_numbers)}>"
    scope: dict[str, Any] = {**HELPERS, **writer.objects}
    try:
        exec(compile(lines.text, filename, "exec"), scope)
    except (SyntaxError, RecursionError, MemoryError):
        # Python nests at most 20 loops, 100 blocks and 200 brackets; no other text can be wrong.
        sentence = "this program is nested more deeply than the interpreter can follow"
        raise LogosRuntimeError(sentence, source=program.source) from None
    stages = [node for node in everything(program.main) if isinstance(node, Stage)]
    hidden = frozenset(stage.out for stage in stages if stage.fresh)
    return Compiled(lines.text, tuple(lines.places), filename, scope["build"], hidden)


class _Writer:
    """Writes a program's sections into one text."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.lines = Lines()
        self.objects: dict[str, Any] = {}
        self.changed = changed_parameters(program.functions)
        self.main_types, self.types = program_types(program)

    def written(self) -> Lines:
        self.lines.add("def build(_out):", NOWHERE)
        self.lines.depth = 1
        for function in self.program.functions.values():
            self._function(function)
        self._main()
        self.lines.add("return main", NOWHERE)
        return self.lines

    def _main(self) -> None:
        section = self._section(None, self.main_types, self.program.main, ())
        section.add("def main(_inputs):", NOWHERE)
        write_block(self.program.main, section, NOWHERE)
        section.add(" return locals()", NOWHERE)

    def _function(self, function: tree.Function) -> None:
        types = self.types[function.name]
        section = self._section(function.name, types, function.body, function.parameters)
        at = function.position
        parameters = ", ".join(variable(parameter.name) for parameter in function.parameters)
        section.add(f"def f_{variable(function.name)}({parameters}):", at)
        for parameter in function.parameters:
            if parameter.name in section.flat:
                name = parameter.name
                section.add(f" {flat_name(name)} = _flat({variable(name)})", at)
        write_block(function.body, section, at)
        owes = function.result is not None
        section.add(f" _refuse({ascii(missing_result(section))})" if owes else " return None", at)

    def _section(
        self,
        name: str | None,
        types: Types,
        statements: tuple[Statement, ...],
        parameters: tuple[tree.Parameter, ...],
    ) -> Section:
        kept = frozenset() if name is None else self.changed[name]
        shared = any(parameter.mutable for parameter in parameters)
        return Section(
            name=name,
            types=types,
            lows=lows_of(statements, parameters),
            lines=self.lines,
            objects=self.objects,
            changed=self.changed,
            declared=frozenset(self.program.declared) if name is None else frozenset(),
            borrowed=frozenset(p.name for p in parameters if p.mutable or not shared) - kept
            | frozenset(p.name for p in parameters if p.mutable),
            flat=_flat_names(types, statements),
        )


def _flat_names(types: Types, statements: tuple[Statement, ...]) -> frozenset[str]:
    """The tensors of a section of which items are used."""
    roots = {node.sequence for node in everything(statements) if isinstance(node, tree.Item)}
    names = {root.id for root in roots if isinstance(root, tree.Name)}
    return frozenset(n for n in names if n in types.names and types.names[n].name == "Tensor")


def changed_parameters(functions: Mapping[str, tree.Function]) -> dict[str, frozenset[str]]:
    """Function to the parameters whose contents it may change, so that they must be copies."""
    return {
        name: frozenset(parameter.name for parameter in function.parameters)
        & _changed(function.body, functions)
        for name, function in functions.items()
    }


def _changed(
    statements: tuple[Statement, ...], functions: Mapping[str, tree.Function]
) -> frozenset[str]:
    """The names whose contents the statements change."""
    found: set[str | None] = set()
    for node in everything(statements):
        match node:
            case tree.Set(target=target) | tree.Update(target=target) | tree.Push(target=target):
                found.add(root_name(target))
            case tree.Pop(target=target):
                found.add(root_name(target))
            case Stage(out=out) if node.definition.writes is not None:
                found.add(out)
            case tree.Call(function=name, arguments=arguments) if name not in BUILTINS:
                for parameter, argument in zip(functions[name].parameters, arguments):
                    if parameter.mutable:
                        found.add(root_name(argument))
    return frozenset(name for name in found if name is not None)
