"""The views as plain models: listing, graph, table, picture, page. No shell, no kernel."""

from __future__ import annotations

import re
import shutil
import sysconfig
import warnings
from base64 import b64decode
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import logosnb
from logosnb.notebook.views import picture
from logosnb.notebook.views.graph import (
    NOT_COMPUTED,
    Edge,
    Graph,
    Node,
    graph,
    graph_dot,
    graph_text,
)
from logosnb.notebook.views.listing import highlighted, listing, listing_html, listing_text
from logosnb.notebook.views.page import Page
from logosnb.notebook.views.table import cells, statistics, table_html, table_text, tensor_row

NET = """\
Let x be a 4 by 3 tensor of Real.
Let w be a 3 by 5 tensor of Real.
Let ct be a 4 by 5 tensor of Real.

# one layer
Let h be x matmul w.
Let y be softmax of h.
"""
RANDOM = np.random.default_rng(5)
VALUES = {"x": RANDOM.normal(size=(4, 3)), "w": RANDOM.normal(size=(3, 5)), "ct": np.ones((4, 5))}


@pytest.fixture(scope="module")
def program() -> logosnb.Program:
    return logosnb.parse(NET, 2)


@pytest.fixture(scope="module")
def derived(program: logosnb.Program) -> logosnb.Backward:
    return logosnb.backward(program, "y", "ct", ["w"])


@pytest.fixture(scope="module")
def page(program: logosnb.Program) -> Page:
    gradients = logosnb.grad(program, VALUES, of="y", wrt="w", cotangent=VALUES["ct"])
    return Page.of(program, VALUES, gradients.result, gradients, "y")


