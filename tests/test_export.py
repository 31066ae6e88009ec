"""A session's exports: pictures, the report, programs, and the files that hold them."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest
from numpy.testing import assert_allclose

import logosnb
from logosnb.notebook.cell import run_cell
from logosnb.notebook.options import read_options
from logosnb.notebook.session import Session

TEXT = """\
Let x be a 3 by 4 tensor of Real.
Let w be a 4 by 2 tensor of Real.
Let t be a 3 by 1 tensor of Int.
Let y be relu of (x matmul w).
Let loss be cross entropy of y with targets t.
Show loss.
"""


def session(options: str = "net --grad loss", text: str = TEXT) -> Session:
    generator = np.random.default_rng(4)
    given = {"x": generator.normal(size=(3, 4)), "w": generator.normal(size=(4, 2))}
    return run_cell(text, 2, read_options(options), given | {"t": [[1], [2], [1]]}, lambda _: None)


@pytest.mark.parametrize("form", ["numpy", "torch", "jax"])
def test_a_written_file_runs_alone_and_gives_the_gradient(form, tmp_path) -> None:
    if form != "numpy" and find_spec(form) is None:
        pytest.skip(f"{form} is not installed")
    made = session()
    file = made.save(tmp_path / "net.py", form)
    ran = subprocess.run([sys.executable, "-I", str(file)], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    scope: dict = {"__name__": "exported"}
    exec(compile(file.read_text(), "net.py", "exec"), scope)
    found = scope["gradient"](made["x"], made["w"], made["t"], [[1.0]])
    for name, wanted in made.grads.items():
        assert_allclose(np.asarray(found[name]), wanted, rtol=1e-9, atol=1e-14)


def test_the_logos_file_is_the_derived_program(tmp_path) -> None:
    made = session()
    text = made.save(tmp_path / "net.lg").read_text()
    given = {name: made[name] for name in logosnb.parse(text).inputs}
    again = logosnb.run(text, given)
    assert_allclose(again[made.backward.grads["w"]], made.grads["w"])


def test_pictures(tmp_path) -> None:
    made = session()
    assert made.save(tmp_path / "g.png").read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in made.save(tmp_path / "g.svg").read_bytes()
    assert "CrossEntropy" in str(made.export("dot"))


def test_the_report_needs_nothing_from_elsewhere() -> None:
    page = str(session().export("html"))
    assert page.startswith("<!doctype html>") and "data:image/svg+xml;base64," in page
    assert not re.findall(r"<script|<link|@import|https?://", page)
    assert "what is wrong" in page and "cross entropy" in page


def test_a_session_without_a_gradient_exports_its_forward() -> None:
    made = session("net")
    scope: dict = {"__name__": "exported"}
    exec(compile(str(made.export("numpy")), "net.py", "exec"), scope)
    found = scope["gradient"](made["x"], made["w"], made["t"])
    assert_allclose(found["loss"], made["loss"])
    with pytest.raises(logosnb.LogosError, match="computed no gradient"):
        made.export("torch")


def test_what_cannot_be_exported_is_said(tmp_path) -> None:
    made = session()
    with pytest.raises(logosnb.LogosError, match="no export `nmpy`; there is numpy"):
        made.export("nmpy")
    with pytest.raises(logosnb.LogosError, match=r"`a.xyz` has an ending of no export"):
        made.save(tmp_path / "a.xyz")
    functions = "## Main\nLet y be f(2).\n## To f (a: Int) -> Int:\n    Return a + 1.\n"
    with pytest.raises(logosnb.LogosError, match="the function `f` has no place"):
        session("net", functions).export("numpy")
