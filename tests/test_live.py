"""Sliders and a watched training: their models as text, then in a real kernel through nbclient."""

from __future__ import annotations

from typing import Any

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook
from numpy.testing import assert_allclose

import logosnb
from logosnb.notebook.cell import run_cell
from logosnb.notebook.exploring import Knob, explore, view_html, view_text
from logosnb.notebook.options import read_options
from logosnb.notebook.session import Session

TEXT = """\
Let x be a 4 by 3 tensor of Real.
Let w be a 3 by 2 tensor of Real.
Let t be a 4 by 1 tensor of Int.
Let z be x matmul w.
Let loss be cross entropy of z with targets t.
"""


def session(options: str = "--grad loss --wrt w", text: str = TEXT) -> Session:
    generator = np.random.default_rng(4)
    given = {"x": generator.normal(size=(4, 3)), "w": generator.normal(size=(3, 2))}
    given |= {"t": [[1], [2], [1], [2]]}
    return run_cell(text, 2, read_options(options), given, lambda _: None)


# ---- sliders ----------------------------------------------------------------------------------


def test_the_sliders_as_a_model() -> None:
    made = session()
    assert len(explore(made, {"w": (-3, 3)}, "cpu").knobs) == 6
    (chosen,) = explore(made, {"w": {(2, 1): (-3, 3)}}, "cpu").knobs
    assert chosen == Knob("w", (2, 1), -3.0, 3.0, float(made["w"][1, 0]))
    assert (chosen.label, chosen.step) == ("w[2, 1]", 0.01)
    (scale,) = explore(made, {"x": {"scale": (0, 2)}}, "cpu").knobs
    assert (scale.element, scale.start) == (None, 1.0)


def test_a_position_of_the_sliders_is_the_program_run_there() -> None:
    made = session()
    explorer = explore(made, {"w": {(2, 1): (-3, 3)}, "x": {"scale": (0, 2)}}, "cpu")
    there = explorer.at([2.5, 0.5])
    weights = np.array(made["w"])
    weights[1, 0] = 2.5
    given = {"x": made["x"] * 0.5, "w": weights, "t": made["t"]}
    wanted = logosnb.grad(TEXT, given, of="loss", wrt="w")
    assert_allclose(there.value, wanted.value)
    assert_allclose(there.grads["w"], wanted.grads["w"])
    assert made["w"][1, 0] != 2.5
    assert f"{wanted.value.item():.4g}" in view_html(there)
    assert "gradient" in view_text(there)


@pytest.mark.parametrize(
    ("ranges", "words"),
    [
        ({}, "say what moves"),
        ({"t": (0, 1)}, "`t` is no input of Reals"),
        ({"w": (3, -3)}, "the smaller first"),
        ({"w": {(4, 1): (0, 1)}}, r"`w` is 3 by 2 and has no element \(4, 1\)"),
        ({"w": {"row": (0, 1)}}, "has no element 'row'"),
    ],
)
def test_a_wrong_range_is_said(ranges, words) -> None:
    with pytest.raises(logosnb.LogosError, match=words):
        explore(session(), ranges, "cpu")


# ---- training ---------------------------------------------------------------------------------


def test_training_is_gradient_descent() -> None:
    made = session()
    found = made.train("w", steps=5, rate=0.5, watch=False)
    weights, losses = np.array(made["w"]), []
    for _ in range(5):
        step = logosnb.grad(
            TEXT, {"x": made["x"], "w": weights, "t": made["t"]}, of="loss", wrt="w"
        )
        losses.append(step.value.item())
        weights = weights - 0.5 * step.grads["w"]
    assert_allclose(found.weights["w"], weights)
    assert_allclose(found.history.losses, losses)
    assert found.ended == "5 of 5 steps done"
    after = made.again({"w": found.weights["w"]})
    assert after.value.item() < losses[0]
    first = 0.5 * np.linalg.norm(made.grads["w"]) / np.linalg.norm(made["w"])
    assert_allclose(found.history.ratios["w"][0], first)
    assert_allclose(found.history.norms["w"][0], np.linalg.norm(made.grads["w"]))


def test_a_lost_loss_ends_the_training_with_a_sentence() -> None:
    text = TEXT.replace("Let z be x matmul w.", "Let z be exponential of (x matmul w).")
    found = session(text=text).train("w", steps=50, rate=1e6, watch=False)
    assert "the loss is" in found.ended and "stopped at step" in found.ended
    assert len(found.history) < 50


def test_batches_replace_inputs() -> None:
    made = session()
    batches = [{"x": np.full((4, 3), float(n))} for n in range(3)]
    found = made.train("w", steps=10, batches=batches, watch=False)
    assert len(found.history) == 3 and found.ended == "3 of 10 steps done"


