"""Gathers, heads, rope, attention, recurrences, experts and integer ops: every op against loops or
arrays written here from the language's definition, every refusal by its words.

Each program runs twice, with the op's meaning and with its expansion, and both must give the same.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from examples import CASES, IDS, arrays
from numpy.testing import assert_allclose, assert_array_equal

import logosnb
from logosnb.gradient.sweep import stage_values
from logosnb.ops.op import Mismatch, Operands, OpError, Shape
from logosnb.ops.table import TABLE
from logosnb.ops.template import render

inf, nan = np.inf, np.nan
HERE = """RowGather RowsGather ArgMax SetRow HeadSlice Join Rope Attention FullAttention LutAttention
IntRequant IntClamp Decay CausalConv GatedDelta Moe""".split()
MINE = [(name, case) for name, case in zip(IDS, CASES) if case[1].name in HERE]


def random(seed: int, *shapes: tuple[int, int]) -> list[np.ndarray]:
    generator = np.random.default_rng(seed)
    return [generator.normal(size=shape) for shape in shapes]


def declared(inputs: dict[str, np.ndarray]) -> str:
    return "".join(
        f"Let {name} be a {value.shape[0]} by {value.shape[1]} tensor of "
        f"{'Int' if value.dtype.kind == 'i' else 'Real'}.\n"
        for name, value in inputs.items()
    )


def prepared(inputs: dict) -> dict[str, np.ndarray]:
    return {name: np.array(value) for name, value in inputs.items()}


def expanded(text: str, head: str) -> str:
    """The program with its last statement, an op, written out as that op's expansion."""
    program = logosnb.parse(text)
    stage = program.stages[-1]
    values = stage_values(stage, program.shapes, program.kinds)
    lines = render(stage.definition.expansion, values, set(stage.operands), lambda stem, _: stem)
    return head + "\n".join(lines) + "\n"


def both(statement: str, setup: str = "", **given) -> np.ndarray:
    """The result of one op; its expansion gives the same, to the last bits of a sum."""
    inputs = prepared(given)
    head = declared(inputs) + (setup and f"{setup}\n")
    text = f"{head}{statement}\n"
    name = logosnb.parse(text).stages[-1].out
    meant = logosnb.run(text, inputs)[name]
    written = logosnb.run(expanded(text, head), inputs)[name]
    assert written.dtype == meant.dtype
    assert_allclose(written, meant, rtol=1e-12, atol=1e-14)
    return meant


def refused(statement: str, *words: str, setup: str = "", **given) -> None:
    """The op refuses with these words at its line, and its expansion does not run either."""
    inputs = prepared(given)
    head = declared(inputs) + (setup and f"{setup}\n")
    text = f"{head}{statement}\n"
    with pytest.raises(logosnb.LogosRuntimeError) as error:
        logosnb.run(text, inputs)
    assert all(word in str(error.value) for word in words), str(error.value)
    assert error.value.line == text.count("\n")
    with pytest.raises(logosnb.LogosRuntimeError):
        logosnb.run(expanded(text, head), inputs)


def gradients(statement: str, cotangent, of: str = "y", **given) -> dict[str, np.ndarray]:
    inputs = prepared(given)
    found = logosnb.grad(f"{declared(inputs)}{statement}\n", inputs, of=of, cotangent=cotangent)
    return dict(found.grads)