class Balance(HTMLParser):
    """Raises where a tag is closed that is not the one open."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in ("img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag, f"</{tag}> closes what is not open"

    def handle_data(self, data: str) -> None:
        self.words += data


def text_of(html: str) -> str:
    reader = Balance()
    reader.feed(html)
    assert reader.open == []
    return reader.words


# ---- the listing ------------------------------------------------------------------------------


def test_lines_keep_the_numbers_of_the_cell(program: logosnb.Program) -> None:
    model = listing(program)
    numbers = {line.text: line.number for line in model.forward}
    assert numbers["Let h be x matmul w."] == 7
    assert model.backward == ()


def test_each_backward_line_has_the_band_of_the_line_it_serves(
    program: logosnb.Program, derived: logosnb.Backward
) -> None:
    model = listing(program, derived)
    band = {line.number: line.band for line in model.forward}
    assert len(model.backward) == len(derived.source.splitlines()) > 3
    for line in model.backward:
        assert line.band is not None and line.band == band[line.serves]
    assert band[7] != band[8]
    assert band[2] is None


def test_the_mark_stands_once_for_a_run_of_lines(
    program: logosnb.Program, derived: logosnb.Backward
) -> None:
    text = listing_text(listing(program, derived))
    assert text.count("← 8") == 1 and text.count("← 7") == 1
    assert text.index("← 8") < text.index("← 7")


def test_every_backward_line_has_the_same_gutters() -> None:
    source = "\n" * 6 + NET
    program = logosnb.parse(source)
    html = listing_html(listing(program, logosnb.backward(program, "y", "ct", ["w"])))
    column = html.split("backward, derived", 1)[1]
    assert {row.count("user-select:none") for row in column.split('<span class="')[1:]} == {2}


def test_the_html_says_all_that_the_programs_say(
    program: logosnb.Program, derived: logosnb.Backward
) -> None:
    html = listing_html(listing(program, derived))
    words = text_of(html)
    for line in [*NET.splitlines(), *derived.source.splitlines()]:
        assert line in words
    assert html.count("<span class=") == len(NET.splitlines()) + len(derived.source.splitlines())
    assert "<script" not in html


def test_the_same_listing_is_the_same_html(
    program: logosnb.Program, derived: logosnb.Backward
) -> None:
    again = logosnb.backward(logosnb.parse(NET, 2), "y", "ct", ["w"])
    assert listing_html(listing(program, derived)) == listing_html(listing(program, again))


def test_hovering_a_line_lights_those_that_it_is_tied_to(
    program: logosnb.Program, derived: logosnb.Backward
) -> None:
    html = listing_html(listing(program, derived))
    lit = set(re.findall(r":has\(\.([\w-]+):hover\)", html))
    classes = set(re.findall(r'<span class="([\w-]+)"', html))
    assert lit == {name for name in classes if name.endswith(("-7", "-8"))}


def test_text_is_escaped() -> None:
    assert "&lt;b&gt;" in highlighted('Show "<b>".') and "<b>" not in highlighted('Show "<b>".')
    assert "&lt;b&gt;" in highlighted("# <b>")


@pytest.mark.parametrize(
    "text", ["", "    ", "Let x be 5.", "        Set hit to 1.0.  # why", "é § ⊙"]
)
def test_highlighting_changes_no_text(text: str) -> None:
    assert text_of(highlighted(text)) == text


# ---- the graph --------------------------------------------------------------------------------


def test_edges_say_not_computed_before_any_run(
    program: logosnb.Program, derived: logosnb.Backward
) -> None:
    edges = {edge.tensor: edge.gradient for edge in graph(program, derived, None, "y").edges}
    assert NOT_COMPUTED in edges["w"] and NOT_COMPUTED in edges["h"]
    assert edges["x"] == ""  # not asked for: not a 0 either


def test_edges_say_the_norm_of_the_gradient(page: Page) -> None:
    assert page.graph is not None
    edges = {edge.tensor: edge for edge in page.graph.edges}
    gradient = logosnb.grad(NET, VALUES, of="y", wrt="w", cotangent=VALUES["ct"]).grads["w"]
    assert edges["w"].gradient == f"‖gradient‖ = {np.linalg.norm(gradient):.4g}"
    assert edges["w"].shape == "3×5"


def test_an_edge_says_that_a_gradient_is_not_finite(
    program: logosnb.Program, derived: logosnb.Backward
) -> None:
    values = {derived.cotangents["w"]: np.array([[np.nan, 1.0], [np.inf, 2.0]])}
    edges = {edge.tensor: edge.gradient for edge in graph(program, derived, values, "y").edges}
    assert edges["w"] == "gradient: 2 NaN or Inf"


def test_the_graph_has_inputs_stages_and_the_output(program: logosnb.Program) -> None:
    model = graph(program, output="y")
    kinds = {(node.kind, node.label) for node in model.nodes}
    stages = {("stage", "Matmul"), ("stage", "Softmax")}
    assert kinds == {("input", "x"), ("input", "w"), *stages, ("output", "y")}
    assert {node.label: node.line for node in model.nodes}["Softmax"] == 8
    assert all(not edge.gradient for edge in model.edges)


def test_a_tensor_read_twice_by_one_stage_is_one_edge() -> None:
    program = logosnb.parse("Let x be a 2 by 2 tensor of Real.\nLet y be x hadamard x.")
    assert [e.tensor for e in graph(program).edges] == ["x", "y"]


def test_a_tensor_that_is_written_flows_through_its_writer() -> None:
    program = logosnb.parse(
        "Let t be a 3 by 2 tensor of Real.\nLet x be a 1 by 2 tensor of Real.\n"
        "Set row 2 of t to x.\nLet y be sum of t."
    )
    model = graph(program)
    writer = next(node.id for node in model.nodes if node.label == "SetRow")
    reader = next(node.id for node in model.nodes if node.label == "Sum")
    assert any(e.source == writer and e.target == reader and e.tensor == "t" for e in model.edges)


def test_what_is_no_stage_is_counted_and_named() -> None:
    source = "Let x be a 1 by 2 tensor of Real.\nLet y be sum of x.\nLet z be item 1 of y.\n"
    model = graph(logosnb.parse(source))
    assert model.left_out == 1
    assert "1 statement is no stage and is not drawn" in graph_text(model)


def test_labels_with_quotes_and_angles_are_drawn_as_they_are() -> None:
    model = Graph(
        (Node("a", "input", 'a"<b>\\', 0), Node("s", "stage", "Op", 1, 0)),
        (Edge("a", "s", 'a"<b>\\', "1×1"),),
    )
    drawing = picture.svg(graph_dot(model))
    if drawing is None:
        pytest.skip("no Graphviz on this machine")
    assert "a&quot;&lt;b&gt;\\" in drawing


# ---- the picture ------------------------------------------------------------------------------


def test_without_dot_the_package_draws(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, program: logosnb.Program
) -> None:
    if shutil.which("graphviz-pure", path=sysconfig.get_path("scripts")) is None:
        pytest.skip("graphviz-pure is not installed")
    monkeypatch.setenv("PATH", str(tmp_path))
    drawing = picture.svg(graph_dot(graph(program)))
    assert drawing is not None and "Softmax" in drawing


def test_without_any_graphviz_the_text_stands_with_one_line_of_advice(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, page: Page
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sysconfig, "get_path", lambda *names: str(tmp_path))
    html = page.html()
    assert "<img" not in html
    words = text_of(html)
    assert "→ Softmax →" in words
    for name in ("graphviz-pure", "apt", "conda", "brew"):
        assert name in words


def test_the_picture_is_an_image_that_no_sanitizer_drops(page: Page) -> None:
    found = re.search(r'src="data:image/svg\+xml;base64,([^"]+)"', page.html())
    if found is None:
        pytest.skip("no Graphviz on this machine")
    drawing = b64decode(found[1]).decode()
    assert "<svg" in drawing and "Matmul" in drawing
    assert "max-width:100%" in page.html() and "alt=" in page.html()


# ---- the table --------------------------------------------------------------------------------


def test_nan_and_infinities_are_counted_apart() -> None:
    found = statistics(np.array([[1.0, np.nan, np.inf], [-np.inf, 0.0, -3.0]]))
    assert (found.low, found.high, found.nans, found.infinities, found.zeros) == (-3, 1, 1, 2, 1)
    assert found.mean == pytest.approx(-2 / 3) and found.norm == pytest.approx(np.sqrt(10))


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((0, 3)),
        np.full((2, 2), np.nan),
        np.full((2, 2), 1.7e308),
        np.full((1, 2), 5e-324),
        np.array([[1, 2]], dtype=np.int64),
    ],
)
def test_statistics_never_warn(array: np.ndarray) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = statistics(array)
    assert found.norm is None or found.norm > 0


def test_the_largest_floats_have_a_mean() -> None:
    assert statistics(np.full((2, 2), 1.5e308)).mean == pytest.approx(1.5e308)


def test_the_table_reads_alike_as_text_and_as_html() -> None:
    rows = [
        tensor_row("x", "value", np.array([[1.0, 2.0]])),
        tensor_row("<n>", "value", np.zeros((0, 2))),
    ]
    text, words = table_text(rows), text_of(table_html(rows))
    for row in rows:
        for cell in cells(row):
            assert cell in text and cell in words
    assert "<n>" not in table_html(rows)


# ---- the page ---------------------------------------------------------------------------------


def test_the_page_holds_its_four_parts(page: Page) -> None:
    words = text_of(page.html())
    for part in ("forward", "backward", "stages", "values", "gradient"):
        assert part in words and part in page.text()
    assert [row.name for row in page.rows] == ["x", "w", "ct", "h", "y", "w"]
    assert [row.what for row in page.rows] == ["input"] * 3 + ["value"] * 2 + ["gradient"]


def test_scalars_texts_and_sequences_are_shown_too() -> None:
    source = 'Let n be 5.\nLet t be "a <b>".\nLet xs be [1, 2, 3].\nLet ok be true.\nLet r be 0.5.'
    program = logosnb.parse(source)
    page = Page.of(program, {}, logosnb.run(program))
    assert page.graph is None
    values = {row.name: (row.what, row.value) for row in page.rows}
    assert values["n"] == ("Int", "5") and values["xs"] == ("Seq", "[1, 2, 3]")
    assert values["ok"] == ("Bool", "true") and values["r"] == ("Real", "0.5")
    assert "a &lt;b&gt;" in page.html() and "a <b>" in page.text()


def test_no_colour_is_fixed_that_a_dark_page_would_hide(page: Page) -> None:
    styles = re.sub(r"<img[^>]*>", "", page.html())
    assert not re.search(r"(?<!-)color:\s*(#|black|white|rgb)", styles)
    assert not re.search(r"background:\s*(#|white|black)", styles)
