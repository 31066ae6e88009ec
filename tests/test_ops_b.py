"""Gathers, heads, rope, recurrences and experts against loops or arrays written here from the
language's definition, every refusal by its words; shapes that do not fit, for attention too."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from examples import CASES, IDS, arrays
from numpy.testing import assert_allclose, assert_array_equal
from op_programs import agrees, both, declared, expanded, gradients, prepared, random, refused

import logosnb
from logosnb.ops.op import Mismatch, Operands, Shape
from logosnb.ops.table import TABLE

inf, nan = np.inf, np.nan
HERE = """RowGather RowsGather ArgMax SetRow HeadSlice Join Rope Attention FullAttention LutAttention
IntRequant IntClamp Decay CausalConv GatedDelta Moe""".split()
MINE = [(name, case) for name, case in zip(IDS, CASES) if case[1].name in HERE]


# -- the blocks by themselves -----------------------------------------------------------------


@pytest.mark.parametrize("case", [c for _, c in MINE], ids=[n for n, _ in MINE])
def test_a_meaning_writes_to_no_operand_and_is_two_dimensional(case) -> None:
    _, op, example = case
    program = logosnb.parse(declared(arrays(op, example)) + f"{example.setup}\n{example.statement}")
    stage, given = program.stages[-1], arrays(op, example)
    operands = {h: given.get(v, 1) if isinstance(v, str) else v for h, v in stage.operands.items()}
    for value in operands.values():
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
    if example.setup:
        operands["position"] = int(example.setup.split(" be ")[1].rstrip("."))
    result = op.meaning(**operands)
    assert result.ndim == 2 and result.flags.c_contiguous
    assert_allclose(result, np.array(example.value), rtol=1e-6)


def shapes(**given) -> Operands:
    return Operands(**{h: Shape(*v) if isinstance(v, tuple) else v for h, v in given.items()})


CLAUSES = dict.fromkeys(("key_heads", "position", "scale", "cap", "window", "chunk", "sinks"))
MISFITS = [
    ("RowsGather", {"t": (3, 2), "indices": (2, 2)}),
    ("SetRow", {"t": (3, 2), "x": (1, 3), "position": 1}),
    ("SetRow", {"t": (3, 2), "x": (4, 2), "position": 1}),
    ("HeadSlice", {"x": (1, 7), "first": 1, "last": 2, "every": 3}),
    ("HeadSlice", {"x": (1, 6), "first": 2, "last": 4, "every": 3}),
    ("HeadSlice", {"x": (1, 6), "first": 3, "last": 2, "every": 3}),
    ("Join", {"a": (2, 4), "b": (3, 4), "heads": 2}),
    ("Join", {"a": (2, 3), "b": (2, 4), "heads": 2}),
    ("Join", {"a": (2, 4), "b": (2, 3), "heads": 2}),
    ("Rope", {"q": (2, 4), "c": (1, 2), "s": (2, 2), "position": None, "heads": None}),
    ("Rope", {"q": (2, 6), "c": (1, 2), "s": (1, 2), "position": None, "heads": None}),
    ("Rope", {"q": (2, 6), "c": (1, 2), "s": (1, 2), "position": None, "heads": 4}),
    ("Rope", {"q": (2, 6), "c": (1, 2), "s": (1, 2), "position": None, "heads": 2}),
    ("Rope", {"q": (3, 4), "c": (2, 2), "s": (2, 2), "position": None, "heads": None}),
    ("Attention", {**CLAUSES, "q": (2, 5), "k": (3, 4), "v": (3, 4), "heads": 2}),
    ("Attention", {**CLAUSES, "q": (2, 4), "k": (3, 6), "v": (3, 4), "heads": 2}),
    ("Attention", {**CLAUSES, "q": (2, 4), "k": (3, 4), "v": (3, 5), "heads": 2}),
    ("Attention", {**CLAUSES, "q": (2, 4), "k": (3, 4), "v": (2, 4), "heads": 2}),
    (
        "Attention",
        {**CLAUSES, "q": (2, 4), "k": (3, 4), "v": (3, 4), "heads": 4, "key_heads": 3},
    ),
    (
        "Attention",
        {**CLAUSES, "q": (2, 4), "k": (3, 4), "v": (3, 4), "heads": 2, "sinks": Shape(2, 1)},
    ),
    ("FullAttention", {"q": (2, 4), "k": (3, 2), "v": (3, 4), "heads": 2}),
    (
        "LutAttention",
        {"q": (2, 4), "k": (3, 2), "v": (3, 4), "lookup": (1, 3), "heads": 2, "shift": 1},
    ),
    (
        "LutAttention",
        {"q": (2, 4), "k": (3, 4), "v": (2, 4), "lookup": (1, 3), "heads": 2, "shift": 1},
    ),
    (
        "LutAttention",
        {"q": (2, 4), "k": (3, 4), "v": (3, 3), "lookup": (1, 3), "heads": 2, "shift": 1},
    ),
    (
        "LutAttention",
        {"q": (2, 5), "k": (3, 5), "v": (3, 4), "lookup": (1, 3), "heads": 2, "shift": 1},
    ),
    (
        "LutAttention",
        {"q": (2, 4), "k": (3, 4), "v": (3, 4), "lookup": (2, 3), "heads": 2, "shift": 1},
    ),
    ("IntClamp", {"x": (1, 2), "low": 3, "high": 1}),
    ("Decay", {"a": (3, 2), "r": (1, 3), "d": (1, 2)}),
    ("Decay", {"a": (3, 2), "r": (1, 2), "d": (3, 2)}),
    ("CausalConv", {"x": (4, 2), "w": (3, 3), "s": None}),
    ("CausalConv", {"x": (4, 2), "w": (2, 3), "s": (3, 2)}),
    (
        "GatedDelta",
        {"q": (3, 4), "k": (3, 2), "v": (3, 4), "d": (3, 2), "b": (3, 2), "s": None, "heads": 2},
    ),
    (
        "GatedDelta",
        {"q": (3, 4), "k": (3, 4), "v": (3, 3), "d": (3, 2), "b": (3, 2), "s": None, "heads": 2},
    ),
    (
        "GatedDelta",
        {"q": (3, 4), "k": (3, 4), "v": (2, 4), "d": (3, 2), "b": (3, 2), "s": None, "heads": 2},
    ),
    (
        "GatedDelta",
        {"q": (3, 4), "k": (3, 4), "v": (3, 4), "d": (3, 4), "b": (3, 2), "s": None, "heads": 2},
    ),
    (
        "GatedDelta",
        {"q": (3, 4), "k": (3, 4), "v": (3, 4), "d": (3, 2), "b": (2, 2), "s": None, "heads": 2},
    ),
    (
        "GatedDelta",
        {"q": (3, 4), "k": (3, 4), "v": (3, 4), "d": (3, 2), "b": (3, 2), "s": (2, 2), "heads": 2},
    ),
    (
        "Moe",
        {
            "x": (2, 3),
            "r": (3, 4),
            "g": (12, 5),
            "u": (12, 5),
            "d": (20, 3),
            "chosen": 5,
            "experts": 4,
        },
    ),
    (
        "Moe",
        {
            "x": (2, 3),
            "r": (3, 3),
            "g": (12, 5),
            "u": (12, 5),
            "d": (20, 3),
            "chosen": 2,
            "experts": 4,
        },
    ),
    (
        "Moe",
        {
            "x": (2, 3),
            "r": (3, 4),
            "g": (9, 5),
            "u": (9, 5),
            "d": (20, 3),
            "chosen": 2,
            "experts": 4,
        },
    ),
    (
        "Moe",
        {
            "x": (2, 3),
            "r": (3, 4),
            "g": (12, 5),
            "u": (12, 4),
            "d": (20, 3),
            "chosen": 2,
            "experts": 4,
        },
    ),
    (
        "Moe",
        {
            "x": (2, 3),
            "r": (3, 4),
            "g": (12, 5),
            "u": (12, 5),
            "d": (20, 5),
            "chosen": 2,
            "experts": 4,
        },
    ),
]


@pytest.mark.parametrize(
    ("op", "given"), MISFITS, ids=[f"{o}-{i}" for i, (o, _) in enumerate(MISFITS)]
)
def test_shapes_that_do_not_go_together_are_refused_by_name(op: str, given: dict) -> None:
    with pytest.raises(Mismatch) as mismatch:
        TABLE[op].shape(shapes(**given))
    reason, holes = mismatch.value.reason, mismatch.value.holes
    assert reason.format_map(dict.fromkeys(given, "_")) and set(holes) <= set(given) and holes


def test_every_op_with_tensors_that_may_not_fit_has_a_misfit_above() -> None:
    assert set(HERE) - {op for op, _ in MISFITS} == {"RowGather", "ArgMax", "IntRequant"}


# -- rows by number ---------------------------------------------------------------------------


@pytest.mark.parametrize("position", [-1, 0, 4])
def test_a_row_that_is_not_there(position: int) -> None:
    setup, t = f"Let p be {position}.", np.ones((3, 2))
    refused("Let y be row p of t.", f"row {position}", "`t`", "3 rows", setup=setup, t=t)
    x = np.ones((2, 2))
    refused("Set rows from p of t to x.", f"rows {position} …", "`t`", setup=setup, t=t, x=x)


def test_rows_past_the_end_are_refused_before_any_is_written() -> None:
    inputs = prepared({"t": np.zeros((3, 1)), "x": np.ones((2, 1))})
    refused("Set rows from 3 of t to x.", "rows 3 … 4", **inputs)
    head = declared(inputs)
    text = expanded(f"{head}Set rows from 3 of t to x.\n", head)
    with pytest.raises(logosnb.LogosRuntimeError) as error:
        logosnb.run(text, inputs)
    assert error.value.line < text[: text.index("Set item")].count("\n") + 1


@pytest.mark.parametrize("number", [-1, 0, 4])
def test_a_listed_row_that_is_not_there(number: int) -> None:
    words = ("`i`", "element 2", f"row {number}", "`t`", "3 rows")
    refused("Let y be rows i of t.", *words, t=np.ones((3, 1)), i=[[1, number]])


def test_rows_are_listed_in_a_row_or_a_column_and_repeat() -> None:
    t = np.array([[5.0, 1.0], [6.0, 2.0], [7.0, 3.0]])
    for i in ([[2, 2, 1]], [[2], [2], [1]]):
        assert_array_equal(both("Let y be rows i of t.", t=t, i=i), t[[1, 1, 0]])
        found = gradients("Let y be rows i of t.", [[1, 2], [10, 20], [100, 200]], t=t, i=i)
        assert_array_equal(found["t"], [[100, 200], [11, 22], [0, 0]])


def test_rows_of_ints_stay_ints_past_the_precision_of_a_real() -> None:
    t = np.array([[2**53 + 1], [2**63 - 1]])
    assert both("Let y be rows i of t.", t=t, i=[[2, 1]]).tolist() == [[2**63 - 1], [2**53 + 1]]
    assert both("Let y be row 1 of t.", t=t).tolist() == [[2**53 + 1]]
    assert both("Set row 2 of t to x.", t=t, x=[[7]]).tolist() == [[2**53 + 1], [7]]


def test_real_rows_are_not_cut_to_fit_an_int_tensor() -> None:
    refused("Set row 1 of t to x.", "`t`", "Int", "Real", t=[[1, 2]], x=[[5.5, 6.0]])


def test_argmax_takes_the_first_of_equals_and_a_nan_before_all() -> None:
    x = [[1.0, 3.0, 3.0], [nan, 9.0, nan], [2.0, nan, 5.0], [-inf, -inf, -inf], [0.0, -0.0, 0.0]]
    assert both("Let y be argmax of x.", x=x).ravel().tolist() == [2, 1, 2, 1, 1]
    assert both("Let y be argmax of x.", x=[[1, 2**53, 2**53 + 1]]).tolist() == [[3]]


@pytest.mark.parametrize("seed", range(3))
def test_slices_of_a_join_are_what_was_joined(seed: int) -> None:
    a, b = random(seed, (3, 4), (3, 6))
    y = both("Let y be a joined with b across 2 heads.", a=a, b=b)
    assert_array_equal(both("Let y be columns 1 through 2 of every 5 of x.", x=y), a)
    assert_array_equal(both("Let y be columns 3 through 5 of every 5 of x.", x=y), b)
    agrees("Let y be a joined with b across 2 heads.", seed, a=a, b=b)
    agrees("Let y be columns 2 through 4 of every 5 of x.", seed, x=y)


# -- rope -------------------------------------------------------------------------------------


def rope_by_pairs(q, c, s, position, heads):
    half = c.shape[1]
    width = q.shape[1] // heads
    y = q.copy()
    for r, head, i in product(range(len(q)), range(heads), range(half)):
        row = 0 if len(c) == 1 else r if position is None else position + r - 1
        low, high = head * width + i, head * width + i + half
        y[r, low] = q[r, low] * c[row, i] - q[r, high] * s[row, i]
        y[r, high] = q[r, high] * c[row, i] + q[r, low] * s[row, i]
    return y


@pytest.mark.parametrize("position", [None, 1, 3])
@pytest.mark.parametrize(("rows", "heads", "width"), [(1, 1, 4), (6, 2, 4), (6, 3, 5), (1, 2, 7)])
def test_rope_turns_pairs_half_a_head_apart(position, rows, heads, width) -> None:
    seed = rows * 10 + heads
    q, c, s = random(seed, (3, heads * width), (rows, 2), (rows, 2))
    clause = "" if position is None else f" from position {position}"
    statement = f"Let y be rope of q with cos c and sin s{clause} across {heads} heads."
    found = both(statement, q=q, c=c, s=s)
    assert_allclose(found, rope_by_pairs(q, c, s, position, heads), err_msg=f"seed {seed}")
    agrees(statement, seed, q=q, c=c, s=s)


def test_c16_rope_keeps_the_norm() -> None:
    angles = np.array([[1.0, 0.01]])
    q = np.array([[1.0, 2.0, 3.0, 4.0]])
    y = both("Let y be rope of q with cos c and sin s.", q=q, c=np.cos(angles), s=np.sin(angles))
    assert_allclose(y, [[-1.984110649, 1.959900667, 2.462377902, 4.019799668]], rtol=1e-9)
    assert_allclose((y**2).sum(), 30.0)


@pytest.mark.parametrize(("position", "words"), [(2, "table row 4"), (0, "position 0"), (9, "`c`")])
def test_rope_past_its_table(position: int, words: str) -> None:
    table, setup = np.ones((3, 1)), f"Let p be {position}."
    statement = "Let y be rope of q with cos c and sin s from position p."
    refused(statement, words, setup=setup, q=np.ones((3, 2)), c=table, s=table)


# -- along the rows ---------------------------------------------------------------------------


@pytest.mark.parametrize("far", [20.0, 30.0, 36.0, 40.0])
def test_decay_keeps_what_softplus_keeps_far_below_zero(far: float) -> None:
    """log(1 + e⁻⁴⁰) is e⁻⁴⁰, not the 0 that 1 + e⁻⁴⁰ rounds to: times e⁴⁰ it is 1."""
    given = {"a": [[-far, 800.0, -800.0]], "r": [[far, 0.0, 0.0]], "d": [[0.0, 0.0, 0.0]]}
    y = both("Let y be decay of a with rate r and bias d.", **given)
    raised = np.exp(far) * np.log1p(np.exp(-far))
    assert_allclose(y, [[np.exp(-raised), 0.0, 1.0]], rtol=1e-12)
    found = gradients("Let y be decay of a with rate r and bias d.", [[1.0, 1.0, 1.0]], **given)
    assert_allclose(found["r"][:, 0], [-raised * np.exp(-raised)], rtol=1e-12)
    slope = -np.exp(-raised) / (1 + np.exp(-far))  # σ(−far) eᶠᵃʳ is 1 / (1 + e⁻ᶠᵃʳ)
    for name in "ad":
        assert_allclose(found[name][:, 0], [slope], rtol=1e-12, err_msg=name)
    for name in "ard":
        assert_array_equal(found[name][:, 1:], [[0.0, 0.0]], err_msg=name)


@pytest.mark.parametrize("seed", range(2))
def test_decay_agrees_with_its_definition(seed: int) -> None:
    a, r, d = random(seed, (4, 3), (1, 3), (1, 3))
    y = both("Let y be decay of a with rate r and bias d.", a=a, r=r, d=d)
    assert_allclose(y, np.exp(-np.exp(r) * np.log(1 + np.exp(a + d))), err_msg=f"seed {seed}")
    agrees("Let y be decay of a with rate r and bias d.", seed, a=a, r=r, d=d)


@pytest.mark.parametrize("state", [False, True])
@pytest.mark.parametrize(("rows", "taps"), [(5, 3), (2, 4), (4, 2)])
def test_a_convolution_reads_no_later_row(rows: int, taps: int, state: bool) -> None:
    seed = rows
    x, w, s = random(seed, (rows, 2), (2, taps), (taps - 1, 2))
    statement = f"Let y be causal convolution of x with kernel w{' and state s' if state else ''}."
    given = {"x": x, "w": w, **({"s": s} if state else {})}
    before = s if state else np.zeros_like(s)
    line = np.vstack([before, x])
    expected = [[w[c] @ line[t : t + taps, c] for c in range(2)] for t in range(rows)]
    assert_allclose(both(statement, **given), expected, err_msg=f"seed {seed}")
    agrees(statement, seed, **given)
    for t in range(rows):
        cotangent = np.zeros((rows, 2))
        cotangent[t] = 1.0
        assert not gradients(statement, cotangent, **given)["x"][t + 1 :].any()


def test_a_kernel_of_one_tap_has_no_state() -> None:
    x, w = random(4, (3, 2), (2, 1))
    assert_allclose(both("Let y be causal convolution of x with kernel w.", x=x, w=w), x * w.T)


def delta_by_rows(q, k, v, d, b, s, heads):
    width, value = q.shape[1] // heads, v.shape[1] // heads
    y = np.zeros(v.shape)
    for head in range(heads):
        state = s[head * width :][:width].copy()
        keys, values = (
            slice(head * width, head * width + width),
            slice(head * value, (head + 1) * value),
        )
        for t in range(len(q)):
            state = d[t, head] * state
            update = b[t, head] * (v[t, values] - state.T @ k[t, keys])
            state = state + np.outer(k[t, keys], update)
            y[t, values] = state.T @ q[t, keys]
    return y


@pytest.mark.parametrize("state", [False, True])
@pytest.mark.parametrize("heads", [1, 2])
def test_the_gated_delta_rule(heads: int, state: bool) -> None:
    seed = heads
    q, k, v, d, b, s = random(seed, (4, 4), (4, 4), (4, 6), (4, heads), (4, heads), (4, 6 // heads))
    statement = (
        "Let y be gated delta of q and k and v with decay d and beta b"
        f"{' and state s' if state else ''} across {heads} heads."
    )
    given = {"q": q, "k": k, "v": v, "d": d, "b": b, **({"s": s} if state else {})}
    expected = delta_by_rows(q, k, v, d, b, s if state else np.zeros_like(s), heads)
    assert_allclose(both(statement, **given), expected, err_msg=f"seed {seed}")
    agrees(statement, seed, **given)


@pytest.mark.parametrize("wanted", ["q", "k", "v", "d", "b", "s"])
def test_each_gradient_of_the_delta_rule_alone(wanted: str) -> None:
    """Asked for one alone, the rule leaves the lines of the others out and still is right."""
    names = ("q", "k", "v", "d", "b", "s")
    given = dict(zip(names, random(8, (3, 2), (3, 2), (3, 2), (3, 1), (3, 1), (2, 2))))
    text = declared(given) + (
        "Let y be gated delta of q and k and v with decay d and beta b and state s across 1 head.\n"
    )
    cotangent = random(9, (3, 2))[0]
    every = logosnb.grad(text, given, of="y", cotangent=cotangent)
    alone = logosnb.grad(text, given, of="y", wrt=[wanted], cotangent=cotangent)
    assert list(alone.grads) == [wanted]
    assert_allclose(alone.grads[wanted], every.grads[wanted], rtol=1e-13)
    assert len(alone.backward.source.splitlines()) < len(every.backward.source.splitlines())


# -- experts ----------------------------------------------------------------------------------


def mixture(chosen: int, experts: int) -> str:
    return (
        "Let y be mixture of x with router r and gates g and ups u and downs d "
        f"choosing {chosen} of {experts} experts."
    )


def moe_by_rows(x, r, g, u, d, chosen, experts):
    width, hidden = x.shape[1], g.shape[1]
    y = np.zeros(x.shape)
    for t, row in enumerate(x):
        p = np.exp(row @ r) / np.exp(row @ r).sum()
        best = sorted(range(experts), key=lambda e: (-p[e], e))[:chosen]
        for e in best:
            gate = row @ g[e * width :][:width]
            inside = gate / (1 + np.exp(-gate)) * (row @ u[e * width :][:width])
            y[t] += p[e] / p[best].sum() * (inside @ d[e * hidden :][:hidden])
    return y


@pytest.mark.parametrize(("chosen", "experts"), [(1, 3), (2, 3), (3, 3), (1, 1), (2, 4)])
def test_a_mixture_of_experts(chosen: int, experts: int) -> None:
    seed, width, hidden = chosen + 10 * experts, 3, 2
    stacked = (experts * width, hidden)
    x, r, g, u, d = random(
        seed, (4, width), (width, experts), stacked, stacked, (experts * hidden, width)
    )
    given = {"x": x, "r": r, "g": g, "u": u, "d": d}
    expected = moe_by_rows(x, r, g, u, d, chosen, experts)
    assert_allclose(both(mixture(chosen, experts), **given), expected, err_msg=f"seed {seed}")
    agrees(mixture(chosen, experts), seed, **given)


def experts_giving(*outputs: float) -> dict[str, np.ndarray]:
    """Experts of one column that give these numbers for x = 1: silu(1) · u · d = output."""
    silu = 1 / (1 + np.exp(-1.0))
    ones = np.ones((len(outputs), 1))
    return {
        "x": np.ones((1, 1)),
        "g": ones,
        "u": ones / silu,
        "d": 1.0 * np.array(outputs).reshape(-1, 1),
    }


def test_c20_the_router_learns_from_the_chosen_weights() -> None:
    given = experts_giving(1, 5, 9) | {"r": np.array([[2.0, 1.0, 0.0]])}
    assert_allclose(both(mixture(2, 3), **given), [[2.075766]], rtol=1e-6)
    found = gradients(mixture(2, 3), [[1.0]], **given)
    assert_allclose(found["r"], [[-0.786448, 0.786448, 0.0]], rtol=1e-5)
    assert_allclose(found["d"], [[0.731059], [0.268941], [0.0]], rtol=1e-5)


def test_c20_one_expert_leaves_the_router_a_gradient_of_exactly_zero() -> None:
    given = experts_giving(1, 5, 9) | {"r": np.array([[2.0, 1.0, 0.0]])}
    assert gradients(mixture(1, 3), [[1.0]], **given)["r"].tolist() == [[0.0, 0.0, 0.0]]
    assert "exactly zero" in TABLE["Moe"].about


def test_c20_equal_logits_choose_different_experts_the_lower_numbers() -> None:
    given = experts_giving(1, 5, 9) | {"r": np.ones((1, 3))}
    assert_allclose(both(mixture(2, 3), **given), [[3.0]])
    assert_allclose(both(mixture(1, 3), **given), [[1.0]])


def test_logits_whose_shares_round_to_the_same_still_differ() -> None:
    given = experts_giving(1, 5) | {"r": np.array([[0.0, 1e-17]])}
    assert_allclose(both(mixture(1, 2), **given), [[5.0]])
