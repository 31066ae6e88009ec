"""The reverse sweep: sums, un-broadcasting, refusals, overwritten values, names, origins."""

from __future__ import annotations

import re

import numpy as np
import pytest

import logosnb

HEAD = """Let x be a 2 by 3 tensor of Real.
Let r be a 1 by 3 tensor of Real.
Let ct be a 2 by 3 tensor of Real.
"""


def derive(body: str, of: str, wrt: list[str], head: str = HEAD) -> logosnb.Backward:
    return logosnb.backward(head + body, of, "ct", wrt)


def test_a_tensor_read_twice_sums_its_gradients() -> None:
    """C31: a = 1, b = a + a, c = b + b gives dc/da = 4."""
    text = "Let a be a 1 by 1 tensor of Real.\nLet b be a plus a.\nLet c be b plus b.\n"
    assert logosnb.grad(text, {"a": [[1.0]]}, of="c").grads["a"] == [[4.0]]


def test_shared_nodes_count_each_path_once() -> None:
    """C31: f = x·(xa) + x·(xa) + x²·a at x = a = 1 has df/dx = 6."""
    text = """Let x be a 1 by 1 tensor of Real.
Let a be a 1 by 1 tensor of Real.
Let p be x hadamard a.
Let q be x hadamard p.
Let s be q plus q.
Let u be square of x.
Let v be u hadamard a.
Let f be s plus v.
"""
    assert logosnb.grad(text, {"x": 1.0, "a": 1.0}, of="f").grads["x"] == [[6.0]]


@pytest.mark.parametrize(
    ("size", "over"), [("1 by 4", "column sums"), ("3 by 1", "row sums"), ("1 by 1", "sum")]
)
@pytest.mark.parametrize("op", ["plus", "minus", "hadamard"])
def test_a_broadcast_operand_is_summed_back(size: str, over: str, op: str) -> None:
    """C30: the gradient has the operand's own shape."""
    rows, columns = map(int, size.split(" by "))
    text = f"Let x be a 3 by 4 tensor of Real.\nLet b be a {size} tensor of Real.\nLet y be x {op} b.\n"
    found = logosnb.grad(
        text,
        {"x": np.ones((3, 4)), "b": np.ones((rows, columns))},
        of="y",
        cotangent=np.ones((3, 4)),
    )
    sign = -1 if op == "minus" else 1
    np.testing.assert_array_equal(
        found.grads["b"], np.full((rows, columns), sign * 12 / (rows * columns))
    )
    assert over in found.backward.source


def test_a_tensor_that_the_output_does_not_need_gets_zeros() -> None:
    found = logosnb.grad(
        HEAD + "Let y be x scaled by 2.\n",
        {"x": np.ones((2, 3))},
        of="y",
        wrt=["x", "r"],
        cotangent=np.ones((2, 3)),
    )
    np.testing.assert_array_equal(found.grads["r"], np.zeros((1, 3)))


def test_running_twice_gives_the_same_numbers_and_text() -> None:
    """C32: nothing adds up from one call to the next."""
    text = HEAD + "Let y be softmax of x.\n"
    given, ct = {"x": np.arange(6.0).reshape(2, 3)}, np.eye(2, 3)
    first = logosnb.grad(text, given, of="y", wrt="x", cotangent=ct)
    second = logosnb.grad(logosnb.parse(text), given, of="y", wrt="x", cotangent=ct)
    np.testing.assert_array_equal(first.grads["x"], second.grads["x"])
    assert first.backward.source == second.backward.source


def test_every_line_names_the_forward_line_that_it_serves() -> None:
    found = derive("Let s be x plus r.\nLet y be tanh of s.\n", "y", ["x", "r"])
    lines = found.source.splitlines()
    assert len(found.origins) == len(lines)
    assert sorted(set(found.origins)) == [4, 5]
    served = dict(zip(lines, found.origins))
    assert served["# Let y be tanh of s."] == 5 and served["# Let s be x plus r."] == 4


