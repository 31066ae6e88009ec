"""Attention in blocks: every form held against the interpreter, at sizes that cross the blocks."""

from __future__ import annotations

import numpy as np
import pytest
from test_kernels import agree

import logosnb
from logosnb.kernels.attention import Attend, AttendBackward
from logosnb.kernels.plan import planned
from logosnb.running import derivation

FORMS = [
    "",
    " from position 1",
    " from position 4",
    " from position 1 within a window of 7",
    " from position 2 within chunks of 50",
    " softcapped at 3.0",
    " from position 1 scaled by 0.5",
    " from position 3 softcapped at 2 within a window of 140",
]


def program(rows: int, keys: int, form: str, sinks: bool) -> logosnb.Program:
    end = " with sinks s" if sinks else ""
    declared = "Let s be a 1 by 4 tensor of Real.\n" if sinks else ""
    return logosnb.parse(
        f"Let q be a {rows} by 12 tensor of Real.\nLet k be a {keys} by 6 tensor of Real.\n"
        f"Let v be a {keys} by 10 tensor of Real.\n{declared}"
        f"Let y be attention of q over k and v across 4 heads sharing 2 key heads{form}{end}.\n"
    )


def values(of: logosnb.Program, seed: int = 0) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    return {name: random.normal(size=of.shapes[name]) for name in of.inputs}


def held(of: logosnb.Program, given: dict[str, np.ndarray], wrt: list[str], dtype: str) -> None:
    cotangent = np.random.default_rng(1).normal(size=of.shapes["y"])
    how = {"of": "y", "wrt": wrt, "cotangent": cotangent}
    with np.errstate(all="ignore"):
        expected = logosnb.grad(of, given, **how)
        found = logosnb.grad(of, given, **how, backend="cpu", dtype=dtype)
    pairs = [(found.value, expected.value)]
    pairs += [(found.grads[name], expected.grads[name]) for name in wrt]
    for mine, theirs in pairs:
        np.testing.assert_array_equal(np.isnan(mine), np.isnan(theirs))
        agree(mine, theirs, dtype)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("sinks", [False, True], ids=["", "sinks"])
def test_every_form_across_blocks(form: str, sinks: bool) -> None:
    of = program(140, 300, form, sinks)
    held(of, values(of), list(of.inputs), "f64")
    derived = derivation(of, "y", tuple(of.inputs))[0].program
    tasks = [kernel.task for kernel in planned(derived, "f64").kernels]
    assert sum(isinstance(task, AttendBackward) for task in tasks) == 1
    assert sum(isinstance(task, Attend) for task in tasks) == 1, "its y and sums are shared"


def test_f32() -> None:
    of = program(140, 300, " from position 1 softcapped at 3.0", True)
    held(of, values(of), list(of.inputs), "f32")


@pytest.mark.parametrize("wrt", [["q"], ["k"], ["v"], ["s"], ["v", "s"], ["q", "k"]])
def test_some_gradients_alone(wrt: list[str]) -> None:
    of = program(20, 30, " from position 1", True)
    held(of, values(of), wrt, "f64")


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["q", "k", "v"])
def test_what_is_not_finite_reaches_what_attends_it_and_nothing_else(name: str, bad: float) -> None:
    """C07: nothing is poisoned through 0 · NaN."""
    of = program(20, 30, " from position 1", True)
    given = values(of)
    given[name][12, 3] = bad
    held(of, given, list(of.inputs), "f64")


def test_the_loops_of_the_rule_are_recognised_when_a_student_types_them() -> None:
    of = program(6, 9, " from position 2", False)
    cotangent = "Let dy be a 6 by 20 tensor of Real.\n"
    rule = logosnb.backward(cotangent + str(of), "y", "dy", ["q", "k", "v"]).source
    declared = "".join(line for line in str(of).splitlines(True) if "tensor of" in line)
    for old, new in (("row", "zeile"), ("head", "kopf"), ("largest", "top"), ("g_q", "mine")):
        rule = rule.replace(old, new)
    typed = logosnb.parse(cotangent + declared + rule)
    kinds = [type(kernel.task) for kernel in planned(typed, "f64").kernels]
    assert AttendBackward in kinds
    given = {n: np.random.default_rng(0).normal(size=typed.shapes[n]) for n in typed.inputs}
    expected, found = logosnb.run(typed, given), logosnb.run(typed, given, backend="cpu")
    for name in ("mine", "g_k", "g_v"):
        agree(found[name], expected[name], "f64")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("weight * distance", "weight * weight"),
        ("(head - 1) / 2 + 1", "(head - 1) / 2 + 2 - 1"),
        ("slope != 0.0", "slope != 1.0"),
        ("+ slope * (item at_k of k)", "- slope * (item at_k of k)"),
    ],
)
def test_loops_that_differ_anywhere_are_not_taken_for_the_rule(old: str, new: str) -> None:
    of = program(6, 9, " from position 2", False)
    cotangent = "Let dy be a 6 by 20 tensor of Real.\n"
    rule = logosnb.backward(cotangent + str(of), "y", "dy", ["q", "k", "v"]).source
    declared = "".join(line for line in str(of).splitlines(True) if "tensor of" in line)
    assert old in rule
    changed = logosnb.parse(cotangent + declared + rule.replace(old, new))
    kinds = [type(kernel.task) for kernel in planned(changed, "f64").kernels]
    assert AttendBackward not in kinds
    given = {n: np.random.default_rng(0).normal(size=changed.shapes[n]) for n in changed.inputs}
    expected, found = logosnb.run(changed, given), logosnb.run(changed, given, backend="cpu")
    for name in ("g_q", "g_k", "g_v"):
        agree(found[name], expected[name], "f64")


def test_a_forward_whose_operands_changed_since_does_not_serve_the_backward() -> None:
    text = str(program(6, 9, " from position 2", False))
    rule = logosnb.backward("Let dy be a 6 by 20 tensor of Real.\n" + text, "y", "dy", ["q"]).source
    changed = logosnb.parse(
        f"Let dy be a 6 by 20 tensor of Real.\n{text}Set item 1 of y to 5.0.\n" + rule
    )
    given = {n: np.random.default_rng(0).normal(size=changed.shapes[n]) for n in changed.inputs}
    expected, found = logosnb.run(changed, given), logosnb.run(changed, given, backend="cpu")
    agree(found["g_q"], expected["g_q"], "f64")
