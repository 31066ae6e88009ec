"""The blocks of products, arithmetic, elementwise, normalization, sums and losses, each held to
what it says: worked examples, shapes, the edges of the numbers, gradients of any choice of operands.
"""

from __future__ import annotations

import re
from itertools import chain, combinations
from types import SimpleNamespace

import numpy as np
import pytest
from examples import CASES, arrays, expansion_text, output_name, program_text, words
from numpy.testing import assert_allclose, assert_array_equal

import logosnb
from logosnb.ops import arithmetic, elementwise, losses, normalization, products, sums
from logosnb.ops.op import Mismatch, Op, OpError, Shape
from logosnb.ops.phrase import holes, required_holes
from logosnb.ops.table import TABLE, find

FILES = (products, arithmetic, elementwise, normalization, sums, losses)
HERE = {value.name for file in FILES for value in vars(file).values() if isinstance(value, Op)}
MINE = [case for case in CASES if case[1].name in HERE]
WITH_GRADIENT = [case for case in MINE if case[2].grads]
ELEMENTWISE = [v for v in vars(elementwise).values() if isinstance(v, Op)]
inf, nan = np.inf, np.nan


def listed(cases):
    return pytest.mark.parametrize(
        ("op", "example"), [case[1:] for case in cases], ids=[case[0] for case in cases]
    )


def meaning_of(op: Op, example, given: dict[str, np.ndarray]) -> np.ndarray:
    """The meaning on the example's operands, with no part of the interpreter between."""
    bindings = find(words(example)).bindings
    operands = {h: given.get(str(part), part) for h, part in bindings.items()}
    numbers = {h: float(v) if isinstance(v, str) else v for h, v in operands.items()}
    whole = {h: int(v) if h == "heads" else v for h, v in numbers.items()}
    with np.errstate(all="ignore"):
        return op.meaning(**{**op.defaults, **whole})


EVERY = """Matmul Transpose HeadMatmul Mlp Plus Minus Hadamard Scale Copy Sigmoid Silu Gelu Relu SwiGlu
LeakySquare Softcap Tanh Exp Log Sqrt Square Softmax RmsNorm LayerNorm L2Norm Sum Mean RowSums
ColumnSums CrossEntropy SquaredError"""


def test_the_ops_of_these_files() -> None:
    assert set(EVERY.split()) == HERE


# ---- meanings ------------------------------------------------------------------------------------


@listed(MINE)
def test_the_meaning_gives_the_value_and_writes_nothing(op, example) -> None:
    given = arrays(op, example)
    for tensor in given.values():
        tensor.flags.writeable = False
    found = meaning_of(op, example, given)
    assert found.ndim == 2
    assert_allclose(found, np.array(example.value), rtol=1e-12, atol=1e-15)


EDGES = [nan, inf, -inf, 0.0, -0.0, 1e200, -1e200, 5e-324, 1e-310, -1e-310, 710.0, -710.0, 40, -40]


