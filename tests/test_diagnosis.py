"""What `diagnose` finds: each kind of fault planted in a small program, and none where there is none."""

from __future__ import annotations

import numpy as np

import logosnb
from logosnb.diagnosis.diagnose import diagnose
from logosnb.diagnosis.finding import Diagnosis, Observed
from logosnb.notebook.diagnosis import Panel

HEAD = """\
Let x be a 8 by 4 tensor of Real.
Let w be a 4 by 4 tensor of Real.
"""


def diagnosed(text, inputs, of="loss", backend="interpreter", dtype=None, **more) -> Diagnosis:
    found = logosnb.grad(text, inputs, of=of, backend=backend, dtype=dtype, **more)
    program = logosnb.parse(text)
    return diagnose(Observed(program, found.result, inputs, found.backward, of))


def kinds(found: Diagnosis) -> set[str]:
    return {finding.kind for finding in found}


def random(seed: int = 3) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(seed)
    return {"x": generator.normal(size=(8, 4)), "w": generator.normal(size=(4, 4))}


def test_a_sound_network_has_no_findings() -> None:
    text = HEAD + "Let h be gelu of (x matmul w).\nLet loss be mean of h.\n"
    found = diagnosed(text, random())
    assert not len(found), str(found)
    assert str(found) == "nothing found that looks wrong"


def test_the_first_nan_is_named_with_the_operands_that_made_it() -> None:
    inputs = random()
    inputs["x"][2, 1] = -3.0
    text = HEAD + "Let l be logarithm of x.\nLet z be l matmul w.\nLet loss be sum of z.\n"
    (finding,) = [f for f in diagnosed(text, inputs) if f.kind == "not finite"]
    first = tuple(np.argwhere(inputs["x"] <= 0)[0] + 1)
    assert (finding.tensor, finding.line) == ("l", 3)
    assert f"row {first[0]}, column {first[1]}" in finding.seen
    assert f"x = {inputs['x'][first[0] - 1, first[1] - 1]:.4g} there" in finding.seen


def test_a_gradient_that_alone_is_lost_is_found_in_the_backward() -> None:
    inputs = {"x": np.abs(random()["x"]), "w": np.ones((4, 4))}
    inputs["x"][1, 2] = 1e-310
    text = HEAD + "Let s be logarithm of x.\nLet z be s matmul w.\nLet loss be sum of z.\n"
    found = diagnosed(text, inputs)
    assert "not finite" not in kinds(found)
    (finding,) = found.of("not finite, backward")
    assert finding.line == 3 and "row 2, column 3" in finding.seen
    assert "the rule of Log" in finding.seen and "x = 1e-310 there" in finding.seen
    assert "of the backward, `Set item k of g_x to" in finding.seen


def test_a_mask_of_infinities_is_no_fault_and_a_row_masked_whole_is() -> None:
    inputs = random()
    inputs["x"][:, 3] = -np.inf
    text = HEAD + "Let p be softmax of x.\nLet z be p matmul w.\nLet loss be sum of z.\n"
    assert not kinds(diagnosed(text, inputs)) & {"not finite", "masked row"}
    inputs["x"][5] = -np.inf
    (finding,) = diagnosed(text, inputs).of("masked row")
    assert "row 6" in finding.seen and finding.line == 3


def test_an_infinity_that_an_op_makes_of_finite_numbers_is_found() -> None:
    inputs = random()
    inputs["x"][0, 0] = 800.0
    text = HEAD + "Let e be exponential of x.\nLet z be e matmul w.\nLet loss be sum of z.\n"
    (finding,) = diagnosed(text, inputs).of("not finite")
    assert finding.tensor == "e" and "x = 800 there" in finding.seen


def test_nan_among_the_inputs_is_told_as_such() -> None:
    inputs = random()
    inputs["w"][1, 1] = np.nan
    text = HEAD + "Let z be x matmul w.\nLet loss be sum of z.\n"
    (finding,) = diagnosed(text, inputs).of("not finite")
    assert finding.tensor == "w" and "row 2, column 2" in finding.seen


def deep(op: str, layers: int) -> str:
    lines, last = [], "x"
    for n in range(1, layers + 1):
        lines += [f"Let z{n} be {last} matmul w.", f"Let h{n} be {op} z{n}."]
        last = f"h{n}"
    return HEAD + "\n".join([*lines, f"Let loss be mean of {last}."]) + "\n"


def test_vanishing_and_exploding_gradients_are_told_with_the_stage_that_does_most() -> None:
    inputs = random()
    (shrunk,) = diagnosed(deep("sigmoid of", 8), inputs).of("vanishing gradient")
    assert "relu or gelu" in shrunk.advice and "×" in shrunk.seen
    grown = diagnosed(deep("copy of", 8), inputs | {"w": 10 * inputs["w"]})
    assert kinds(grown) == {"exploding gradient"}
    (finding,) = grown
    assert "Matmul" in finding.seen and "smaller weights" in finding.advice


def test_dead_and_saturated_units_are_counted() -> None:
    inputs = {"x": np.abs(random()["x"]), "w": np.ones((4, 4))}
    inputs["w"][:, 1] = -1.0
    text = HEAD + "Let h be relu of (x matmul w).\nLet loss be mean of h.\n"
    (dead,) = diagnosed(text, inputs).of("dead units")
    assert "1 of 4 unit (column 2)" in dead.seen and dead.line == 3
    inputs["w"][:, 2] = 40.0
    text = HEAD + "Let h be tanh of (x matmul w).\nLet loss be mean of h.\n"
    (flat,) = diagnosed(text, inputs).of("saturated units")
    assert "column" in flat.seen and "3" in flat.seen


def test_ties_are_told() -> None:
    inputs = random()
    inputs["x"][4] = [1, 2, 2, 0]
    text = HEAD + "Let i be argmax of x.\nLet z be x matmul w.\nLet loss be sum of z.\n"
    (finding,) = diagnosed(text, inputs).of("tie")
    assert "first row 5" in finding.seen and finding.tensor == "i"


def test_zero_gradients_are_told_apart() -> None:
    text = HEAD + "Let h be relu of x.\nLet z be h scaled by 0.5.\nLet loss be sum of z.\n"
    inputs = random()
    found = diagnosed(text, inputs | {"x": -np.abs(inputs["x"])}, wrt=("x", "w"))
    (cut,) = found.of("zero gradient: disconnected")
    assert cut.tensor == "w"
    (exact,) = found.of("zero gradient: exactly zero")
    assert exact.tensor == "x" and "Relu passes none of it on to x" in exact.seen
    tiny = "Let t be x scaled by 1e-30.\nLet loss be sum of (t scaled by 1e-30).\n"
    small = diagnosed(HEAD + tiny, inputs, backend="cpu", dtype="f32")
    (under,) = small.of("zero gradient: underflow")
    assert under.tensor == "x" and "1e-60" in under.seen


def test_the_panel_is_text_and_html_that_says_the_same() -> None:
    inputs = random()
    inputs["w"][1, 1] = np.nan
    text = HEAD + "Let z be x matmul w.\nLet loss be sum of z.\n"
    panel = Panel(diagnosed(text, inputs).findings)
    bundle = panel._repr_mimebundle_()
    for finding in panel:
        assert finding.tensor in bundle["text/plain"] and finding.tensor in bundle["text/html"]
    assert "<script" not in bundle["text/html"]
