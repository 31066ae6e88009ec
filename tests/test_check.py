"""The gradient checker, itself checked: it accepts what is right and rejects what is a little wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from checked import check

import logosnb
from logosnb.ops.table import TABLE

NET = """Let x be a 4 by 3 tensor of Real.
Let w be a 3 by 3 tensor of Real.
Let t be a 4 by 1 tensor of Int.
Let z be x matmul w.
Let s be tanh of z.
Let loss be cross entropy of s with targets t.
"""


def given() -> dict[str, np.ndarray]:
    random = np.random.default_rng(3)
    return {
        "x": random.normal(size=(4, 3)),
        "w": random.normal(size=(3, 3)),
        "t": np.array([[1], [3], [2], [3]]),
    }


def test_a_right_gradient_agrees() -> None:
    report = check(NET, given(), of="loss")
    assert report.ok and {row.tensor for row in report.rows} == {"x", "w"}
    assert "agrees" in str(report) and "seed 0" in str(report)
    assert report.worst.error < 1e-7


@pytest.mark.parametrize("op", ["Tanh", "CrossEntropy", "Matmul"])
def test_a_rule_wrong_by_a_thousandth_is_rejected(op: str, monkeypatch) -> None:
    """Each rule's result is scaled by 1.001 after it is bound."""
    wrong = {}
    for key, text in TABLE[op].adjoint.items():
        spoilt = "\n".join(
            f"Let spoilt_{hole} be {{d{hole}}} scaled by 1.001." for hole in key.split()
        )
        renamed = text
        for hole in key.split():
            renamed = renamed.replace(f"{{d{hole}}}", f"right_{hole}")
            spoilt = spoilt.replace(
                f"Let spoilt_{hole} be {{d{hole}}}", f"Let {{d{hole}}} be right_{hole}"
            )
        wrong[key] = _dedented(renamed) + "\n" + spoilt
    monkeypatch.setitem(TABLE, op, replace(TABLE[op], adjoint=wrong))
    from logosnb.ops import table

    table._wordings.cache_clear()
    try:
        report = check(logosnb.parse(NET), given(), of="loss", wrt=["w"])
    finally:
        table._wordings.cache_clear()
    if op == "Matmul" or "w" in {row.tensor for row in report.rows}:
        assert not report.ok
        assert "off by factor 1.001" in report.rows[0].verdict


def _dedented(text: str) -> str:
    import textwrap

    return textwrap.dedent(text).strip("\n")


def claimed(change) -> str:
    right = logosnb.grad(NET, given(), of="loss").grads["w"]
    report = check(NET, given(), of="loss", cotangent=[[1.0]], claims={"w": change(right)})
    assert report.ok == (change(right) is right)
    return report.rows[0].verdict


def test_the_kind_of_error_is_named() -> None:
    """C24: a gradient that forgets to divide by the four rows is off by factor 4."""
    assert claimed(lambda g: g) == "agrees"
    assert claimed(lambda g: -g) == "wrong sign"
    assert claimed(lambda g: 4 * g) == "off by factor 4"
    assert claimed(lambda g: g / 4) == "off by factor 1/4"
    assert claimed(lambda g: g.T.copy()) == "transposed"
    missing = claimed(lambda g: g + np.eye(3))
    assert missing == "a term is missing or wrong (right in 6 of 9 elements)"


def test_a_claim_may_be_a_tensor_that_the_program_computes() -> None:
    """A student's own backward, typed below the forward."""
    text = NET + "Let mine be w scaled by 2.\n"
    report = check(text, given(), of="loss", claims={"w": "mine"})
    assert not report.ok


def test_at_a_kink_the_stated_side_is_accepted_and_said() -> None:
    text = "Let x be a 1 by 2 tensor of Real.\nLet y be relu of x.\n"
    report = check(text, {"x": [0.0, 1.0]}, of="y", cotangent=[[1.0, 1.0]])
    assert report.ok and "kink" in report.rows[0].verdict