def agrees(statement: str, seed: int, of: str = "y", setup: str = "", **given) -> None:
    """Every gradient that the op has agrees with central differences."""
    inputs = prepared(given)
    text = f"{declared(inputs)}{setup and setup + chr(10)}{statement}\n"
    report = logosnb.check(text, inputs, of=of, seed=seed)
    assert report.rows and report.ok, f"{statement} seed {seed}\n{report}"


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
    ("Attention", {**CLAUSES, **{"q": (2, 5), "k": (3, 4), "v": (3, 4), "heads": 2}}),
    ("Attention", {**CLAUSES, **{"q": (2, 4), "k": (3, 6), "v": (3, 4), "heads": 2}}),
    ("Attention", {**CLAUSES, **{"q": (2, 4), "k": (3, 4), "v": (3, 5), "heads": 2}}),
    ("Attention", {**CLAUSES, **{"q": (2, 4), "k": (3, 4), "v": (2, 4), "heads": 2}}),
    (
        "Attention",
        {**CLAUSES, **{"q": (2, 4), "k": (3, 4), "v": (3, 4), "heads": 4, "key_heads": 3}},
    ),
    (
        "Attention",
        {**CLAUSES, **{"q": (2, 4), "k": (3, 4), "v": (3, 4), "heads": 2, "sinks": Shape(2, 1)}},
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
    head = declared(inputs)
    text = expanded(f"{head}Set rows from 3 of t to x.\n", head)
    reading, writing = text.index("Let end be"), text.index("Set item")
    assert reading < writing
    refused("Set rows from 3 of t to x.", "rows 3 … 4", **inputs)


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


# -- attention --------------------------------------------------------------------------------


def attended(r: int, keys: int, position, window, chunk) -> range:
    """The keys of row r, from one, as the language defines them."""
    n = keys if position is None else position + r - 1
    low = 1
    if window is not None:
        low = max(1, n - window + 1)
    if chunk is not None:
        low = (n - 1) // chunk * chunk + 1
    return range(low, n + 1)


def attention_by_rows(
    q,
    k,
    v,
    heads,
    kv=None,
    position=None,
    scale=None,
    cap=None,
    window=None,
    chunk=None,
    sinks=None,
):
    kv = kv or heads
    width, value = q.shape[1] // heads, v.shape[1] // kv
    y = np.zeros((len(q), heads * value))
    for r, head in product(range(1, len(q) + 1), range(heads)):
        group = head // (heads // kv)
        keys = [j - 1 for j in attended(r, len(k), position, window, chunk)]
        mine = q[r - 1, head * width :][:width]
        scores = np.array([mine @ k[j, group * width :][:width] for j in keys])
        scores = scores * (1 / np.sqrt(width) if scale is None else scale)
        scores = scores if cap is None else cap * np.tanh(scores / cap)
        logits = scores if sinks is None else np.append(scores, sinks[0, head])
        shares = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
        rows = np.array([v[j, group * value :][:value] for j in keys])
        y[r - 1, head * value :][:value] = shares[: len(keys)] @ rows
    return y


EXTENTS = ["", " within a window of 2", " within chunks of 3"]
COMBINED = [
    (kv, position, more, extent, sink)
    for (kv, position, more), extent, sink in product(
        [(None, None, ""), (2, 3, " scaled by -0.5"), (1, 1, " scaled by 2 softcapped at 1.5")],
        EXTENTS,
        [False, True],
    )
]


@pytest.mark.parametrize(("kv", "position", "more", "extent", "sink"), COMBINED)
def test_attention_whatever_its_clauses(kv, position, more, extent, sink) -> None:
    seed, heads, groups = 3 + 7 * bool(extent), 4, kv or 4
    q, k, v, sinks = random(seed, (3, 8), (6, groups * 2), (6, groups * 3), (1, heads))
    clauses = f" sharing {kv} key heads" if kv else ""
    clauses += f" from position {position}" if position else ""
    statement = f"Let y be attention of q over k and v across 4 heads{clauses}{more}{extent}"
    statement += " with sinks sinks." if sink else "."
    given = {"q": q, "k": k, "v": v, **({"sinks": sinks} if sink else {})}
    numbers = [float(word) for word in more.split() if word[-1].isdigit()]
    expected = attention_by_rows(
        q, k, v, heads, kv, position,
        scale=numbers[0] if numbers else None,
        cap=numbers[1] if len(numbers) > 1 else None,
        window=2 if "window" in extent else None,
        chunk=3 if "chunks" in extent else None,
        sinks=sinks if sink else None,
    )  # fmt: skip
    assert_allclose(both(statement, **given), expected, rtol=1e-12, err_msg=f"seed {seed}")
    agrees(statement, seed, **given)


def test_full_attention_is_attention_without_clauses() -> None:
    q, k, v = random(1, (3, 4), (5, 4), (5, 6))
    full = both("Let y be full attention of q over k and v across 2 heads.", q=q, k=k, v=v)
    assert_allclose(full, attention_by_rows(q, k, v, 2))
    agrees("Let y be full attention of q over k and v across 2 heads.", 1, q=q, k=k, v=v)


def pattern(queries: int, keys: int, clauses: str) -> list[str]:
    """Which keys each row reads: with equal scores and one value a key, where the result is not 0."""
    zeros = {"q": np.zeros((queries, 1)), "k": np.zeros((keys, 1)), "v": np.eye(keys)}
    y = both(f"Let y be attention of q over k and v across 1 head{clauses}.", **zeros)
    assert_allclose(y.sum(axis=1), 1.0)
    return ["".join("1" if share > 0 else "0" for share in row) for row in y]


def test_c18_the_mask_goes_by_position() -> None:
    assert pattern(2, 5, " from position 4") == ["11110", "11111"]
    assert pattern(1, 5, " from position 5") == ["11111"]
    assert pattern(3, 3, " from position 1") == ["100", "110", "111"]
    assert pattern(2, 3, "") == ["111", "111"]


def test_c19_a_window_counts_its_own_row() -> None:
    rows = pattern(6, 6, " from position 1 within a window of 3")
    assert rows == ["100000", "110000", "111000", "011100", "001110", "000111"]
    assert pattern(1, 5, " within a window of 3") == ["00111"]
    rows = pattern(5, 5, " from position 1 within chunks of 2")
    assert rows == ["10000", "11000", "00100", "00110", "00001"]
    assert pattern(1, 5, " within chunks of 2") == ["00001"]


def test_c17_neighbouring_heads_share_a_key_head() -> None:
    q, k = np.zeros((1, 4)), np.zeros((1, 2))
    statement = "Let y be attention of q over k and v across 4 heads sharing 2 key heads."
    assert both(statement, q=q, k=k, v=[[1.0, 2.0]]).tolist() == [[1, 1, 2, 2]]
    found = gradients(statement, [[1, 10, 100, 1000]], q=q, k=k, v=np.array([[1.0, 2.0]]))
    assert found["v"].tolist() == [[11, 1100]]


ONE = "Let y be attention of q over k and v across 1 head"


@pytest.mark.parametrize(("position", "words"), [(0, "position 0"), (3, "row 2 attends 4 keys")])
def test_attention_past_its_keys(position: int, words: str) -> None:
    x, setup = np.ones((3, 1)), f"Let p be {position}."
    refused(f"{ONE} from position p.", words, "`k`", setup=setup, q=np.ones((2, 1)), k=x, v=x)


def test_attention_of_huge_scores_is_finite() -> None:
    k, v = np.array([[1e4], [1e4 - 1]]), np.array([[2.0], [4.0]])
    assert_allclose(both(f"{ONE}.", q=[[1.0]], k=k, v=v), [[2.537882843]])
    assert_allclose(both(f"{ONE}.", q=[[-1.0]], k=k, v=v), [[3.462117157]])


@pytest.mark.parametrize("end", [".", " with sinks sinks."])
def test_a_row_of_minus_infinity_gives_zeros_and_no_gradient(end: str) -> None:
    given = {"q": [[1.0], [0.5]], "k": [[-inf], [-inf]], "v": [[2.0], [3.0]]}
    given |= {"sinks": [[-inf]]} if "sinks" in end else {}
    assert_array_equal(both(ONE + end, **given), np.zeros((2, 1)))
    for name, found in gradients(ONE + end, [[1.0], [3.0]], **given).items():
        assert_array_equal(found, np.zeros(found.shape), err_msg=name)


def test_one_infinite_key_takes_no_weight_and_poisons_nothing() -> None:
    given = {"q": [[1.0]], "k": [[-inf], [0.0], [0.0]], "v": [[9.0], [2.0], [4.0]]}
    assert_allclose(both(f"{ONE}.", **given), [[3.0]])
    found = gradients(f"{ONE}.", [[2.0]], **given)
    assert_allclose(found["v"], [[0.0], [1.0], [1.0]])
    assert_allclose(found["k"], [[0.0], [-1.0], [1.0]])
    assert_array_equal(found["q"], [[0.0]])


@pytest.mark.parametrize("hidden", [nan, inf])
def test_what_the_mask_hides_is_not_read(hidden: float) -> None:
    given = {"q": [[1.0]], "k": [[1.0], [hidden]], "v": [[2.0], [hidden]]}
    assert_array_equal(both(f"{ONE} from position 1.", **given), [[2.0]])
    found = gradients(f"{ONE} from position 1.", [[5.0]], **given)
    assert_array_equal(found["v"], [[5.0], [0.0]])
    assert_array_equal(found["k"], [[0.0], [0.0]])


# -- attention and scaling in integers --------------------------------------------------------


def lookup_by_rows(q, k, v, table, heads, shift, position):
    width, value = q.shape[1] // heads, v.shape[1] // heads
    y = []
    for r in range(1, len(q) + 1):
        keys, row = [j - 1 for j in attended(r, len(k), position, None, None)], []
        for head in range(heads):
            mine = [int(n) for n in q[r - 1, head * width :][:width]]
            scores = [sum(a * int(b) for a, b in zip(mine, k[j, head * width :])) for j in keys]
            gaps = [min((max(scores) - score) >> shift, table.size - 1) for score in scores]
            w = [int(table.reshape(-1)[gap]) for gap in gaps]
            sums = [
                sum(a * int(v[j, head * value + i]) for a, j in zip(w, keys)) for i in range(value)
            ]
            row += [total // sum(w) for total in sums]
        y.append(row)
    return y


@pytest.mark.parametrize("size", [20, 2**30, 2**45])
@pytest.mark.parametrize("position", [None, 2])
def test_lookup_attention_is_exact(size: int, position) -> None:
    """At 2³⁰ a score, at 2⁴⁵ every sum is past 64 bits, and none of it is kept in a tensor."""
    generator = np.random.default_rng(size % 97)
    q, k, v = (generator.integers(-size, size, shape) for shape in ((3, 4), (5, 4), (5, 6)))
    table = generator.integers(1, size, (1, 7))
    shift = 2 * size.bit_length() - 4
    clause = f" from position {position}" if position else ""
    statement = (
        f"Let y be lookup attention of q over k and v with table t across 2 heads shifted right by {shift}"
        f"{clause}."
    )
    expected = lookup_by_rows(q, k, v, table, 2, shift, position)
    assert both(statement, q=q, k=k, v=v, t=table).tolist() == expected
    assert both(statement, q=q, k=k, v=v, t=table.T).tolist() == expected


def test_lookup_attention_refuses_weights_that_sum_to_zero() -> None:
    statement = (
        "Let y be lookup attention of q over k and v with table t across 1 head shifted right by 1."
    )
    given = {"q": [[1]], "k": [[4], [2]], "v": [[1], [1]]}
    refused(statement, "`t`", "zero", **given, t=[[3, -3]])
    with pytest.raises(OpError):
        TABLE["LutAttention"].meaning(
            **prepared(given), lookup=np.zeros((1, 1), np.int64), heads=1, shift=1
        )


@pytest.mark.parametrize("multiplier", [77, -3, 0, 2**70])
@pytest.mark.parametrize("shift", [1, 8, 63, 64, 80])
def test_requantizing_floors_the_exact_product(multiplier: int, shift: int) -> None:
    x = [-(2**62), -(2**31), -257, -1, 0, 1, 255, 2**31, 2**62]
    expected = [number * multiplier >> shift for number in x]
    statement = f"Let y be x requantized by {multiplier} shifted right by {shift}."
    if all(-(2**63) <= number < 2**63 for number in expected):
        assert both(statement, x=[x]).tolist() == [expected]
    else:
        refused(statement, "64 bits", x=[x])


@pytest.mark.parametrize(("low", "high"), [(-2, 3), (0, 0), (-(10**30), 10**30), (5, 10**30)])
def test_clamping_between_bounds_of_any_size(low: int, high: int) -> None:
    x = [-(2**63), -3, 0, 4, 2**63 - 1]
    expected = [min(max(number, low), high) for number in x]
    assert both(f"Let y be x clamped between {low} and {high}.", x=[x]).tolist() == [expected]


def test_clamping_to_what_no_tensor_holds() -> None:
    big = 10**30
    refused(f"Let y be x clamped between {big} and {big + 1}.", "64 bits", x=[[1]])
    refused(f"Let y be x clamped between {-big} and {1 - big}.", "64 bits", x=[[1]])


# -- along the rows ---------------------------------------------------------------------------


def test_decay_keeps_what_softplus_keeps_far_below_zero() -> None:
    """log(1 + e⁻⁴⁰) is e⁻⁴⁰, not the 0 that 1 + e⁻⁴⁰ rounds to: times e⁴⁰ it is 1."""
    given = {"a": [[-40.0, 800.0, -800.0]], "r": [[40.0, 0.0, 0.0]], "d": [[0.0, 0.0, 0.0]]}
    y = both("Let y be decay of a with rate r and bias d.", **given)
    assert_allclose(y, [[np.exp(-1), 0.0, 1.0]], rtol=1e-12)
    found = gradients("Let y be decay of a with rate r and bias d.", [[1.0, 1.0, 1.0]], **given)
    for name in "ard":
        assert_allclose(found[name][:, 0], [-np.exp(-1)], rtol=1e-12, err_msg=name)
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
