"""The reverse sweep: from a program's stages to the statements of its backward pass.

In: a Program, the output, its cotangent, wrt. Out: lines of LOGOS, each with the forward line that
it serves, and for each tensor of wrt the name of its gradient. May not know: any op by name; a rule
is the text in its block. The sweep names things, adds contributions up, sums what was broadcast back, and
recomputes what was overwritten.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from logosnb.gradient.history import Reach, Step, Version, leading_to, reach, steps, untouched
from logosnb.gradient.names import Names
from logosnb.gradient.refusals import (
    NoGradient,
    NotDerived,
    NotDifferentiated,
    Overwritten,
    Shapeless,
)
from logosnb.gradient.statement import statement_text
from logosnb.ops.op import NoGradient as Stepwise
from logosnb.ops.op import Shape
from logosnb.ops.template import guarded, hole_names, render
from logosnb.stages.lift import shape_operands
from logosnb.stages.program import Program
from logosnb.stages.stage import Stage


class Sweep:
    """One derivation; `run` fills `lines`, `origins` and `gradients`."""

    def __init__(
        self, program: Program, output: str, cotangent: str, wrt: Sequence[str], taken: set[str]
    ) -> None:
        self.program = program
        self.output = output
        self.cotangent = cotangent
        self.wrt = wrt
        self.names = Names(taken)
        self.steps, self.latest = steps(program.stages)
        self.reach: Reach = reach(self.steps, wrt)
        self.gradients: dict[str, str] = {output: cotangent}
        self.lines: list[str] = []
        self.origins: list[int] = []
        self.recomputed: dict[Version, str] = {}

    def run(self) -> dict[str, str]:
        """The gradient's name for each tensor of wrt."""
        self._refuse_whole_numbers()
        self._refuse_shapeless()
        for step in reversed(self.steps):
            if step.stage.out in self.gradients and self.reach.any.get(step.makes):
                self._step(step)
        return {tensor: self._gradient(tensor) for tensor in self.wrt}

    def _gradient(self, tensor: str) -> str:
        """What holds the gradient of Σ output ⊙ cotangent; that of the cotangent is the output, and
        what the output depends on it besides."""
        found = self.gradients.get(tensor)
        if tensor != self.cotangent:
            return found or self._zeros(tensor)
        if found is None:
            return self.output
        total = self.names.tensor(f"g_{tensor}")
        self._emit([f"Let {total} be {found} plus {self.output}."], self._line_of(tensor))
        return total

    # -- one stage

    def _step(self, step: Step) -> None:
        """Emit the rules of one stage; `Set rows` replaces the gradient of what it wrote."""
        self._refuse_untouched(step)
        if not self.reach.real.get(step.makes):
            return
        rules = self._rules(step)
        cotangent = self.gradients[step.stage.out]
        if step.stage.definition.writes is not None:
            del self.gradients[step.stage.out]
        started = len(self.lines)
        found: dict[str, str] = {}
        for key, text in rules.items():
            self._rule(step, key.split(), text, cotangent, found)
        for hole, name in found.items():
            self._add(step, hole, name)
        self._comment(step.stage, started)

    def _rules(self, step: Step) -> Mapping[str, str]:
        stage = step.stage
        adjoint = stage.definition.adjoint
        if isinstance(adjoint, Stepwise):
            raise NoGradient(stage.op, adjoint.why)
        if stage.op == "Relu" and stage.kind == "Int":
            raise NoGradient("Relu", "a relu of integers is a step function of them")
        if isinstance(adjoint, str):
            raise NotDerived(stage.op)
        return adjoint

    def _rule(
        self, step: Step, keys: list[str], text: str, cotangent: str, found: dict[str, str]
    ) -> None:
        """Emit one text of the block where some operand wants it; `found` collects hole to name."""
        wanted = self._wanted(step, keys, text)
        if not wanted:
            return
        alias = text.strip()
        if alias in ("{dy}", *(f"{{d{hole}}}" for hole in step.reads)):
            handed_on = cotangent if alias == "{dy}" else found[alias[2:-1]]
            found.update(dict.fromkeys(wanted, handed_on))
            return
        present = {*step.stage.operands, *(f"d{hole}" for hole in wanted)}
        values = self._values(step, cotangent, hole_names(guarded(text, present)))
        for hole in wanted:
            values[f"d{hole}"] = found[hole] = self.names.tensor(f"g_{step.reads[hole][0]}")
        self._emit(render(text, values, present, self.names.own), step.stage.line)

    def _wanted(self, step: Step, keys: list[str], text: str) -> list[str]:
        """The operands whose gradient this text is to bind: those that wrt needs, and those that
        another operand's rule hands on (`r`: `{dx}`)."""
        wanted = step.wanted(keys, self.reach.real)
        handed = [
            alias[2:-1]
            for key, alias in self._aliases(step).items()
            if alias[2:-1] in keys and step.wanted([key], self.reach.real)
        ]
        return list(dict.fromkeys([*wanted, *handed])) if wanted or handed else []

    def _aliases(self, step: Step) -> Mapping[str, str]:
        adjoint = step.stage.definition.adjoint
        texts = adjoint.items() if isinstance(adjoint, Mapping) else ()
        return {k: t.strip() for k, t in texts if t.strip() in {f"{{d{h}}}" for h in step.reads}}

    def _values(self, step: Step, cotangent: str, used: Collection[str]) -> dict[str, Any]:
        """What fills the holes of a rule: names of the right versions, numbers, sizes. A version that
        was overwritten is recomputed where it is among the holes `used`."""
        values = stage_values(step.stage, self.program.shapes, self.program.kinds)
        values["dy"] = cotangent
        for hole, version in step.reads.items():
            if hole in used:
                values[hole] = self._current(version, step)
        if "y" in used and step.stage.definition.writes is None:
            values["y"] = self._current(step.makes, step)
        return values

    def _add(self, step: Step, hole: str, name: str) -> None:
        """Add a contribution to the gradient of an operand."""
        tensor = step.reads[hole][0]
        if hole in step.stage.definition.broadcasts:
            name = self._summed_back(step.stage, tensor, name)
        if not step.wanted([hole], self.reach.real):
            return
        before = self.gradients.get(tensor)
        if before is not None:
            total = self.names.tensor(f"g_{tensor}")
            self._emit([f"Let {total} be {before} plus {name}."], step.stage.line)
            name = total
        self.gradients[tensor] = name

    def _summed_back(self, stage: Stage, tensor: str, name: str) -> str:
        """The sum of a contribution over what the operand was repeated over."""
        result, own = stage.shape, self.program.shapes[tensor]
        if own == result or result is None:
            return name
        over = "sum of" if own == (1, 1) else "column sums of" if own.rows == 1 else "row sums of"
        total = self.names.tensor(f"g_{tensor}")
        self._emit([f"Let {total} be {over} {name}."], stage.line)
        return total

    def _zeros(self, tensor: str) -> str:
        name = self.names.tensor(f"g_{tensor}")
        shape = self.program.shapes[tensor]
        line = self._line_of(tensor)
        self._emit([f"# the output does not depend on {tensor}"], line)
        self._emit([f"Let {name} be a {shape.rows} by {shape.columns} tensor of Real."], line)
        return name

    def _line_of(self, tensor: str) -> int:
        if tensor in self.program.declared:
            return self.program.declared[tensor].line
        return next(step.stage.line for step in self.steps if step.stage.out == tensor)

    # -- text

    def _emit(self, lines: Sequence[str], origin: int) -> None:
        self.lines += lines
        self.origins += [origin] * len(lines)

    def _comment(self, stage: Stage, started: int) -> None:
        """Above the lines of a stage: its statement and its rule as a formula."""
        if len(self.lines) == started:
            return
        formula = stage.definition.formula
        comment = [f"# {stage.text}", *(f"#   {line}" for line in formula.splitlines())]
        self.lines[started:started] = comment
        self.origins[started:started] = [stage.line] * len(comment)

    # -- refusals and overwritten values

    def _refuse_whole_numbers(self) -> None:
        """An Int tensor or row number of wrt that the loss reaches in no differentiated way."""
        output: Version = (self.output, self.latest.get(self.output, 0))
        empty: frozenset[str] = frozenset()
        real = self.reach.real.get(output, empty)
        only = self.reach.any.get(output, empty) - real
        for step in leading_to(output, self.steps):
            for kind, version in untouched(step):
                lost = [t for t in self.wrt if t in only & self.reach.any.get(version, empty)]
                if lost and kind == "ints":
                    raise NotDifferentiated(lost[0], step.stage.op)

    def _refuse_shapeless(self) -> None:
        """A number of wrt that no refusal before has named: it is no tensor."""
        for name in self.wrt:
            if name not in self.program.shapes:
                raise Shapeless(name)

    def _refuse_untouched(self, step: Step) -> None:
        """A Real operand that the rule leaves alone may not depend on wrt at all."""
        for kind, version in untouched(step):
            for tensor in self.wrt:
                if kind == "tensor" and tensor in self.reach.any.get(version, frozenset()):
                    raise NotDifferentiated(tensor, step.stage.op)

    def _current(self, version: Version, step: Step) -> str:
        """The name under which a version's value can be read after the whole forward."""
        name, number = version
        if number == self.latest.get(name, 0):
            return name
        if version not in self.recomputed:
            self.recomputed[version] = self._recomputed(version)
        return self.recomputed[version]

    def _recomputed(self, version: Version) -> str:
        """Run the stage that made the version again, into a fresh tensor, or refuse."""
        name, number = version
        made = next((step for step in self.steps if step.makes == version), None)
        if made is None or made.stage.definition.writes is not None:
            raise Overwritten(name, self._overwriting_line(name, number))
        operands = {h: self._current(v, made) for h, v in made.reads.items()}
        fresh = self.names.tensor(f"{name}_before")
        text = statement_text(made.stage, fresh, operands)
        self._emit(
            [f"# {name} as it was before line {self._overwriting_line(name, number)}"],
            made.stage.line,
        )
        self._emit([text], made.stage.line)
        return fresh

    def _overwriting_line(self, name: str, number: int) -> int:
        return next(s.stage.line for s in self.steps if s.makes == (name, number + 1))


def stage_values(
    stage: Stage, shapes: Mapping[str, Shape], kinds: Mapping[str, str]
) -> dict[str, Any]:
    """What fills the holes of any text of a stage's block: names, numbers, sizes."""
    definition = stage.definition
    values: dict[str, Any] = {**definition.defaults, **stage.operands, "y": stage.out}
    known: dict[str, Any] = dict(stage.operands)
    for hole, name in [*stage.tensors, ("y", stage.out)]:
        shape = stage.shape if hole == "y" else shapes[name]
        if shape is None:
            continue
        known[hole] = shape
        values |= {
            f"{hole}.rows": shape.rows,
            f"{hole}.columns": shape.columns,
            f"{hole}.size": shape.rows * shape.columns,
            f"{hole}.kind": stage.kind if hole == "y" else kinds[name],
        }
    known.pop("y", None)
    return values | dict(definition.sizes(shape_operands(definition, known)))
