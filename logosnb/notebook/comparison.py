"""Two runs side by side: where they first differ by more than a tolerance.

In: two sessions, or one and a backend and dtype to run it on. Out: a `Comparison`, a plain model; text,
HTML and the stage graph with the difference marked. May not know: IPython.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from logosnb.language.errors import LogosError
from logosnb.notebook.views.colours import FAINT, TEXT
from logosnb.notebook.views.graph import Graph, graph, graph_dot
from logosnb.notebook.views.picture import picture_html, svg
from logosnb.notebook.views.table import aligned, cells_html
from logosnb.running import Result
from logosnb.stages.program import Program

if TYPE_CHECKING:
    from logosnb.notebook.session import Session

Array = np.ndarray[Any, Any]
F32, F64 = 1e-4, 1e-10  # the tolerance where one run is in f32, and where none is
HEADER = ("tensor", "what", "line", "difference", "worst at", "left", "right")
MARK = "#d55e00"


@dataclass(frozen=True)
class Difference:
    """One tensor in both runs: how far apart, relative to its largest element, and where most."""

    tensor: str
    what: str  # "value" or "gradient"
    line: int
    amount: float
    element: tuple[int, int]
    left: float
    right: float

    def cells(self) -> tuple[str, ...]:
        at = f"{self.element[0]}, {self.element[1]}"
        numbers = (f"{self.left:.6g}", f"{self.right:.6g}")
        line = str(self.line) if self.line else ""
        return (self.tensor, self.what, line, f"{self.amount:.2g}", at, *numbers)


@dataclass(frozen=True)
class Comparison:
    """names: of the two runs; differences: values in the order of the program, then gradients in the
    order of the sweep; alone: what only one run has, or has in another shape; graph: None if no stages."""

    names: tuple[str, str]
    tolerance: float
    differences: tuple[Difference, ...]
    alone: tuple[str, ...]
    graph: Graph | None

    @property
    def first(self) -> Difference | None:
        """The first tensor that differs by more than the tolerance."""
        return next((d for d in self.differences if d.amount > self.tolerance), None)

    def sentence(self) -> str:
        left, right = self.names
        if self.first is None:
            return f"{left} and {right} nowhere differ by more than {self.tolerance:g}"
        line = f", line {self.first.line}" if self.first.line else ""
        what = f"the {self.first.what} of {self.first.tensor}{line}"
        head = f"{left} and {right} first differ by more than {self.tolerance:g} in {what}"
        if np.isinf(self.first.amount):
            return f"{head}: {self.first.left:g} there, and {self.first.right:g}"
        return f"{head}: by {self.first.amount:.2g} of its largest element"

    def __str__(self) -> str:
        parts = [self.sentence(), aligned([HEADER, *(d.cells() for d in self.differences)])]
        return "\n".join(parts + ([self._alone()] if self.alone else []))

    __repr__ = __str__

    def _alone(self) -> str:
        return f"not in both, or of another shape: {', '.join(self.alone)}"

    def html(self) -> str:
        """Reads without a kernel; rows beyond the tolerance are tinted."""
        over = [difference.amount > self.tolerance for difference in self.differences]
        cells = [difference.cells() for difference in self.differences]
        table = cells_html(HEADER, cells, over, left=2)
        alone = f'<div style="{FAINT}">{escape(self._alone())}</div>' if self.alone else ""
        head = f'<div style="padding:2px 0 6px 0"><b>{escape(self.sentence())}</b></div>'
        beside = "display:flex;flex-wrap:wrap;gap:0 24px;align-items:flex-start"
        inside = f'<div style="{beside}">{self._drawing()}<div>{table}{alone}</div></div>'
        return f'<div style="{TEXT}">{head}{inside}</div>'

    def _drawing(self) -> str:
        drawing = svg(self.dot()) if self.graph is not None else None
        return picture_html(drawing, self.sentence()) if drawing else ""

    def dot(self) -> str:
        """The stage graph, each edge with its difference, the first stage beyond the tolerance outlined."""
        if self.graph is None:
            raise LogosError("this program has no stages, so there is no graph to draw")
        text = graph_dot(self.graph)
        nodes = [f'\t{n.id} [color="{MARK}" penwidth=3]\n' for n in self.graph.nodes if self._at(n)]
        return text[: text.rindex("}")] + "".join(nodes) + "}\n"

    def _at(self, node: Any) -> bool:
        return self.first is not None and node.line == self.first.line > 0

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/html": self.html(), "text/plain": str(self)}


# ---- two runs ---------------------------------------------------------------------------------


def compared(
    session: Session, result: Result, names: tuple[str, str], tolerance: float | None, other: Any
) -> Comparison:
    """other: the session that `result` is of, where its derivation is another one; else None."""
    found, alone = _differences(session, result, other)
    narrow = any(
        getattr(v, "dtype", None) == np.float32
        for r in (session.result, result)
        for v in r.values()
    )
    limit = tolerance if tolerance is not None else F32 if narrow else F64
    drawn = _marked(session, found) if session.program.stages else None
    return Comparison(names, limit, tuple(found), tuple(alone), drawn)


def _differences(
    session: Session, result: Result, other: Any
) -> tuple[list[Difference], list[str]]:
    pairs = [
        *_values(session.program, session.result, result),
        *_gradients(session, result, other or session),
    ]
    found = [_difference(n, what, line, a, b) for n, what, line, a, b in pairs if _alike(a, b)]
    return found, [name for name, _, _, a, b in pairs if not _alike(a, b)]


Pair = tuple[str, str, int, Any, Any]


def _values(program: Program, left: Result, right: Result) -> Iterator[Pair]:
    lines = _lines(program)
    for name in program.shapes:
        yield name, "value", lines.get(name, 0), left.get(name), right.get(name)


def _gradients(session: Session, result: Result, other: Session) -> Iterator[Pair]:
    if session.gradients is None or other.gradients is None:
        return
    ours, theirs = session.backward.cotangents, other.backward.cotangents
    lines = _lines(session.program)
    for tensor, name in ours.items():
        right = result.get(theirs.get(tensor, ""))
        yield tensor, "gradient", lines.get(tensor, 0), session.result.get(name), right


def _lines(program: Program) -> dict[str, int]:
    """The line that declares or computes each tensor."""
    declared = {name: declaration.line for name, declaration in program.declared.items()}
    return declared | {stage.out: stage.line for stage in program.stages}


def _alike(left: Any, right: Any) -> bool:
    arrays = isinstance(left, np.ndarray) and isinstance(right, np.ndarray)
    return arrays and left.shape == right.shape and left.size > 0


def _difference(name: str, what: str, line: int, left: Array, right: Array) -> Difference:
    a, b = left.astype(np.float64), right.astype(np.float64)
    with np.errstate(invalid="ignore"):
        gap = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b))
    gap = np.where(np.isnan(gap), np.inf, gap)
    row, column = np.unravel_index(int(gap.argmax()), gap.shape)
    both = np.abs(np.stack([a, b]))
    largest = float(both[np.isfinite(both)].max(initial=0.0)) or 1.0
    amount = float(gap.max()) / largest
    at = (int(row) + 1, int(column) + 1)
    return Difference(name, what, line, amount, at, float(a[row, column]), float(b[row, column]))


def _marked(session: Session, found: list[Difference]) -> Graph:
    """The graph of the forward, the differences in the place of gradients."""
    drawn = graph(session.program, output=session.of)
    of: dict[str, str] = {}
    for difference in found:
        text = f"{difference.what} ≠ {difference.amount:.1g}" if difference.amount else ""
        of[difference.tensor] = "\n".join(filter(None, (of.get(difference.tensor, ""), text)))
    return replace(drawn, edges=tuple(_noted(edge, of) for edge in drawn.edges))


def _noted(edge: Any, of: Mapping[str, str]) -> Any:
    return replace(edge, gradient=of.get(edge.tensor, ""))