def test_names_are_fresh_against_every_name_of_the_forward() -> None:
    body = "Let g_x be x scaled by 2.\nLet k be 3.\nLet y be tanh of g_x.\n"
    found = derive(body, "y", ["x"])
    bound = set(re.findall(r"^ *(?:Let|Repeat for) (?:mutable )?(\w+) ", found.source, re.M))
    assert not bound & {"x", "r", "ct", "g_x", "k", "y"}
    assert found.grads["x"] != "g_x"
    assert found.program.inputs == ("x", "ct")


def test_the_whole_program_runs_and_leaves_the_gradient_by_name() -> None:
    found = derive("Let y be square of x.\n", "y", ["x"])
    x = np.arange(6.0).reshape(2, 3)
    result = logosnb.run(found.program, {"x": x, "ct": np.ones((2, 3))})
    np.testing.assert_array_equal(result[found.grads["x"]], 2 * x)


def test_the_backward_goes_inside_main_when_functions_follow() -> None:
    text = (
        "## Main\n    Let x be a 1 by 2 tensor of Real.\n    Let ct be a 1 by 2 tensor of Real.\n"
        "    Let y be exponential of x.\n\n## To twice (a: Real) -> Real:\n    Return a * 2.\n"
    )
    found = logosnb.backward(text, "y", "ct", ["x"])
    result = logosnb.run(found.program, {"x": [0.0, 0.0], "ct": [1.0, 2.0]})
    np.testing.assert_array_equal(result[found.grads["x"]], [[1.0, 2.0]])


# ---- what a later `Set rows` overwrites ---------------------------------------------------------


def test_a_value_overwritten_since_is_recomputed() -> None:
    """C22: y = exp x, y[1] set to 0, loss Σ y gives dx = [0, e²], never another number."""
    text = """Let x be a 2 by 1 tensor of Real.
Let zero be a 1 by 1 tensor of Real.
Let y be exponential of x.
Set rows from 1 of y to zero.
"""
    found = logosnb.grad(
        text, {"x": [[1.0], [2.0]], "zero": 0.0}, of="y", wrt="x", cotangent=[[1.0], [1.0]]
    )
    np.testing.assert_allclose(found.grads["x"], [[0.0], [np.exp(2)]])
    assert "y_before" in found.backward.source


def test_an_overwritten_input_is_refused_with_its_line() -> None:
    text = """Let x be a 2 by 1 tensor of Real.
Let z be a 1 by 1 tensor of Real.
Let ct be a 2 by 1 tensor of Real.
Let y be square of x.
Set rows from 1 of x to z.
"""
    with pytest.raises(logosnb.Overwritten) as refusal:
        logosnb.backward(text, "y", "ct", ["x"])
    assert (refusal.value.tensor, refusal.value.line) == ("x", 5)


def test_set_rows_passes_the_gradient_to_its_source_and_zeroes_what_was_there() -> None:
    text = """Let t be a 3 by 2 tensor of Real.
Let x be a 1 by 2 tensor of Real.
Let p be 2.
Set rows from p of t to x.
Let y be t scaled by 10.
"""
    found = logosnb.grad(
        text, {"x": [1.0, 2.0]}, of="y", wrt=["x", "t"], cotangent=np.arange(6.0).reshape(3, 2)
    )
    np.testing.assert_array_equal(found.grads["x"], [[20.0, 30.0]])
    np.testing.assert_array_equal(found.grads["t"], [[0.0, 10.0], [0.0, 0.0], [40.0, 50.0]])


# ---- refusals -------------------------------------------------------------------------------------


def test_no_gradient_names_op_and_reason() -> None:
    with pytest.raises(logosnb.NoGradient) as refusal:
        logosnb.backward(
            "Let x be a 2 by 3 tensor of Real.\nLet ct be a 2 by 1 tensor of Real.\n"
            "Let y be argmax of x.\n",
            "y",
            "ct",
            ["x"],
        )
    assert refusal.value.op == "ArgMax" and refusal.value.why


def test_integer_relu_has_no_gradient() -> None:
    text = "Let x be a 1 by 3 tensor of Int.\nLet ct be a 1 by 3 tensor of Real.\nLet y be relu of x.\n"
    with pytest.raises(logosnb.NoGradient) as refusal:
        logosnb.backward(text, "y", "ct", ["x"])
    assert refusal.value.op == "Relu"


