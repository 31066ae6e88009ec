"""Two runs side by side: f64 and f32, interpreter and cpu, before and after a change."""

from __future__ import annotations

import numpy as np
import pytest

import logosnb
from logosnb.notebook.cell import run_cell
from logosnb.notebook.options import read_options
from logosnb.notebook.session import Session

TEXT = """\
Let x be a 3 by 4 tensor of Real.
Let w be a 4 by 2 tensor of Real.
Let z be x matmul w.
Let y be tanh of z.
Let loss be mean of y.
"""


def session(text: str = TEXT, options: str = "--grad loss", **more) -> Session:
    generator = np.random.default_rng(4)
    given = {"x": generator.normal(size=(3, 4)), "w": generator.normal(size=(4, 2))} | more
    return run_cell(text, 2, read_options(options), given, lambda _: None)


def test_backends_agree_in_f64_and_part_in_f32() -> None:
    made = session()
    same = made.compare(backend="cpu")
    assert same.first is None and same.differences
    assert {d.tensor for d in same.differences if d.what == "gradient"} >= {"x", "w", "z"}
    apart = made.compare(backend="cpu", dtype="f32")
    assert apart.first is None and apart.tolerance == 1e-4
    strict = made.compare(backend="cpu", dtype="f32", tolerance=1e-12)
    assert strict.first is not None and 0 < strict.first.amount < 1e-6
    assert f"first differ by more than 1e-12 in the value of {strict.first.tensor}" in str(strict)


def test_before_and_after_a_change_first_differ_where_it_was_made() -> None:
    before = session()
    after = session(TEXT.replace("tanh of z", "sigmoid of z"))
    found = after.compare(before)
    assert found.first is not None
    assert (found.first.tensor, found.first.what, found.first.line) == ("y", "value", 5)
    worst = np.abs(after["y"] - before["y"])
    row, column = found.first.element
    assert worst[row - 1, column - 1] == worst.max()
    assert "penwidth=3" in found.dot() and "value ≠" in found.dot()
    bundle = found._repr_mimebundle_()
    assert "first differ" in bundle["text/html"] and "<script" not in bundle["text/html"]


def test_a_nan_in_one_run_alone_is_an_infinite_difference_and_in_both_none() -> None:
    clean = session()
    holed = session(x=np.full((3, 4), np.nan))
    assert holed.compare(clean).first.amount == np.inf
    assert holed.compare(holed).first is None


def test_what_only_one_run_has_is_named() -> None:
    wide = TEXT.replace("4 by 2", "4 by 3")
    other = session(wide, w=np.ones((4, 3)))
    found = session().compare(other)
    assert "w" in found.alone and "z" in found.alone
    assert "not in both, or of another shape" in str(found)
    with pytest.raises(logosnb.LogosError, match="no backend"):
        session().compare(backend="gpu")
