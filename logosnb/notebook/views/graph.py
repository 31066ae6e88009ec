"""The stage graph: tensors flow from inputs through stages to the output.

In: a Program, and of a gradient its Backward and the values of its run. Out: a `Graph`, a plain model; DOT
and text of it. May not know: IPython, how a picture is made.

With a Backward, each edge says how large the gradient is that flows back along it, or "not
computed" before any run: never 0 for what nobody has computed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from logosnb.gradient.backward import Backward
from logosnb.gradient.history import Step, Version, steps
from logosnb.notebook.views.colours import BAND_EDGE, band_on_white
from logosnb.notebook.views.table import Statistics, number_text, statistics
from logosnb.stages.program import Program

NOT_COMPUTED = "not computed"


@dataclass(frozen=True)
class Node:
    """kind: "input", "stage" or "output"; line: of the program; band: a stage's colour."""

    id: str
    kind: str
    label: str
    line: int
    band: int | None = None


@dataclass(frozen=True)
class Edge:
    """A tensor on its way: shape, and of the gradient its norm, why there is none, or "" if unasked."""

    source: str
    target: str
    tensor: str
    shape: str
    gradient: str = ""

    @property
    def label(self) -> str:
        return "\n".join(part for part in (f"{self.tensor}  {self.shape}", self.gradient) if part)


@dataclass(frozen=True)
class Graph:
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    left_out: int = 0  # statements that are no stages, so are not drawn


def graph(
    program: Program,
    backward: Backward | None = None,
    values: Mapping[str, Any] | None = None,
    output: str | None = None,
    bands: Mapping[int, int] | None = None,
) -> Graph:
    """The graph of a program's stages. values: everything that the run of `backward` bound, None
    before any run; output: which tensor to mark; bands: line to the number of its colour."""
    return _Builder(program, backward, values, output, bands or {}).graph()


class _Builder:
    def __init__(
        self,
        program: Program,
        backward: Backward | None,
        values: Mapping[str, Any] | None,
        output: str | None,
        bands: Mapping[int, int],
    ) -> None:
        self.program, self.backward, self.values = program, backward, values
        self.steps, self.latest = steps(program.stages)
        self.bands = bands
        self.outputs = [output] if output else self._last()
        self.makers = {step.makes: f"s{n}" for n, step in enumerate(self.steps)}

    def _last(self) -> list[str]:
        """What nothing reads: the outputs where none was named."""
        read = {name for step in self.steps for name, _ in step.reads.values()}
        return list(dict.fromkeys(s.stage.out for s in self.steps if s.stage.out not in read))

    def graph(self) -> Graph:
        edges = [e for n, step in enumerate(self.steps) for e in self._edges_into(f"s{n}", step)]
        edges += [self._edge(self._last_version(name), f"o_{name}") for name in self.outputs]
        nodes = [
            *(self._input(version) for version in self._sources()),
            *(self._stage(f"s{n}", step) for n, step in enumerate(self.steps)),
            *(Node(f"o_{name}", "output", name, 0) for name in self.outputs),
        ]
        return Graph(tuple(nodes), tuple(edges), len(self.program.unrecognized))

    def _edges_into(self, target: str, step: Step) -> Iterable[Edge]:
        return (self._edge(version, target) for version in dict.fromkeys(step.reads.values()))

    def _edge(self, version: Version, target: str) -> Edge:
        shape = self.program.shapes[version[0]]
        source = self.makers.get(version, f"i_{version[0]}")
        text = f"{shape.rows}×{shape.columns}"
        return Edge(source, target, version[0], text, self._gradient(version))

    def _gradient(self, version: Version) -> str:
        """What to say of the gradient of one version of a tensor."""
        if self.backward is None:
            return ""
        name = self.backward.cotangents.get(version[0])
        if name is None or version[1] > 0 or self.program.kinds[version[0]] == "Int":
            return ""
        if self.values is None or name not in self.values:
            return f"gradient: {NOT_COMPUTED}"
        return _size(statistics(np.asarray(self.values[name])))

    def _last_version(self, name: str) -> Version:
        return name, self.latest.get(name, 0)

    def _sources(self) -> Iterable[Version]:
        """The tensors that no stage makes, in the order in which they are read."""
        read = [version for step in self.steps for version in step.reads.values()]
        read += [self._last_version(name) for name in self.outputs]
        return [version for version in dict.fromkeys(read) if version not in self.makers]

    def _input(self, version: Version) -> Node:
        declared = self.program.declared.get(version[0])
        return Node(f"i_{version[0]}", "input", version[0], declared.line if declared else 0)

    def _stage(self, id: str, step: Step) -> Node:
        line = step.stage.line
        return Node(id, "stage", step.stage.op, line, self.bands.get(line))


