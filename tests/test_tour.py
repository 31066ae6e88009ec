"""The first notebook, run as `make tour` runs it."""

from __future__ import annotations

from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parent.parent / "notebooks" / "01-first-gradient.ipynb"


def test_the_first_notebook_runs_and_learns() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
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