def test_the_random_cotangent_sees_what_all_ones_hide() -> None:
    """C43: Σ softmax is constant, so a zero backward passes with all ones."""
    text = "Let x be a 2 by 3 tensor of Real.\nLet y be softmax of x.\n"
    x, zeros = {"x": [[0.0, 1.0, 2.0], [1.0, 0.5, 0.0]]}, {"x": np.zeros((2, 3))}
    assert check(text, x, of="y", cotangent=np.ones((2, 3)), claims=zeros).ok
    assert not check(text, x, of="y", claims=zeros).ok


def test_not_finite_on_both_sides_is_undefined_here() -> None:
    text = "Let x be a 1 by 1 tensor of Real.\nLet y be logarithm of x.\n"
    report = check(text, {"x": [[-1.0]]}, of="y", claims={"x": [[np.nan]]})
    assert report.rows[0].verdict == "undefined here: not finite on both sides"


# ---- where differences are hard to measure --------------------------------------------------------

ONE = "Let x be a 1 by 2 tensor of Real.\n"


@pytest.mark.parametrize(
    ("phrase", "x"),
    [
        ("relu of x", [3.3e-4, 2.0]),
        ("relu of x", [-3.3e-4, 1e-6]),
        ("logarithm of x", [1e-4, 2.0]),
        ("logarithm of x", [1e-9, 2.0]),
        ("square root of x", [1e-5, 2.0]),
        ("l2norm of x with epsilon 1e-12", [1e-6, 2e-6]),
    ],
)
def test_near_a_kink_or_an_edge_a_right_rule_agrees_and_a_wrong_one_does_not(phrase, x) -> None:
    text = f"{ONE}Let y be {phrase}.\n"
    report = check(text, {"x": x}, of="y")
    assert report.ok, report
    right = logosnb.grad(text, {"x": x}, of="y", cotangent=np.ones((1, 2))).grads["x"]
    wrong = right * 1.001
    claimed = check(text, {"x": x}, of="y", cotangent=np.ones((1, 2)), claims={"x": wrong})
    assert not right.any() or not claimed.ok, claimed


def test_a_loss_that_is_not_finite_is_said_to_measure_nothing() -> None:
    report = check(ONE + "Let y be tanh of x.\n", {"x": [np.nan, 2.0]}, of="y")
    assert report.ok and report.rows[0].verdict.startswith("undefined here: the loss")


def test_one_name_stands_for_itself_in_wrt_and_backends() -> None:
    text = "Let weight be a 1 by 2 tensor of Real.\nLet y be tanh of weight.\n"
    report = logosnb.check(text, {"weight": [1, 2]}, of="y", wrt="weight", backends="interpreter")
    assert [row.tensor for row in report.rows] == ["weight"] and report.ok


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"of": "q"}, "no stage computes `q`"),
        ({"of": "y", "wrt": ["q"]}, "`q` has no shape"),
        ({"of": "y", "cotangent": [1.0, 2.0, 3.0], "claims": {"x": [1, 1]}}, "1 by 3"),
        ({"of": "y", "cotangent": "abc"}, "holds text"),
        ({"of": "y", "claims": {"q": [1, 1]}}, "`q` has no shape"),
        ({"of": "y", "claims": {"x": "g_x"}}, "`g_x`, claimed as the gradient of `x`"),
        ({"of": "y", "claims": {"x": [1, 1]}, "wrt": ["x", "y"]}, "no claim is made about `y`"),
        ({"of": "y", "wrt": ["n"]}, "tensor of Int"),
    ],
)
def test_what_cannot_be_checked_is_refused_in_words(asked, words: str) -> None:
    text = ONE + "Let n be a 1 by 2 tensor of Int.\nLet h be x plus n.\nLet y be tanh of h.\n"
    with pytest.raises(logosnb.LogosError, match=words):
        check(text, {"x": [1, 2], "n": [1, 2]}, **asked)