GATHER = """Let w be a 3 by 2 tensor of Real.
Let i be a 2 by 1 tensor of Int.
Let ct be a 2 by 2 tensor of Real.
Let y be rows i of w.
"""


def test_an_integer_operand_as_the_only_way_is_refused() -> None:
    with pytest.raises(logosnb.NotDifferentiated) as refusal:
        logosnb.backward(GATHER, "y", "ct", ["w", "i"])
    assert (refusal.value.tensor, refusal.value.op) == ("i", "RowsGather")


def test_a_tensor_that_only_chooses_rows_is_refused_not_zero() -> None:
    """x reaches the loss through argmax and row numbers alone."""
    text = """Let x be a 2 by 3 tensor of Real.
Let w be a 3 by 2 tensor of Real.
Let ct be a 2 by 2 tensor of Real.
Let i be argmax of x.
Let y be rows i of w.
"""
    with pytest.raises(logosnb.NotDifferentiated) as refusal:
        logosnb.backward(text, "y", "ct", ["x"])
    assert (refusal.value.tensor, refusal.value.op) == ("x", "RowsGather")
    both = text + "Let z be y plus x_part.\n"
    both = (
        both.replace("Let ct", "Let x_part be x scaled by 1.\nLet ct", 1)
        .replace("Let x be a 2 by 3", "Let x be a 2 by 2")
        .replace("Let w be a 3", "Let w be a 2")
    )
    assert logosnb.backward(both, "z", "ct", ["x"]).grads


def test_a_row_number_is_not_differentiated() -> None:
    text = """Let t be a 3 by 2 tensor of Real.
Let p be 2.
Let ct be a 1 by 2 tensor of Real.
Let y be row p of t.
"""
    with pytest.raises(logosnb.NotDifferentiated) as refusal:
        logosnb.backward(text, "y", "ct", ["p"])
    assert (refusal.value.tensor, refusal.value.op) == ("p", "RowGather")


def test_shapeless_unknown_output_and_parse_refusals() -> None:
    with pytest.raises(logosnb.Shapeless) as shapeless:
        derive("Let y be tanh of x.\n", "y", ["nothing"])
    assert shapeless.value.tensor == "nothing"
    with pytest.raises(logosnb.Shapeless) as cotangent:
        logosnb.backward(HEAD + "Let y be tanh of x.\n", "y", "dy", ["x"])
    assert cotangent.value.tensor == "dy"
    with pytest.raises(logosnb.UnknownOutput) as unknown:
        derive("Let y be tanh of x.\n", "q", ["x"])
    assert unknown.value.tensor == "q"
    with pytest.raises(logosnb.ParseRefusal) as refused:
        derive("Let y be tanh x.\n", "y", ["x"])
    assert refused.value.line == 4 and refused.value.column >= 1 and refused.value.message
    with pytest.raises(logosnb.ShapeError):
        derive("Let y be transpose of x.\n", "y", ["x"])


def test_unrecognized_lists_line_and_text_and_passes_over_show() -> None:
    body = """Show "hello".
Repeat for n from 1 to 3:
    Show n.
Let y be tanh of x.
Let q be 1.
Set q to 2.
"""
    with pytest.raises(logosnb.Unrecognized) as refusal:
        derive(body, "y", ["x"])
    lines = [line for line, _ in refusal.value.statements]
    assert lines == [5, 8, 9]
    assert refusal.value.statements[0][1].startswith("Repeat for n from 1 to 3")
    assert derive('Show "hello".\nLet y be tanh of x.\n', "y", ["x"]).grads


# ---- golden texts, small enough to be read ------------------------------------------------------

MLP = """Let x be a 4 by 3 tensor of Real.
Let w be a 3 by 2 tensor of Real.
Let b be a 1 by 2 tensor of Real.
Let ct be a 4 by 2 tensor of Real.
Let a be x matmul w.
Let y be a plus b.
"""

