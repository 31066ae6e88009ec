"""`%logos_ops`: the op table, as a page to look things up in.

In: the table, and a word to look for. Out: a `Reference`, shown as HTML and as text. May not know: any
op by name; whatever stands in a block of the table appears here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape

from logosnb.language.errors import LogosError
from logosnb.language.words import closest
from logosnb.notebook.views.colours import BORDER, FAINT, MONOSPACE, TEXT
from logosnb.notebook.views.listing import highlighted
from logosnb.ops.op import Example, NoGradient, Op, Rows, kind_of
from logosnb.ops.phrase import literals
from logosnb.ops.table import TABLE


@dataclass(frozen=True)
class Reference:
    """The ops that were asked for."""

    ops: tuple[Op, ...]

    @classmethod
    def about(cls, word: str = "") -> Reference:
        """The op of that name, else every op whose name, phrase or meaning has the word; all without
        one. Raises LogosError where there is none."""
        wanted = word.strip().lower()
        exact = [op for op in TABLE.values() if op.name.lower() == wanted]
        found = exact or [op for op in TABLE.values() if _speaks_of(op, wanted)]
        if not found:
            known = {w for op in TABLE.values() for p in op.phrases for w in literals(p)}
            near = closest(wanted, sorted({*TABLE, *known}))
            hint = f"; did you mean `{near}`?" if near else ""
            raise LogosError(f"no op speaks of `{word.strip()}`{hint}")
        return cls(tuple(found))

    def __str__(self) -> str:
        return "\n\n".join("\n".join(_text(op)) for op in self.ops)

    __repr__ = __str__

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"text/html": self._repr_html_(), "text/plain": str(self)}

    def _repr_html_(self) -> str:
        folded = len(self.ops) > 3  # a long list is skimmed by its phrases
        entries = "".join(_html(op, not folded) for op in self.ops)
        count = f"{len(self.ops)} ops; a phrase unfolds" if folded else ""
        return f'<div style="{TEXT}"><div style="{FAINT}">{count}</div>{entries}</div>'


def _speaks_of(op: Op, word: str) -> bool:
    return word in " ".join([op.name, *op.phrases, op.about]).lower()


# ---- what is said of an op --------------------------------------------------------------------


def readable(phrase: str) -> str:
    """A phrase as the language reference writes it: `softmax of x`, `across H heads`."""
    return re.sub(r"\{(\w+)\}", _operand, phrase)


def _operand(hole: re.Match[str]) -> str:
    """A hole's name, or a letter where the words beside it say the name already: `position p`."""
    name = hole[1]
    before = re.findall(r"\w+", hole.string[: hole.start()])
    after = " ".join(re.findall(r"\w+", hole.string[hole.end() :]))
    named = {name, name + "s"} & set(before[-2:])
    if not named and not after.startswith(name.replace("_", " ")):
        return name
    return name[0].upper() if kind_of(name) == "count" else name[0]


def derivative(op: Op) -> str:
    """Its formula, or why there is none."""
    if isinstance(op.adjoint, NoGradient):
        return f"no gradient: {op.adjoint.why}"
    if isinstance(op.adjoint, str):
        return "its gradient is not derived in this version"
    return op.formula


def example_lines(example: Example) -> Iterator[str]:
    """The worked example, line by line."""
    yield from _named(example.inputs)
    yield from example.setup.splitlines()
    yield example.statement
    yield from _named({_result(example): example.value})
    if example.cotangent is not None:
        yield from _named({f"cotangent of {_result(example)}": example.cotangent})
    yield from _named({f"gradient of {name}": rows for name, rows in example.grads.items()})
    if example.note:
        yield f"# {example.note}"


def _result(example: Example) -> str:
    """What the statement binds or writes: `y`, or `t` of `Set row 1 of t to x.`"""
    bound = re.match(r"Let (?:mutable )?(\w+) be|Set .* of (\w+) to", example.statement)
    return (bound[1] or bound[2]) if bound else "result"


def _named(tensors: Mapping[str, Rows]) -> Iterator[str]:
    return (f"# {name} = {_rows(rows)}" for name, rows in tensors.items())


def _rows(rows: Rows) -> str:
    """`[1, 2; 3, 4]`, six digits."""
    return "[" + "; ".join(", ".join(f"{value:.6g}" for value in row) for row in rows) + "]"


# ---- text and HTML ----------------------------------------------------------------------------


def _text(op: Op) -> Iterator[str]:
    yield op.name
    yield from (f"    {readable(phrase)}" for phrase in op.phrases)
    yield from (f"    {line}" for line in [*op.about.splitlines(), *derivative(op).splitlines()])
    for example in op.examples:
        yield "    example"
        yield from (f"        {line}" for line in example_lines(example))


def _html(op: Op, unfolded: bool) -> str:
    phrases = "<br>".join(highlighted(readable(phrase)) for phrase in op.phrases)
    examples = "".join(_example_html(example) for example in op.examples)
    return (
        f'<details{" open" if unfolded else ""} style="{BORDER};margin:4px 0;padding:4px 10px">'
        f'<summary style="cursor:pointer"><b>{escape(op.name)}</b>&ensp;'
        f'<code style="{MONOSPACE};background:transparent;color:inherit">{phrases}</code></summary>'
        f'<div style="padding:4px 0">{escape(op.about)}</div>'
        f"{_pre(escape(derivative(op)))}{examples}</details>"
    )


def _example_html(example: Example) -> str:
    lines = "\n".join(highlighted(line) for line in example_lines(example))
    return f'<div style="{FAINT};padding-top:4px">worked example</div>{_pre(lines)}'


def _pre(inside: str) -> str:
    style = f"margin:0;padding:2px 0;{MONOSPACE};background:transparent;color:inherit"
    return f'<pre style="{style};white-space:pre-wrap;border:none">{inside}</pre>'
