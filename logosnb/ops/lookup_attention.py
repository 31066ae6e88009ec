"""Attention in integers, its exponential looked up in a table.

In: tensors of Int. Out: the block of LutAttention. May not know: stages.
"""

from __future__ import annotations

import numpy as np

from logosnb.ops.attention import allowed
from logosnb.ops.integers import in_64_bits
from logosnb.ops.op import Array, Example, NoGradient, Op, Operands, OpError, require
from logosnb.ops.rules import LARGEST


def lookup_shape(s: Operands) -> tuple[int, int]:
    require(s.q.columns % s.heads == 0, "the heads must divide the columns of {q}", "q")
    require(s.k.columns == s.q.columns, "{q} and {k} must be as wide as each other", "q", "k")
    require(s.v.columns % s.heads == 0, "the heads must divide the columns of {v}", "v")
    require(s.k.rows == s.v.rows, "{k} and {v} must have as many rows", "k", "v")
    require(1 in s.lookup, "the table {lookup} must be one row or one column", "lookup")
    return s.q.rows, s.v.columns


def lookup_attention(
    q: Array, k: Array, v: Array, lookup: Array, heads: int, shift: int, position: int | None = None
) -> Array:
    seen = allowed(len(q), len(k), position, None, None)
    if not sums_fit(q, k, v, lookup):
        q, k, v, lookup = (t.astype(object) for t in (q, k, v, lookup))
    queries, keys, values = (t.reshape(len(t), heads, -1) for t in (q, k, v))
    y = np.empty((len(q), heads, values.shape[2]), dtype=q.dtype)
    for head in range(heads):
        scores = queries[:, head] @ keys[:, head].T
        weights = looked_up(scores, seen, lookup.reshape(-1), shift)
        total = weights.sum(axis=1, keepdims=True)
        if (total == 0).any():
            raise OpError("the weights that {lookup} gives a row sum to zero")
        y[:, head] = (weights @ values[:, head]) // total
    return in_64_bits(y).reshape(len(q), -1)


def sums_fit(q: Array, k: Array, v: Array, lookup: Array) -> bool:
    """Whether scores, gaps and weighted sums surely stay within 64 bits; if not, they are summed as
    Python's integers, as the expansion sums them, and only the result has to fit."""
    largest = [float(np.abs(t.astype(np.float64)).max()) for t in (q, k, v, lookup)]
    gap = 2.0 * q.shape[1] * largest[0] * largest[1]
    return bool(max(gap, len(k) * largest[3] * max(1.0, largest[2])) < LARGEST)


def looked_up(scores: Array, seen: Array, table: Array, shift: int) -> Array:
    """Each key's weight, zero where a row does not attend it."""
    largest = np.where(seen, scores, scores.min()).max(axis=1, keepdims=True)
    steps = shift if scores.dtype == object else min(shift, 63)  # 64 bits shift by 63 at most
    entries = np.minimum((largest - scores) >> steps, len(table) - 1)
    return np.where(seen, table[np.where(seen, entries, 0).astype(np.int64)], 0)


LUT_ATTENTION = Op(
    name="LutAttention",
    phrase=(
        "lookup attention of {q} over {k} and {v} with table {lookup} across {heads} heads "
        "shifted right by {shift} [from position {position}]"
    ),
    about=(
        "In integers: a key's gap is (largest score − score) >> shift, held to the table's last "
        "entry; its weight is that entry; the result is ⌊Σ weight·v / Σ weight⌋. The sums are exact."
    ),
    shape=lookup_shape,
    meaning=lookup_attention,
    kind="Int",
    integers=("q", "k", "v"),
    sizes=lambda s: {
        "width": s.q.columns // s.heads,
        "value_width": s.v.columns // s.heads,
        "divisor": 2**s.shift,
        "entries": s.lookup.rows * s.lookup.columns,
    },
    expansion="""
        Let {y} be a {y.rows} by {y.columns} tensor of Int.
        Repeat for row from 1 to {q.rows}:
            [position| Let last be {position} + row - 1.]
            [!position| Let last be {k.rows}.]
            Repeat for head from 1 to {heads}:
                Let scores be a new Seq of Int.
                Repeat for j from 1 to last:
                    Let mutable score be 0.
                    Repeat for i from 1 to {width}:
                        Let from_q be (row - 1) * {q.columns} + (head - 1) * {width} + i.
                        Let from_k be (j - 1) * {k.columns} + (head - 1) * {width} + i.
                        Set score to score + (item from_q of {q}) * (item from_k of {k}).
                    Push score to scores.
                Let mutable largest be item 1 of scores.
                Repeat for score in scores:
                    Set largest to max(largest, score).
                Let mutable total be 0.
                Let weights be a new Seq of Int.
                Repeat for score in scores:
                    Let weight be item (min((largest - score) // {divisor} + 1, {entries})) of {lookup}.
                    Push weight to weights.
                    Set total to total + weight.
                Repeat for i from 1 to {value_width}:
                    Let mutable sum be 0.
                    Repeat for j from 1 to last:
                        Let from_v be (j - 1) * {v.columns} + (head - 1) * {value_width} + i.
                        Set sum to sum + (item j of weights) * (item from_v of {v}).
                    Let at be (row - 1) * {y.columns} + (head - 1) * {value_width} + i.
                    Set item at of {y} to sum // total.
    """,
    adjoint=NoGradient(
        "a floored mean of integers, weighted from a table, is a step function of them"
    ),
    formula="none: a step function of q, k and v",
    examples=(
        Example(
            "Let y be lookup attention of q over k and v with table t across 1 head shifted right by 1.",
            {"q": [[1]], "k": [[4], [2]], "v": [[10], [20]], "t": [[3, 1]]},
            [[12]],
            note="Gaps 0 and 2 >> 1 = 1, weights 3 and 1: ⌊(30 + 20) / 4⌋ = 12.",
        ),
        Example(
            "Let y be lookup attention of q over k and v with table t across 1 head shifted right by 1 "
            "from position 1.",
            {"q": [[1], [1]], "k": [[4], [2]], "v": [[10], [20]], "t": [[3, 1]]},
            [[10], [12]],
        ),
    ),
)