def test_the_curves_are_a_picture_and_figures_to_keep(tmp_path) -> None:
    found = session().train("w", steps=20, watch=False)
    page = found.history.html()
    assert page.count("<polyline") == 2 and "<script" not in page
    figure = found.figure()
    figure.savefig(tmp_path / "training.png")
    assert [axes.get_title() for axes in figure.axes] == [
        "loss",
        "gradient norm",
        "update / weight",
    ]


def test_a_wrong_training_is_said() -> None:
    with pytest.raises(logosnb.LogosError, match="`t` is no input with a gradient; .* `w`"):
        session().train("t")
    with pytest.raises(logosnb.LogosError, match="needs a 1 by 1 loss"):
        text = TEXT.replace("Let loss", "Let other")
        generator = np.random.default_rng(1)
        given = {"x": np.ones((4, 3)), "w": np.ones((3, 2)), "t": [[1]] * 4}
        given["c"] = generator.normal(size=(4, 2))
        run_cell(text, 2, read_options("--grad z --cotangent c"), given, lambda _: None).train(
            "w", steps=1
        )


# ---- a real kernel ----------------------------------------------------------------------------

CELLS = {
    "setup": """\
%load_ext logosnb
import numpy as np
from ipywidgets.widgets.widget import _instances
x, w, t = np.ones((4, 3)), np.ones((3, 2)), [[1], [2], [1], [2]]
""",
    "net": f"%%logos net --grad loss --wrt w --quiet\n{TEXT}",
    "explore": "explorer = net.explore(w=(-3, 3))\nexplorer",
    "count": "print(len(_instances))",
    "drag": """\
from time import perf_counter
spent = []
for value in np.linspace(-3, 3, 40):
    began = perf_counter()
    explorer.sliders[0].value = value
    spent.append(perf_counter() - began)
moved = np.array(w); moved[0, 0] = 3
print(sorted(spent)[20], np.allclose(explorer.at([3, 1, 1, 1, 1, 1])['w'], moved))
""",
    "train": "found = net.train('w', steps=40)",
    "stop": """\
from threading import Timer
with net.watch(100000) as watch:
    Timer(0.5, watch.button.click).start()
    while not watch.stopped:
        watch.record(1.0, {'w': w}, {'w': w}, {'w': 0.1 * w})
print(len(watch.history) < 100000, watch.ended[-10:])
""",
    "after": "print(len(_instances))",
}


@pytest.fixture(scope="module")
def executed() -> dict[str, Any]:
    """Each cell by its name, as saved; the slider cell has run 50 times more before "count again"."""
    notebook = new_notebook(cells=[new_code_cell(source) for source in CELLS.values()])
    client = NotebookClient(notebook, timeout=120, kernel_name="python3")
    names = list(CELLS)
    with client.setup_kernel():
        for index, cell in enumerate(notebook.cells[:4]):
            client.execute_cell(cell, index)
        first = notebook.cells[3].outputs[0].text
        for _ in range(50):
            client.execute_cell(notebook.cells[2], 2)
        client.execute_cell(notebook.cells[3], 3)
        for index in range(4, len(names)):
            client.execute_cell(notebook.cells[index], index)
    saved = nbformat.reads(nbformat.writes(notebook), as_version=4)
    return dict(zip(names, saved.cells)) | {"first count": first}


def texts(cell: Any) -> str:
    return "".join(o.get("text", "") for o in cell.outputs)


def test_nothing_piles_up_after_fifty_runs(executed) -> None:
    assert texts(executed["count"]) == executed["first count"]
    assert texts(executed["after"]) == executed["first count"]  # nor after a training


def test_value_and_gradient_follow_and_the_last_state_is_saved(executed) -> None:
    median, same = texts(executed["drag"]).split()
    assert same == "True"
    print(f"median of a slider's move: {1000 * float(median):.1f} ms")
    assert float(median) < 0.1
    pages = [o.data["text/html"] for o in executed["explore"].outputs if "text/html" in o.data]
    w = np.ones((3, 2))
    w[0, 0] = 3
    given = {"x": np.ones((4, 3)), "w": w, "t": [[1], [2], [1], [2]]}
    wanted = logosnb.grad(TEXT, given, of="loss", wrt="w")
    assert len(pages) == 1 and f"{wanted.value.item():.4g}" in pages[0]


def test_a_training_leaves_its_curves_and_a_sentence(executed) -> None:
    outputs = executed["train"].outputs
    assert "40 of 40 steps done" in outputs[0].data["text/plain"]
    assert "<polyline" in outputs[1].data["text/html"]
    assert "application/vnd.jupyter.widget-view+json" not in outputs[0].data


def test_the_stop_button_stops(executed) -> None:
    assert texts(executed["stop"]).startswith("True")