@pytest.mark.parametrize("op", ELEMENTWISE, ids=lambda op: op.name)
def test_the_expansion_agrees_at_the_edges_of_the_numbers(op) -> None:
    example = op.examples[0]
    given = {name: np.array([EDGES]) for name in example.inputs}
    text = expansion_text(op, example)
    columns = f"by {len(example.value[0])} tensor"
    text = text.replace(columns, f"by {len(EDGES)} tensor")
    text = text.replace(f"to {len(example.value[0])}:", f"to {len(EDGES)}:")
    expanded = logosnb.run(text, given)[output_name(op, example)]
    assert_allclose(expanded, meaning_of(op, example, given), rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("statement", ["softmax of x", "cross entropy of x with targets t"])
def test_rows_of_infinities_agree_with_the_expansion(statement) -> None:
    rows = [[0.0, -inf], [nan, 1.0], [-inf, -inf], [800.0, -800.0], [inf, 0.0]]
    op = find(statement.split()).op
    for chosen in combinations(rows, 2):
        given = {"x": np.array(chosen), "t": np.array([[1], [2]])}
        inputs = {name: value for name, value in given.items() if name in statement.split()}
        example = SimpleNamespace(
            statement=f"Let y be {statement}.",
            inputs={name: value.tolist() for name, value in inputs.items()},
            integers=(),
            setup="",
        )
        expanded = logosnb.run(expansion_text(op, example), inputs)["y"]
        assert_allclose(expanded, meaning_of(op, example, inputs), err_msg=str(chosen))


def test_sigmoid_neither_warns_nor_overflows() -> None:
    with np.errstate(all="raise", under="ignore"):
        found = elementwise.SIGMOID.meaning(x=np.array([[-1e308, -800.0, 0.0, 800.0, 1e308]]))
    assert_array_equal(found, [[0, 0, 0.5, 1, 1]])


def test_a_result_shares_nothing_with_its_operand() -> None:
    text = (
        "Let x be a 1 by 2 tensor of Real.\nLet y be transpose of x.\nLet z be copy of x.\n"
        "Set item 1 of x to 9.0.\n"
    )
    found = logosnb.run(text, {})
    assert_array_equal(found["y"], [[0], [0]])
    assert_array_equal(found["z"], [[0, 0]])


# ---- shapes --------------------------------------------------------------------------------------

WRONG = [
    ("Matmul", {"a": (2, 3), "b": (2, 3)}),
    ("HeadMatmul", {"x": (2, 3), "w": (3, 1), "heads": 2}),
    ("HeadMatmul", {"x": (2, 4), "w": (3, 1), "heads": 2}),
    ("Mlp", {"x": (1, 2), "w": (3, 2), "b": (1, 2), "v": (2, 2), "c": None}),
    ("Mlp", {"x": (1, 2), "w": (2, 3), "b": (1, 2), "v": (3, 2), "c": None}),
    ("Mlp", {"x": (1, 2), "w": (2, 3), "b": (1, 3), "v": (2, 2), "c": None}),
    ("Mlp", {"x": (1, 2), "w": (2, 3), "b": (1, 3), "v": (3, 2), "c": (2, 1)}),
    *[(name, {"a": (1, 3), "b": (2, 3)}) for name in ("Plus", "Minus", "Hadamard")],
    *[(name, {"a": (4, 3), "b": (2, 3)}) for name in ("Plus", "Minus", "Hadamard")],
    *[(name, {"a": (4, 3), "b": (3, 1)}) for name in ("Plus", "Minus", "Hadamard")],
    ("SwiGlu", {"g": (2, 3), "u": (3, 2)}),
    ("RmsNorm", {"x": (2, 4), "r": (1, 4), "w": None, "heads": 1}),
    ("RmsNorm", {"x": (2, 4), "r": None, "w": (1, 4), "heads": 2}),
    ("RmsNorm", {"x": (2, 4), "r": None, "w": None, "heads": 3}),
    ("LayerNorm", {"x": (2, 4), "w": (4, 1), "b": None, "heads": 1}),
    ("LayerNorm", {"x": (2, 4), "w": None, "b": (1, 2), "heads": 1}),
    ("L2Norm", {"x": (2, 4), "heads": 3}),
    ("CrossEntropy", {"z": (2, 4), "targets": (1, 2)}),
    ("SquaredError", {"a": (2, 4), "b": (1, 4)}),
]


@pytest.mark.parametrize(("name", "operands"), WRONG)
def test_shapes_that_do_not_fit_are_named(name, operands) -> None:
    known = {h: Shape(*v) if isinstance(v, tuple) else v for h, v in operands.items()}
    with pytest.raises(Mismatch) as mismatch:
        TABLE[name].shape(SimpleNamespace(**known))
    assert set(mismatch.value.holes) <= set(operands) and mismatch.value.holes
    assert all(f"{{{hole}}}" in mismatch.value.reason for hole in mismatch.value.holes)


@pytest.mark.parametrize("name", ["Plus", "Minus", "Hadamard"])
@pytest.mark.parametrize("shape", [(2, 3), (1, 3), (2, 1), (1, 1)])
def test_a_repeated_operand_forward_and_backward(name, shape) -> None:
    """Against NumPy, and the gradient of b summed back to the shape of b."""
    seed = 3
    random = np.random.default_rng(seed)
    a, b, slope = random.normal(size=(2, 3)), random.normal(size=shape), random.normal(size=(2, 3))
    word, numpy_op = {"Plus": ("plus", np.add), "Minus": ("minus", np.subtract)}.get(
        name, ("hadamard", np.multiply)
    )
    text = (
        f"Let a be a 2 by 3 tensor of Real.\nLet b be a {shape[0]} by {shape[1]} tensor of Real.\n"
        f"Let y be a {word} b.\n"
    )
    found = logosnb.grad(text, {"a": a, "b": b}, of="y", cotangent=slope)
    assert_allclose(found.value, numpy_op(a, b))
    each = {"Plus": slope, "Minus": -slope}.get(name, slope * a)
    over = tuple(axis for axis in (0, 1) if shape[axis] == 1)
    assert_allclose(found.grads["b"], each.sum(axis=over, keepdims=True), err_msg=f"seed {seed}")


# ---- gradients -----------------------------------------------------------------------------------


def choices(names):
    return chain.from_iterable(combinations(names, count) for count in range(1, len(names) + 1))


@listed(WITH_GRADIENT)
def test_any_choice_of_operands_has_the_same_gradients(op, example) -> None:
    """A rule that serves several operands leaves out what is not wanted, and only that."""
    text, of, inputs = program_text(op, example), output_name(op, example), arrays(op, example)
    for wrt in choices(list(example.grads)):
        found = logosnb.grad(text, inputs, of=of, wrt=list(wrt), cotangent=example.cotangent)
        for name in wrt:
            assert_allclose(
                found.grads[name], np.array(example.grads[name]), rtol=1e-9, err_msg=str(wrt)
            )


@listed(WITH_GRADIENT)
def test_an_example_gives_the_gradient_of_every_real_operand(op, example) -> None:
    ints = {name for name, value in arrays(op, example).items() if value.dtype.kind == "i"}
    assert set(example.grads) == set(example.inputs) - ints


@pytest.mark.parametrize("name", sorted(HERE))
def test_some_cotangent_of_an_op_is_not_all_ones(name) -> None:
    cotangents = [np.array(e.cotangent) for e in TABLE[name].examples if e.cotangent]
    assert any((cotangent != 1).any() for cotangent in cotangents)


@pytest.mark.parametrize("name", sorted(HERE))
def test_what_may_be_left_out_of_a_rule_is_left_out(name) -> None:
    """For one operand alone no statement of the rule binds a tensor that nothing reads."""
    for example in TABLE[name].examples:
        for wanted in example.grads:
            shape = np.array(example.value).shape
            cotangent = f"Let ct be a {shape[0]} by {shape[1]} tensor of Real.\n"
            text = cotangent + program_text(TABLE[name], example)
            backward = logosnb.backward(text, "y", "ct", [wanted])
            lines = [line for line in backward.source.splitlines() if not line.startswith("#")]
            for line in lines:
                bound = line.split()[1] if line.startswith("Let ") else None
                if bound and bound != backward.grads[wanted] and not line.startswith("Let mutable"):
                    readers = [other for other in lines if re.search(rf"\b{bound}\b", other)]
                    assert len(readers) > 1, f"{bound} is not read for {wanted}:\n{backward.source}"


def test_mlp_for_its_down_weights_alone_goes_through_no_hidden_gradient() -> None:
    example = products.MLP.examples[1]
    text = "Let ct be a 1 by 1 tensor of Real.\n" + program_text(products.MLP, example)
    source = logosnb.backward(text, "y", "ct", ["v"]).source
    assert "g_hidden" not in source and "g_active" not in source


def one(statement: str, x, cotangent=None):
    """Value and gradient of x of one op of x."""
    x = np.array(x, dtype=float)
    text = f"Let x be a {x.shape[0]} by {x.shape[1]} tensor of Real.\nLet y be {statement}.\n"
    ones = np.ones_like(x) if cotangent is None else cotangent
    found = logosnb.grad(text, {"x": x}, of="y", cotangent=ones)
    return found.value, found.grads["x"]


def test_the_slopes_that_are_stated_at_zero() -> None:
    for op in ("relu of x", "leaky square of x", "square root of x"):
        assert_array_equal(one(op, [[0.0, -0.0]])[1], [[0, 0]], err_msg=op)


def test_gelu_has_a_slope_however_far_out() -> None:
    value, slope = one("gelu of x", [[1e200, -1e200, 1e60, -1e60, 30, -30]])
    assert_allclose(value, [[1e200, 0, 1e60, 0, 30, 0]], atol=1e-300)
    assert_allclose(slope, [[1, 0, 1, 0, 1, 0]], atol=1e-200)


@pytest.mark.parametrize("op", ["sigmoid", "silu", "gelu", "tanh", "relu", "leaky square"])
def test_no_slope_is_nan_for_a_finite_element(op) -> None:
    points = [[*np.geomspace(1e-300, 1e150, 46), *-np.geomspace(1e-300, 1e150, 46), 0.0]]
    value, slope = one(f"{op} of x", points)
    assert np.isfinite(value).all() and np.isfinite(slope).all()


@pytest.mark.parametrize("size", [1e-120, 1.0, 1e120])
def test_a_norm_has_its_gradient_at_any_size(size) -> None:
    """The norm of [3, 4] is 5 times the size: dx = (dy − y Σ dy ⊙ y)/n, with no n³ on the way."""
    expected = np.array([[1 - 0.36, -0.48]]) / (5 * size)
    value, slope = one("l2norm of x with epsilon 0.0", [[3 * size, 4 * size]], [[1.0, 0.0]])
    assert_allclose(value, [[0.6, 0.8]])
    assert_allclose(slope, expected)
    root = np.sqrt(2)  # the root mean square of two columns is the norm over √2
    value, slope = one("rmsnorm of x with epsilon 0.0", [[3 * size, 4 * size]], [[1.0, 0.0]])
    assert_allclose(value, [[0.6 * root, 0.8 * root]])
    assert_allclose(slope, expected * root)


def test_softmax_of_masked_huge_and_very_negative_rows() -> None:
    rows = [[-inf, -inf], [1000, 1000], [-1e4, -1e4], [0, -inf]]
    value, slope = one("softmax of x", rows, np.tile([[4.0, 0.0]], (4, 1)))
    assert_array_equal(value, [[0, 0], [0.5, 0.5], [0.5, 0.5], [1, 0]])
    assert_array_equal(slope, [[0, 0], [1, -1], [1, -1], [0, 0]])


# ---- losses --------------------------------------------------------------------------------------


def entropy(z, targets):
    z = np.array(z, dtype=float)
    rows, columns = z.shape
    text = (
        f"Let z be a {rows} by {columns} tensor of Real.\nLet t be a {rows} by 1 tensor of Int.\n"
        "Let y be cross entropy of z with targets t.\n"
    )
    given = {"z": z, "t": np.reshape(targets, (rows, 1))}
    found = logosnb.grad(text, given, of="y")
    return found.value, found.grads["z"]


def test_cross_entropy_of_huge_and_of_no_logits() -> None:
    value, slope = entropy([[-431, 279, 427]], [1])
    assert_allclose(value, [[858]])
    assert_allclose(slope, [[-1, np.exp(-148.0), 1]])
    value, slope = entropy([[-inf, -inf], [0, 0]], [2, 1])
    assert_array_equal(value, [[inf]])
    assert_array_equal(slope, [[0, -0.5], [-0.25, 0.25]])


@pytest.mark.parametrize("target", [0, -1, 4, 7])
def test_a_target_outside_the_columns_is_named(target) -> None:
    wanted = rf"^{{targets}}: element 2 is {target}, outside 1 … 3, the columns of {{z}}$"
    with pytest.raises(OpError, match=wanted):
        losses.cross_entropy(np.zeros((3, 3)), np.array([[1], [target], [9]]))
    with pytest.raises(logosnb.LogosRuntimeError, match=f"`t`: element 2 is {target}"):
        entropy(np.zeros((3, 3)), [1, target, 3])


# ---- tensors of Int ------------------------------------------------------------------------------

EXACT = {
    "Plus": lambda a, b: a + b,
    "Minus": lambda a, b: a - b,
    "Hadamard": lambda a, b: a * b,
    "Matmul": lambda a, b: a @ b,
}


@pytest.mark.parametrize("name", EXACT)
def test_whole_numbers_are_exact_or_refused(name) -> None:
    """Held against Python's whole numbers, with operands on both sides of what 64 bits hold."""
    seed = 17
    random = np.random.default_rng(seed)
    fitting = refused = 0
    for _ in range(200):
        bits = random.choice([20, 31, 40, 62, 63], size=2).tolist()
        a, b = (random.integers(-(2**n) + 1, 2**n - 1, size=(2, 2), endpoint=True) for n in bits)
        exact = EXACT[name](a.astype(object), b.astype(object))
        if all(-(2**63) <= value < 2**63 for value in exact.flat):
            fitting += 1
            found = TABLE[name].meaning(a=a, b=b)
            assert found.dtype == np.int64 and (found == exact).all(), f"seed {seed}: {a} {b}"
        else:
            refused += 1
            with pytest.raises(OpError, match="64 bits"):
                TABLE[name].meaning(a=a, b=b)
    assert fitting and refused, f"seed {seed}: only one side was met"


def test_a_difference_is_not_bounded_by_the_difference_of_the_magnitudes() -> None:
    a = np.array([[3 * 2**61]])
    with pytest.raises(OpError, match=str(3 * 2**62)):
        arithmetic.MINUS.meaning(a=a, b=-a)


def test_the_least_whole_number_is_a_result() -> None:
    least = np.array([[-(2**62)]])
    assert arithmetic.PLUS.meaning(a=least, b=least) == [[-(2**63)]]


@pytest.mark.parametrize(
    "op", ["square of x", "squared error of x and x", "l2norm of x", "relu of x"]
)
def test_an_op_of_reals_reads_whole_numbers_as_reals(op) -> None:
    """4·10⁹ squared is beyond 64 bits, and fine as a Real."""
    declared = "Let x be a 1 by 2 tensor of {}.\n" + f"Let y be {op}.\n"
    whole = logosnb.run(declared.format("Int"), {"x": [[4 * 10**9, 3]]})["y"]
    real = logosnb.run(declared.format("Real"), {"x": [[4e9, 3.0]]})["y"]
    assert_array_equal(whole, real)
    assert whole.dtype == (np.int64 if op == "relu of x" else np.float64)


# ---- phrases -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "op", [normalization.RMSNORM, normalization.LAYERNORM, normalization.L2NORM]
)
def test_every_choice_of_clauses_is_read(op) -> None:
    """The first clause that stands begins with `with`, later ones with `and`."""
    clause = {"r": "residual r", "w": "weight w", "b": "bias b", "epsilon": "epsilon 0.5"}
    optional = [h for p in op.phrases for h in holes(p) if h not in required_holes(p)]
    named = [hole for hole in optional if hole in clause]
    for chosen in [(), *choices(named)]:
        joined = " and ".join(clause[hole] for hole in chosen)
        said = f"{op.name.lower()} of x{' with ' if joined else ''}{joined} across 2 heads"
        found = find(said.split())
        assert found is not None and found.op is op, said
        assert {h for h in found.bindings if h in clause} == set(chosen)
