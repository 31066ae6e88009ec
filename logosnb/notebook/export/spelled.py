"""An op as one Python expression, from the spelling in its block.

In: a Stage, a library. Out: the expression, or None where the op has none or the operands are not all
Real. May not know: any op by name.
"""

from __future__ import annotations

import re

from logosnb.gradient.sweep import stage_values
from logosnb.notebook.export.prelude import HELPERS, LIBRARIES
from logosnb.notebook.export.python import python_name
from logosnb.ops.op import kind_of
from logosnb.ops.template import render
from logosnb.stages.program import Program
from logosnb.stages.stage import Stage


def spelled(stage: Stage, program: Program, library: str) -> str | None:
    """`x @ w`, `np.tanh(z)`: over the tensors' Python names."""
    text = stage.definition.spelling
    real = all(
        program.kinds[name] == ("Int" if kind_of(hole) == "ints" else "Real")
        for hole, name in stage.tensors
    )
    if not text or stage.kind != "Real" or not real:
        return None
    values = stage_values(stage, program.shapes, program.kinds) | {"xp": LIBRARIES[library]}
    values |= {hole: python_name(name) for hole, name in stage.tensors}
    values |= {hole: _bracketed(v) for hole, v in values.items() if isinstance(v, int | float)}
    (line,) = render(text, values, set(stage.operands), lambda stem, _: stem)
    return line.replace(" ,", ",")


def _bracketed(number: float) -> str:
    return f"({number!r})" if number < 0 else repr(number)


def is_view(expression: str) -> bool:
    """Whether the expression computes nothing new, so that what it gives must be copied."""
    return re.fullmatch(r"\w+(\.T)?", expression) is not None


def helpers_in(expression: str, library: str) -> set[str]:
    """The helpers of the prelude that an expression calls."""
    return set(re.findall(r"(?<![\w.])(\w+)\(", expression)) & set(HELPERS[library])
