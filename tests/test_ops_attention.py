"""Attention, and integer ops, against rows computed here from the language's definition."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from op_programs import agrees, both, gradients, prepared, random, refused

from logosnb.ops.op import OpError
from logosnb.ops.table import TABLE

inf, nan = np.inf, np.nan


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


def test_requantizing_a_small_number_by_a_large_one() -> None:
    y = both(f"Let y be x requantized by {2**40} shifted right by 42.", x=[[2**30, -(2**30) - 1]])
    assert y.tolist() == [[2**28, -(2**28) - 1]]


@pytest.mark.parametrize(("low", "high"), [(-2, 3), (0, 0), (-(10**30), 10**30), (5, 10**30)])
def test_clamping_between_bounds_of_any_size(low: int, high: int) -> None:
    x = [-(2**63), -3, 0, 4, 2**63 - 1]
    expected = [min(max(number, low), high) for number in x]
    assert both(f"Let y be x clamped between {low} and {high}.", x=[x]).tolist() == [expected]


def test_clamping_to_what_no_tensor_holds() -> None:
    big = 10**30
    refused(f"Let y be x clamped between {big} and {big + 1}.", "64 bits", x=[[1]])
    refused(f"Let y be x clamped between {-big} and {1 - big}.", "64 bits", x=[[1]])