def _size(gradient: Statistics) -> str:
    """Its norm; where elements are not finite, that, since the norm of the others would mislead."""
    lost = gradient.nans + gradient.infinities
    return f"gradient: {lost} NaN or Inf" if lost else f"‖gradient‖ = {number_text(gradient.norm)}"


# ---- DOT --------------------------------------------------------------------------------------


def graph_dot(model: Graph) -> str:
    """The model in Graphviz's language. Colours are those of a light card, which the page puts
    behind the picture on a dark page too."""
    from graphviz import Digraph

    font = {"fontname": "Helvetica", "fontcolor": "#222222"}
    drawing = Digraph(
        "stages",
        graph_attr={
            "bgcolor": "transparent",
            "rankdir": "TB",
            "nodesep": "0.35",
            "ranksep": "0.35",
        },
        node_attr={**font, "fontsize": "12", "height": "0.3", "margin": "0.14,0.06"},
        edge_attr={**font, "fontsize": "10", "color": "#777777", "arrowsize": "0.7"},
    )
    for node in model.nodes:
        drawing.node(node.id, _escaped(_node_label(node)), **_node_style(node))
    for edge in model.edges:
        aside = "\n".join(f"   {line}   " for line in edge.label.split("\n"))
        drawing.edge(edge.source, edge.target, _escaped(aside))
    return str(drawing.source)


def _escaped(text: str) -> str:
    """Text for a label: DOT reads `\\n` as a new line, and `<…>` as HTML."""
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _node_label(node: Node) -> str:
    return f"{node.label}\nline {node.line}" if node.kind == "stage" else node.label


def _node_style(node: Node) -> dict[str, str]:
    if node.kind == "input":
        return {"shape": "oval", "color": "#777777"}
    if node.kind == "output":
        return {"shape": "oval", "peripheries": "2", "color": "#222222", "penwidth": "1.4"}
    number = node.band or 0
    fill, edge = band_on_white(number, 0.2), band_on_white(number, BAND_EDGE)
    return {"shape": "box", "style": "rounded,filled", "fillcolor": fill, "color": edge}


# ---- text -------------------------------------------------------------------------------------


def graph_text(model: Graph) -> str:
    """One line a stage: what flows in, the op, what flows out."""
    lines = [_stage_text(model, node) for node in model.nodes if node.kind == "stage"]
    if model.left_out:
        lines.append(_left_out(model.left_out))
    return "\n".join(lines)


def _left_out(count: int) -> str:
    verb = "statement is no stage and is" if count == 1 else "statements are no stages and are"
    return f"({count} {verb} not drawn)"


def _stage_text(model: Graph, node: Node) -> str:
    into = [_flow(edge) for edge in model.edges if edge.target == node.id]
    out = dict.fromkeys(_flow(edge) for edge in model.edges if edge.source == node.id)
    result = f" → {', '.join(out)}" if out else ""
    return f"line {node.line}: {', '.join(into)} → {node.label}{result}"


def _flow(edge: Edge) -> str:
    gradient = f", {edge.gradient}" if edge.gradient else ""
    return f"{edge.tensor} ({edge.shape}{gradient})"
