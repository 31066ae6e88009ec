"""The whole view of a cell: the two listings, the graph, the check and the table, one below the other.

In: what a cell ran. Out: a `Page` of plain models; one block of HTML and the same as text. May not
know: IPython.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from logosnb.checking import Report
from logosnb.interpreter.display import show_value
from logosnb.notebook.views.colours import BORDER, FAINT, MONOSPACE, TEXT
from logosnb.notebook.views.graph import Graph, graph, graph_dot, graph_text
from logosnb.notebook.views.listing import Listing, listing, listing_html, listing_text
from logosnb.notebook.views.picture import HOW_TO_GET_IT, picture_html, svg
from logosnb.notebook.views.table import Row, cells_html, table_html, table_text, tensor_row
from logosnb.running import Gradients, Result
from logosnb.stages.program import Program


@dataclass(frozen=True)
class Page:
    """listing; graph: None where there are no stages or none is wanted; report; rows of the table."""

    listing: Listing
    graph: Graph | None
    report: Report | None
    rows: tuple[Row, ...]

    @classmethod
    def of(
        cls,
        program: Program,
        inputs: Mapping[str, Any],
        result: Result,
        gradients: Gradients | None = None,
        output: str | None = None,
        report: Report | None = None,
        draw: bool = True,
    ) -> Page:
        """The models of one run."""
        backward = gradients.backward if gradients else None
        lines = listing(program, backward)
        bands = {line.number: line.band for line in lines.forward if line.band is not None}
        drawn = graph(program, backward, result, output, bands) if draw and program.stages else None
        return cls(lines, drawn, report, tuple(rows(program, inputs, result, gradients)))

    def text(self) -> str:
        """For a terminal, and for every viewer that shows no HTML."""
        parts = [listing_text(self.listing)] if self.listing.backward else []
        if self.graph is not None:
            parts.append("stages\n" + graph_text(self.graph))
        if self.report is not None:
            parts.append("check against central differences\n" + str(self.report))
        if self.rows:
            parts.append("values\n" + table_text(self.rows))
        return "\n\n".join(parts) or "the program ran and bound nothing"

    def html(self) -> str:
        """Reads without a kernel, in a light and a dark page, wide and narrow."""
        values = _section("values", table_html(self.rows)) if self.rows else ""
        numbers = f'<div style="min-width:0;max-width:100%">{self._report_html()}{values}</div>'
        beside = "display:flex;flex-wrap:wrap;gap:0 24px;align-items:flex-start"
        below = f'<div style="{beside}">{self._graph_html()}{numbers}</div>'
        return f'<div style="{TEXT};padding:2px 0">{self._listing_html()}{below}</div>'

    def _listing_html(self) -> str:
        inside = listing_html(self.listing)
        if self.listing.backward:
            return f'<div style="margin:0 0 10px 0">{inside}</div>'
        folded = f'<summary style="{FAINT};cursor:pointer">program</summary>{inside}'
        return f'<details style="margin:0 0 10px 0">{folded}</details>'

    def _graph_html(self) -> str:
        if self.graph is None:
            return ""
        drawing = _drawing(self.graph)
        if drawing is None:
            return _section("stages", _plain(graph_text(self.graph)) + _remark(HOW_TO_GET_IT))
        picture = picture_html(drawing, "stage graph. " + graph_text(self.graph))
        left_out = self.graph.left_out
        remark = f"{left_out} statements that are no stages are not drawn" if left_out else ""
        return _section("stages", picture + _remark(remark))

    def _report_html(self) -> str:
        if self.report is None:
            return ""
        header, *lines = self.report.cells()
        alarming = [not row.ok for row in self.report.rows]
        table = cells_html(header, lines, alarming, left=2)
        remark = f"random cotangent and sample from seed {self.report.seed}"
        return _section("check against central differences", table + _remark(remark))


def _drawing(model: Graph) -> str | None:
    try:
        return svg(graph_dot(model))
    except ImportError:  # the package graphviz is not installed: the text is there
        return None


def _section(title: str, inside: str) -> str:
    head = f'<div style="{FAINT};padding:2px 0">{escape(title)}</div>'
    return f'<div style="margin:0 0 10px 0;max-width:100%">{head}{inside}</div>'


def _plain(text: str) -> str:
    style = f"margin:0;padding:6px 8px;{MONOSPACE};{BORDER};overflow-x:auto;color:inherit"
    return f'<pre style="{style};background:transparent">{escape(text)}</pre>'


def _remark(text: str) -> str:
    return f'<div style="{FAINT};padding:2px 0">{escape(text)}</div>' if text else ""


# ---- the table's rows -------------------------------------------------------------------------


def rows(
    program: Program, inputs: Mapping[str, Any], result: Result, gradients: Gradients | None
) -> Iterator[Row]:
    """The program's own names in the order of its text, then the gradients. What the derived program
    binds on the way, and what an operand in parentheses was bound to, is left out."""
    fresh = {stage.out for stage in program.stages if stage.fresh}
    own = set(program.shapes) | set(result) if gradients is None else set(program.shapes)
    own |= set(program.constants)
    for name, value in result.items():
        if name in own and name not in fresh:
            yield _row(name, value, "input" if name in inputs else "value")
    for name, gradient in (gradients.grads if gradients else {}).items():
        yield tensor_row(name, "gradient", gradient)


def _row(name: str, value: Any, what: str) -> Row:
    if isinstance(value, np.ndarray):
        return tensor_row(name, what, value)
    text = show_value(value)
    kind = {bool: "Bool", int: "Int", float: "Real", str: "Text", list: "Seq"}[type(value)]
    return Row(name, kind, "", value=text if len(text) <= 40 else text[:39] + "…")
