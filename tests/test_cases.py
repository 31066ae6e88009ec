"""Faults that people reported of tools that do this job, each as the LOGOS program that says the same.

The ids are those of the project's list of public reports; where a case was reported is in its name.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import logosnb

inf, nan = np.inf, np.nan


def declared(**shapes: str) -> str:
    return "".join(f"Let {name} be a {shape}.\n" for name, shape in shapes.items())


def gradient(text: str, inputs: dict, of: str, **options):
    return logosnb.grad(text, inputs, of=of, **options)


NORM = declared(x="1 by 3 tensor of Real") + (
    "Let q be square of x.\nLet s be sum of q.\nLet n be square root of s.\n"
)


def test_c03_the_norm_of_the_zero_vector_has_gradient_zero() -> None:
    assert_allclose(gradient(NORM, {"x": [3, 4, 0]}, "n").grads["x"], [[0.6, 0.8, 0.0]])
    assert_allclose(gradient(NORM, {"x": [0, 0, 0]}, "n").grads["x"], [[0.0, 0.0, 0.0]])


def test_c04_the_deviation_of_a_constant_has_a_gradient() -> None:
    def text(columns: int) -> str:
        return declared(x=f"1 by {columns} tensor of Real") + (
            "Let m be mean of x.\nLet d be x minus m.\nLet q be square of d.\n"
            "Let v be mean of q.\nLet s be square root of v.\n"
        )

    assert_allclose(gradient(text(2), {"x": [1, 3]}, "s").grads["x"], [[-0.5, 0.5]])
    one = gradient(text(1), {"x": [-0.83]}, "s")
    assert one.value == [[0.0]] and np.isfinite(one.grads["x"]).all()


def cross_entropy(rows: int, columns: int) -> str:
    return declared(z=f"{rows} by {columns} tensor of Real", t=f"{rows} by 1 tensor of Int") + (
        "Let loss be cross entropy of z with targets t.\n"
    )


def test_c05_cross_entropy_at_large_logits() -> None:
    found = gradient(cross_entropy(1, 3), {"z": [-431, 279, 427], "t": 1}, "loss")
    assert_allclose(found.value, [[858.0]])
    assert_allclose(found.grads["z"], [[-1.0, 5.3e-65, 1.0]], rtol=0.02)


def test_c06_softmax_of_very_negative_rows() -> None:
    text = declared(x="1 by 2 tensor of Real") + "Let y be softmax of x.\n"
    found = gradient(text, {"x": [-1e4, -1e4]}, "y", cotangent=[[1.0, 0.0]])
    assert_allclose(found.value, [[0.5, 0.5]])
    assert_allclose(found.grads["x"], [[0.25, -0.25]])


def test_c07_a_fully_masked_row_poisons_nothing() -> None:
    """Stated: a row of −infinity alone softmaxes to zeros, with gradient zero."""
    text = declared(s="2 by 2 tensor of Real", v="2 by 1 tensor of Real") + (
        "Let p be softmax of s.\nLet out be p matmul v.\n"
    )
    given = {"s": [[1, 2], [-inf, -inf]], "v": [[1.0], [3.0]]}
    found = gradient(text, given, "out", cotangent=[[1.0], [0.0]])
    assert_allclose(found.value, [[2.46211716], [0.0]])
    assert_allclose(found.grads["v"], [[0.26894142], [0.73105858]])
    assert np.isfinite(found.grads["s"]).all()


def test_c08_log_sum_exp_of_huge_and_of_no_logits() -> None:
    found = gradient(cross_entropy(1, 2), {"z": [1000, 1000], "t": 1}, "loss")
    assert_allclose(found.value, [[0.693147181]])
    assert_allclose(found.grads["z"], [[-0.5, 0.5]])
    none = gradient(cross_entropy(1, 2), {"z": [-inf, -inf], "t": 1}, "loss")
    assert not np.isnan(none.value).any() and not np.isnan(none.grads["z"]).any()


@pytest.mark.parametrize("op", ["relu of x", "leaky square of x"])
def test_c09_the_slope_at_zero_is_stated(op: str) -> None:
    text = declared(x="1 by 3 tensor of Real") + f"Let y be {op}.\n"
    slopes = gradient(text, {"x": [-1, 0, 1]}, "y", cotangent=np.ones((1, 3))).grads["x"]
    assert_allclose(slopes, [[0, 0, 1]] if "relu" in op else [[-0.5, 0, 2]])


def test_c12_repeated_rows_add_up() -> None:
    text = declared(w="3 by 1 tensor of Real", i="3 by 1 tensor of Int") + "Let y be rows i of w.\n"
    given = {"w": np.ones((3, 1)), "i": [[2], [2], [1]]}
    found = gradient(text, given, "y", cotangent=[[1.0], [10.0], [100.0]])
    assert_allclose(found.grads["w"], [[100.0], [11.0], [0.0]])


def test_c13_a_row_that_is_not_there() -> None:
    text = declared(w="3 by 1 tensor of Real", i="2 by 1 tensor of Int") + "Let y be rows i of w.\n"
    with pytest.raises(logosnb.LogosRuntimeError) as error:
        logosnb.run(text, {"w": np.ones((3, 1)), "i": [[1], [4]]})
    assert error.value.line == 3
    assert all(word in str(error.value) for word in ("`i`", "element 2", "4", "`w`", "3 rows"))


def test_c14_gelu_is_the_tanh_form() -> None:
    text = declared(x="1 by 1 tensor of Real") + "Let y be gelu of x.\n"
    found = gradient(text, {"x": 1.0}, "y")
    assert_allclose(found.value, [[0.841191991]], rtol=1e-8)
    assert_allclose(found.grads["x"], [[1.082964084]], rtol=1e-8)


def test_c15_epsilon_stands_inside_the_root() -> None:
    text = declared(x="1 by 4 tensor of Real") + "Let y be layernorm of x with epsilon 1e-5.\n"
    found = gradient(text, {"x": [1, 1, 1, 1]}, "y", cotangent=[[1.0, 0.0, 0.0, 0.0]])
    assert_allclose(found.value, np.zeros((1, 4)))
    assert_allclose(found.grads["x"], [[237.170825, *[-79.056942] * 3]], rtol=1e-6)


def test_c16_rope_turns_pairs_half_a_head_apart() -> None:
    text = declared(
        q="1 by 4 tensor of Real", c="1 by 2 tensor of Real", s="1 by 2 tensor of Real"
    ) + ("Let y be rope of q with cos c and sin s.\n")
    angles = np.array([1.0, 1.0 / 100.0])
    given = {"q": [1, 2, 3, 4], "c": np.cos(angles), "s": np.sin(angles)}
    y = logosnb.run(text, given)["y"]
    assert_allclose(y, [[-1.984110649, 1.959900667, 2.462377902, 4.019799668]], rtol=1e-8)
    assert_allclose((y**2).sum(), 30.0)


def test_c17_query_heads_share_key_heads_in_groups() -> None:
    text = declared(
        q="1 by 4 tensor of Real", k="1 by 2 tensor of Real", v="1 by 2 tensor of Real"
    ) + ("Let y be attention of q over k and v across 4 heads sharing 2 key heads.\n")
    given = {"q": np.ones(4), "k": np.ones(2), "v": [10.0, 20.0]}
    found = gradient(text, given, "y", cotangent=[[1.0, 2.0, 4.0, 8.0]])
    assert_allclose(found.value, [[10, 10, 20, 20]])
    assert_allclose(found.grads["v"], [[3.0, 12.0]])


def attended(rows: int, keys: int, clauses: str) -> np.ndarray:
    """Which keys each row attends: the weights over one-hot values, where they are not zero."""
    text = declared(
        q=f"{rows} by 1 tensor of Real",
        k=f"{keys} by 1 tensor of Real",
        v=f"{keys} by {keys} tensor of Real",
    ) + (f"Let y be attention of q over k and v across 1 head {clauses}.\n")
    given = {"q": np.ones((rows, 1)), "k": np.ones((keys, 1)), "v": np.eye(keys)}
    return (logosnb.run(text, given)["y"] > 0).astype(int)


def test_c18_the_causal_mask_ends_at_the_last_key() -> None:
    assert attended(2, 5, "from position 4").tolist() == [[1, 1, 1, 1, 0], [1, 1, 1, 1, 1]]
    assert attended(1, 5, "from position 5").tolist() == [[1, 1, 1, 1, 1]]
    assert attended(3, 3, "from position 1").tolist() == np.tri(3, dtype=int).tolist()


def test_c19_a_window_counts_the_row_itself() -> None:
    seen = attended(6, 6, "from position 1 within a window of 3")
    assert seen.sum(axis=1).tolist() == [1, 2, 3, 3, 3, 3]
    assert seen[5].tolist() == [0, 0, 0, 1, 1, 1]


def test_c21_a_causal_convolution_sees_no_future() -> None:
    text = declared(x="4 by 1 tensor of Real", w="1 by 3 tensor of Real") + (
        "Let y be causal convolution of x with kernel w.\n"
    )
    given = {"x": [[1], [2], [3], [4]], "w": [1, 10, 100]}
    assert logosnb.run(text, given)["y"].ravel().tolist() == [100, 210, 321, 432]
    try:
        found = gradient(text, given, "y", cotangent=np.ones((4, 1)))
    except logosnb.NotDerived:
        return
    assert found.grads["x"].ravel().tolist() == [111, 111, 110, 100]
    assert found.grads["w"].tolist() == [[3, 6, 10]]


def test_c20_experts_are_chosen_apart_and_weighted_by_their_shares() -> None:
    """Expert e gives silu(x gₑ) ⊙ (x uₑ) dₑ; with x = 1 and dₑ set so that it gives 1, 5, 9."""
    text = declared(
        x="1 by 1 tensor of Real",
        r="1 by 3 tensor of Real",
        g="3 by 1 tensor of Real",
        u="3 by 1 tensor of Real",
        d="3 by 1 tensor of Real",
    ) + (
        "Let y be mixture of x with router r and gates g and ups u and downs d "
        "choosing 2 of 3 experts.\n"
    )
    one = 1 / (1 + np.exp(-1.0))
    given = {"x": 1.0, "g": np.ones((3, 1)), "u": np.ones((3, 1))}
    given["d"] = np.array([[1.0], [5.0], [9.0]]) / one
    assert_allclose(logosnb.run(text, {**given, "r": [2, 1, 0]})["y"], [[2.075766]], rtol=1e-6)
    tied = logosnb.run(text, {**given, "r": [1, 1, 1]})["y"]
    assert_allclose(tied, [[3.0]])  # the first two experts, half each
    try:
        found = gradient(text, {**given, "r": [2, 1, 0]}, "y")
    except logosnb.NotDerived:
        return
    assert_allclose(found.grads["r"], [[-0.786448, 0.786448, 0.0]], rtol=1e-5)


def test_c23_a_target_that_is_no_class() -> None:
    with pytest.raises(logosnb.LogosRuntimeError) as error:
        logosnb.run(cross_entropy(2, 3), {"z": np.zeros((2, 3)), "t": [[1], [4]]})
    assert error.value.line == 3
    assert all(word in str(error.value) for word in ("`t`", "element 2", "4", "3"))


def test_c24_the_loss_is_the_mean_over_rows() -> None:
    found = gradient(cross_entropy(1, 4), {"z": [1.1, 2.2, 0.3, -1.7], "t": 3}, "loss")
    assert_allclose(found.value, [[2.307251]], rtol=1e-6)
    assert_allclose(found.grads["z"], [[0.221518, 0.665477, -0.900466, 0.013471]], rtol=1e-4)


def test_c26_subnormals_are_kept() -> None:
    text = (
        declared(x="1 by 2 tensor of Real") + "Let y be relu of x.\nLet z be x scaled by 1e300.\n"
    )
    found = gradient(text, {"x": [1e-310, -1e-310]}, "y", cotangent=np.ones((1, 2)))
    assert found.grads["x"].tolist() == [[1.0, 0.0]]
    assert_allclose(logosnb.run(text, {"x": [1e-310, 0]})["z"][0, 0], 1e-10)


def test_c45_a_saturated_sigmoid_keeps_its_gradient_as_a_cross_entropy() -> None:
    """−log σ(x) is the cross entropy of the logits x and 0."""
    for x in (-50.0, -1000.0):
        found = gradient(cross_entropy(1, 2), {"z": [x, 0.0], "t": 1}, "loss")
        assert_allclose(found.value, [[-x]])
        assert_allclose(found.grads["z"][0, 0], -1.0)
