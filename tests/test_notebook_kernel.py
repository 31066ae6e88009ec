"""Real kernels: one notebook of many cells through nbclient, a complete request, nbconvert's exit code."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from jupyter_core.utils import run_sync
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

SETUP = """\
%load_ext logosnb
import numpy as np
x, w = np.arange(6.0).reshape(2, 3), np.ones((3, 2))
HEAVY = "ipywidgets", "matplotlib.pyplot", "numba", "torch"
"""
NET = """\
Let x be a 2 by 3 tensor of Real.
Let w be a 3 by 2 tensor of Real.
Let y be x matmul w.
Let loss be sum of y.
"""
CELLS = {
    "setup": SETUP,
    "light": "import sys\nprint([m for m in HEAVY if m in sys.modules])",
    "gradient": f"%%logos net --grad loss --check\n{NET}Show loss.",
    "again": f"%%logos net --grad loss --check\n{NET}Show loss.",
    "mistake": f"%%logos bad\n{NET}Let z be softmx of y.",
    "after": "net",
    "missing": "%%logos\nLet q be a 2 by 3 tensor of Real.\nLet r be a 1 by 3 tensor of Int.\n"
    "Let s be sum of q.\nShow r.",
    "option": f"%%logos --grd loss\n{NET}",
    "endless": "%%logos --quiet\nRepeat for i from 1 to 30000:\n    Show i.",
    "no dot": "import os, sysconfig\nos.environ['PATH'] = ''\nsysconfig.get_path = lambda *a: ''",
    "undrawn": f"%%logos net --grad loss\n{NET}",
    "ops": "%logos_ops",
}
FAILING = ("mistake", "missing", "option")


@pytest.fixture(scope="module")
def executed() -> dict[str, Any]:
    """Each cell by its name, executed, as it stands in the saved notebook; "Tab" is a complete reply."""
    notebook = new_notebook(cells=[new_code_cell(source) for source in CELLS.values()])
    client = NotebookClient(notebook, timeout=120, kernel_name="python3", allow_errors=True)
    with client.setup_kernel():
        for index, cell in enumerate(notebook.cells):
            client.execute_cell(cell, index)
        code = "%%logos\nLet x be a 2 by 3 tensor of Real.\nLet y be soft"
        replies = {"Tab": completed(client, code), "messages": messages(client, CELLS["endless"])}
    saved = nbformat.reads(nbformat.writes(notebook), as_version=4)
    return dict(zip(CELLS, saved.cells)) | replies


def completed(client: NotebookClient, code: str) -> Any:
    """The kernel's reply to Tab at the end of `code`."""

    async def reply() -> Any:
        assert client.kc is not None
        return await client.kc.complete(code, len(code), reply=True, timeout=60)

    return run_sync(reply)()


def messages(client: NotebookClient, code: str) -> int:
    """How many messages of output the kernel sends while it runs `code`."""

    async def count() -> int:
        assert client.kc is not None
        request, sent = client.kc.execute(code), 0
        while True:
            message = await client.kc.get_iopub_msg(timeout=60)
            if message["parent_header"].get("msg_id") != request:
                continue
            if message["content"].get("execution_state") == "idle":
                return sent
            sent += message["msg_type"] == "stream"

    return run_sync(count)()


def errors(cell: Any) -> list[Any]:
    return [output for output in cell.outputs if output.output_type == "error"]


def texts(cell: Any) -> str:
    return "".join(
        output.get("text", "") + output.get("data", {}).get("text/plain", "")
        for output in cell.outputs
    )


def test_only_what_must_fail_fails(executed: dict[str, Any]) -> None:
    failed = [name for name in CELLS if errors(executed[name])]
    assert failed == list(FAILING), [e.traceback for n in failed for e in errors(executed[n])]


def test_loading_loads_nothing_heavy(executed: dict[str, Any]) -> None:
    assert texts(executed["light"]).strip() == "[]"


def test_an_error_is_a_sentence_the_line_and_a_caret(executed: dict[str, Any]) -> None:
    (error,) = errors(executed["mistake"])
    assert error.ename == "LogosSyntaxError"
    shown = "\n".join(error.traceback).splitlines()
    assert "line 6" in shown[0] and "did you mean `softmax of y`" in shown[0]
    assert shown[1].strip() == "Let z be softmx of y." and set(shown[2].strip()) == {"^"}
    assert len(shown) == 3


def test_missing_inputs_are_listed(executed: dict[str, Any]) -> None:
    (error,) = errors(executed["missing"])
    shown = "\n".join(error.traceback)
    assert "q: 2 by 3, Real" in shown and "r: 1 by 3, Int" in shown


def test_the_gradient_cell_twice_gives_the_same_output(executed: dict[str, Any]) -> None:
    first, second = executed["gradient"], executed["again"]
    assert first.outputs == second.outputs


def test_the_saved_notebook_holds_static_html(executed: dict[str, Any]) -> None:
    for name in ("gradient", "after", "ops"):
        bundles = [o.data for o in executed[name].outputs if "data" in o]
        assert bundles and all(set(b) >= {"text/plain", "text/html"} for b in bundles)
        assert all("<script" not in b["text/html"] for b in bundles)
        assert all("widget" not in kind for b in bundles for kind in b)


def test_show_streams_and_is_capped(executed: dict[str, Any]) -> None:
    text = texts(executed["endless"])
    assert text.startswith("1\n2\n") and text.count("\n") < 20_000
    assert "the rest is left out" in text


def test_show_sends_fewer_messages_than_the_server_lets_through(executed: dict[str, Any]) -> None:
    """It passes 1000 a second on and drops the rest, also the one that says that the cell is done."""
    assert 1 <= executed["messages"] < 500


def test_without_dot_the_graph_is_there_as_text(executed: dict[str, Any]) -> None:
    (bundle,) = [o.data for o in executed["undrawn"].outputs if "data" in o]
    assert "<img" not in bundle["text/html"]
    assert "graphviz-pure" in bundle["text/html"] and "Matmul" in bundle["text/html"]


def test_tab_through_the_kernel(executed: dict[str, Any]) -> None:
    content = executed["Tab"]["content"]
    assert content["matches"] == ["softmax of "]
    assert content["cursor_end"] - content["cursor_start"] == len("soft")


@pytest.mark.parametrize("name", ["gradient", "mistake"])
def test_nbconvert_exits_with_the_cells_fate(tmp_path: Path, name: str) -> None:
    notebook = new_notebook(cells=[new_code_cell(SETUP), new_code_cell(CELLS[name])])
    nbformat.write(notebook, tmp_path / "a.ipynb")
    command = [sys.executable, "-m", "nbconvert", "--to", "html", "--execute", "a.ipynb"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=os.environ)
    assert (ran.returncode == 0) == (name not in FAILING), ran.stderr
    if name in FAILING:
        assert "line 6" in ran.stderr
    else:
        assert "backward, derived" in (tmp_path / "a.html").read_text()