GOLDEN = {
    "linear": (
        MLP,
        "y",
        ["x", "w", "b"],
        """# Let y be a plus b.
#   da = dy,  db = dy
Let g_b be column sums of ct.
# Let a be x matmul w.
#   da = dy bᵀ,  db = aᵀ dy
Let t_w be transpose of w.
Let g_x be ct matmul t_w.
Let t_x be transpose of x.
Let g_w be t_x matmul ct.
""",
    ),
    "weights alone": (
        MLP,
        "y",
        ["w"],
        """# Let a be x matmul w.
#   da = dy bᵀ,  db = aᵀ dy
Let t_x be transpose of x.
Let g_w be t_x matmul ct.
""",
    ),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_text(name: str) -> None:
    forward, of, wrt, text = GOLDEN[name]
    assert logosnb.backward(forward, of, "ct", wrt).source == text


def test_an_error_in_a_function_after_main_keeps_its_line() -> None:
    text = (
        "## Main\nLet x be a 1 by 1 tensor of Real.\nLet y be square of x.\nShow bad(0).\n\n"
        "## To bad (n: Int) -> Int:\n    Return 1 / n.\n"
    )
    with pytest.raises(logosnb.LogosRuntimeError) as error:
        logosnb.grad(text, {"x": 1.0}, of="y")
    assert error.value.line == 7 and "Return 1 / n." in str(error.value)


# ---- what a caller may ask for --------------------------------------------------------------------


def test_a_constant_in_wrt_is_no_tensor() -> None:
    for body in ("Let c be 2.\nLet y be x scaled by c.\n", "Let c be 2.\nLet y be tanh of x.\n"):
        with pytest.raises(logosnb.Shapeless) as refusal:
            derive(body, "y", ["x", "c"])
        assert refusal.value.tensor == "c"


@pytest.mark.parametrize("wrt", [None, 5, [1], [np.eye(2)]])
def test_wrt_that_names_nothing_is_an_error_in_words(wrt) -> None:
    with pytest.raises(logosnb.LogosError, match="wrt lists names"):
        derive("Let y be tanh of x.\n", "y", wrt)


def test_the_gradient_of_the_cotangent_is_the_output() -> None:
    """The loss is Σ output ⊙ cotangent: zeros would be wrong."""
    x, ct = np.arange(6.0).reshape(2, 3), np.ones((2, 3))
    found = derive("Let y be square of x.\n", "y", ["x", "ct"])
    result = logosnb.run(found.program, {"x": x, "ct": ct})
    np.testing.assert_array_equal(result[found.grads["ct"]], x**2)
    read = derive("Let y be x hadamard ct.\n", "y", ["ct"])
    result = logosnb.run(read.program, {"x": x, "ct": ct})
    np.testing.assert_array_equal(result[read.grads["ct"]], 2 * x * ct)


def test_an_operand_that_only_the_unwanted_half_of_a_rule_reads_may_be_overwritten() -> None:
    """The rule of `… across 2 heads` has one text for both operands; dx reads w alone."""
    text = """Let s be a 2 by 4 tensor of Real.
Let w be a 4 by 3 tensor of Real.
Let one_row be a 1 by 4 tensor of Real.
Let ct be a 2 by 6 tensor of Real.
Let x be tanh of s.
Let y be x matmul w across 2 heads.
Set row 1 of x to one_row.
"""
    source = logosnb.backward(text, "y", "ct", ["s"]).source
    product, tanh = source.split("# Let x be tanh of s.")
    assert "x_before" not in product and "Let x_before be tanh of s." in tanh
    direct = text.replace("Let x be tanh of s.", "").replace("Let s be", "Let x be")
    assert logosnb.backward(direct, "y", "ct", ["x"]).grads
    with pytest.raises(logosnb.Overwritten):
        logosnb.backward(direct, "y", "ct", ["w"])


def test_a_refusal_names_the_op_on_the_way_to_the_loss() -> None:
    """An op that reads the same row numbers beside that way is none of its business."""
    text = """Let z be a 2 by 3 tensor of Real.
Let t be a 2 by 1 tensor of Int.
Let ct be a 1 by 1 tensor of Real.
Let y be cross entropy of z with targets t.
Let aside be rows t of z.
"""
    with pytest.raises(logosnb.NotDifferentiated) as refusal:
        logosnb.backward(text, "y", "ct", ["z", "t"])
    assert (refusal.value.tensor, refusal.value.op) == ("t", "CrossEntropy")
