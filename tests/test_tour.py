"""The notebooks, run as `make tour` runs them."""

from __future__ import annotations

from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"


def test_the_first_notebook_runs_and_learns() -> None:
    notebook = nbformat.read(NOTEBOOKS / "01-first-gradient.ipynb", as_version=4)
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    text = "\n".join(
        output.get("text", "") + output.get("data", {}).get("text/plain", "")
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
    )
    assert "held-out digits are read correctly" in text
    assert "off by factor 64" in text
    assert "loss 2." in text
    printed = [
        o.text for c in notebook.cells for o in c.get("outputs", []) if o.get("name") == "stdout"
    ]
    assert any("epochs: 100%" in text for text in printed)  # what goes to stderr is red


def test_the_second_notebook_finds_four_faults_and_mends_them() -> None:
    """Each cell asserts what its text says; here: that the saved notebook shows it without a kernel."""
    notebook = nbformat.read(NOTEBOOKS / "02-hunting-a-bad-gradient.ipynb", as_version=4)
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    shown = [o.data for c in notebook.cells for o in c.get("outputs", []) if "data" in o]
    text = "\n".join(data.get("text/plain", "") for data in shown)
    for fault in ("vanishing gradient", "exploding gradient", "not finite", "dead units"):
        assert fault in text
    assert text.count("150 of 150 steps done") == 6
    assert sum("<polyline" in data.get("text/html", "") for data in shown) == 7
    assert any("image/png" in data for data in shown)
    assert not any("application/vnd.jupyter.widget-view+json" in data for data in shown)
