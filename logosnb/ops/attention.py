"""Attention: each row of q weighs the rows of k, and takes that mean of the rows of v.

In: tensors. Out: the blocks of Attention, FullAttention. May not know: stages.

The forward keeps no weights; the adjoint computes a row's scores again, head by head.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from logosnb.ops.op import Array, Example, Op, Operands, OpError, Rows, require


def attention_shape(s: Operands) -> tuple[int, int]:
    heads, key_heads = s.heads, s.key_heads or s.heads
    require(s.q.columns % heads == 0, "the heads must divide the columns of {q}", "q")
    require(heads % key_heads == 0, f"{key_heads} key heads do not divide {heads} heads", "q")
    require(s.k.columns % key_heads == 0, "the key heads must divide the columns of {k}", "k")
    require(s.v.columns % key_heads == 0, "the key heads must divide the columns of {v}", "v")
    same = s.k.columns // key_heads == s.q.columns // heads
    require(same, "a head of {q} and one of {k} must be as wide as each other", "q", "k")
    require(s.k.rows == s.v.rows, "{k} and {v} must have as many rows", "k", "v")
    if s.sinks is not None:
        require(s.sinks == (1, heads), "{sinks} must be one row with a logit a head", "sinks")
    return s.q.rows, heads * (s.v.columns // key_heads)


def sizes(s: Operands) -> dict[str, int | float]:
    key_heads = s.key_heads or s.heads
    width = s.q.columns // s.heads
    return {
        "width": width,
        "value_width": s.v.columns // key_heads,
        "sharing": s.heads // key_heads,
        "alpha": float(s.scale if s.scale is not None else 1.0 / sqrt(width)),
    }


def allowed(
    count: int, keys: int, position: int | None, window: int | None, chunk: int | None
) -> Array:
    """Which keys each row attends: count × keys, true where it does."""
    row = np.arange(1, count + 1)[:, None]
    last = np.full((count, 1), keys) if position is None else position + row - 1
    if position is not None and position < 1:
        raise OpError(f"position {position} is before the first row of {{k}}")
    if position is not None and position + count - 1 > keys:
        needed = position + count - 1
        raise OpError(f"row {count} attends {needed} keys, but {{k}} has {keys} rows")
    first = np.ones_like(last)
    if window is not None:
        first = np.maximum(1, last - window + 1)
    if chunk is not None:
        first = (last - 1) // chunk * chunk + 1
    key = np.arange(1, keys + 1)[None, :]
    return (key >= first) & (key <= last)


def weights(scores: Array, sink: float | None) -> Array:
    """Softmax of each row, the sink a logit without a value; zeros where every score is −∞."""
    largest = scores.max(axis=1, keepdims=True, initial=-np.inf if sink is None else sink)
    largest = np.where(np.isneginf(largest), 0.0, largest)
    raised = np.exp(scores - largest)
    total = raised.sum(axis=1, keepdims=True)
    if sink is not None:
        total = total + np.exp(sink - largest)
    shares: Array = raised / np.where(total == 0, 1.0, total)
    return shares


def mixed(shares: Array, values: Array, seen: Array) -> Array:
    """The weighted sums of the values; one that a row does not attend is not read, be it NaN."""
    if np.isfinite(values).all():
        return shares @ values
    products = np.where(seen[:, :, None], shares[:, :, None] * values, 0.0)
    return np.asarray(products.sum(axis=1))


def attention(
    q: Array,
    k: Array,
    v: Array,
    heads: int,
    key_heads: int | None = None,
    position: int | None = None,
    scale: float | None = None,
    cap: float | None = None,
    window: int | None = None,
    chunk: int | None = None,
    sinks: Array | None = None,
) -> Array:
    groups = key_heads or heads
    queries = q.reshape(len(q), heads, -1)
    keys, values = (t.reshape(len(t), groups, -1) for t in (k, v))
    seen = allowed(len(q), len(k), position, window, chunk)
    factor = 1.0 / sqrt(queries.shape[2]) if scale is None else scale
    y = np.empty((len(q), heads, values.shape[2]))
    for head in range(heads):
        group = head * groups // heads
        scores = queries[:, head] @ keys[:, group].T * factor
        scores = scores if cap is None else cap * np.tanh(scores / cap)
        sink = None if sinks is None else float(sinks[0, head])
        shares = weights(np.where(seen, scores, -np.inf), sink)
        y[:, head] = mixed(shares, values[:, group], seen)
    return y.reshape(len(q), -1)


# The keys that a row attends, and its scores; `base_q`, … are the items before a head's part of a row.
# `newest` is read so that a position with no such key is an error before anything is written.
SCORES = """
Repeat for row from 1 to {q.rows}:
    [position| Let last be {position} + row - 1.]
    [position| Let newest be item ((last - 1) * {k.columns} + 1) of {k}.]
    [!position| Let last be {k.rows}.]
    [window| Let first be max(1, last - {window} + 1).]
    [chunk| Let first be (last - 1) / {chunk} * {chunk} + 1.]
    [!window| [!chunk| Let first be 1.]]
    Repeat for head from 1 to {heads}:
        Let group be (head - 1) / {sharing} + 1.
        Let base_q be (row - 1) * {q.columns} + (head - 1) * {width}.
        Let base_y be (row - 1) * {y.columns} + (head - 1) * {value_width}.
        Let scores be a new Seq of Real.
        [sinks| Let mutable largest be item head of {sinks}.]
        [!sinks| Let mutable largest be -infinity.]
        Repeat for j from first to last:
            Let base_k be (j - 1) * {k.columns} + (group - 1) * {width}.
            Let mutable score be 0.0.
            Repeat for i from 1 to {width}:
                Let product be (item (base_q + i) of {q}) * (item (base_k + i) of {k}).
                Set score to score + product.
            Set score to score * {alpha}.
            [cap| Set score to {cap} * tanh(score / {cap}).]
            Push score to scores.
            Set largest to max(largest, score).
        If largest == -infinity:
            Set largest to 0.0.
        Let mutable total be 0.0.
        [sinks| Set total to exp((item head of {sinks}) - largest).]
        Let weights be a new Seq of Real.
        Repeat for score in scores:
            Push exp(score - largest) to weights.
            Set total to total + exp(score - largest).
        If total == 0.0:
            Set total to 1.0.
"""
EXPANSION = (
    "Let {y} be a {y.rows} by {y.columns} tensor of Real."
    + SCORES
    + """
        Repeat for j from first to last:
            Let base_v be (j - 1) * {v.columns} + (group - 1) * {value_width}.
            Let weight be (item (j - first + 1) of weights) / total.
            Repeat for i from 1 to {value_width}:
                Let at be base_y + i.
                Let part be weight * (item (base_v + i) of {v}).
                Set item at of {y} to (item at of {y}) + part.
"""
)
ADJOINT = (
    """
[dq| Let {dq} be a {q.rows} by {q.columns} tensor of Real.]
[dk| Let {dk} be a {k.rows} by {k.columns} tensor of Real.]
[dv| Let {dv} be a {v.rows} by {v.columns} tensor of Real.]
[dsinks| Let {dsinks} be a 1 by {heads} tensor of Real.]"""
    + SCORES
    + """
        Let slopes be a new Seq of Real.
        Let mutable expected be 0.0.
        Repeat for j from first to last:
            Let base_v be (j - 1) * {v.columns} + (group - 1) * {value_width}.
            Let weight be (item (j - first + 1) of weights) / total.
            Let mutable slope be 0.0.
            Repeat for i from 1 to {value_width}:
                Let at be base_v + i.
                Let slope_y be item (base_y + i) of {dy}.
                Set slope to slope + slope_y * (item at of {v}).
                [dv| Set item at of {dv} to (item at of {dv}) + weight * slope_y.]
            Push slope to slopes.
            Set expected to expected + weight * slope.
        [dsinks| Let weight be exp((item head of {sinks}) - largest) / total.]
        [dsinks| Set item head of {dsinks} to (item head of {dsinks}) - weight * expected.]
        [dq or dk| Repeat for j from first to last:
            Let base_k be (j - 1) * {k.columns} + (group - 1) * {width}.
            Let weight be (item (j - first + 1) of weights) / total.
            Let distance be (item (j - first + 1) of slopes) - expected.
            Let mutable slope be weight * distance * {alpha}.
            [cap| Let capped be (item (j - first + 1) of scores) / {cap}.]
            [cap| Set slope to slope * (1.0 - capped * capped).]
            If slope != 0.0:
                Repeat for i from 1 to {width}:
                    Let at_q be base_q + i.
                    Let at_k be base_k + i.
                    [dq| Set item at_q of {dq} to (item at_q of {dq}) + slope * (item at_k of {k}).]
                    [dk| Set item at_k of {dk} to (item at_k of {dk}) + slope * (item at_q of {q}).]]
"""
)
# A score of no slope passes nothing on, so that an infinite key with weight zero gives no 0 · ∞.
FORMULA = (
    "u = α q·k,  s = C tanh(u/C) if capped,  p = softmax(s, sink) over the keys attended,  y = Σ p v\n"
    "dv = p dy,  dp = dy·v,  ds = p (dp − Σ p dp),  du = ds (1 − (s/C)²)\n"
    "dq = α Σ du k,  dk = α Σ du q,  dsink = −p_sink Σ p dp"
)
HALF: dict[str, Rows] = {"q": [[0], [0]], "k": [[1], [2]], "v": [[2], [4]]}
LOG3 = float(np.log(3))

ATTENTION = Op(
    name="Attention",
    phrase=(
        "attention of {q} over {k} and {v} across {heads} heads [sharing {key_heads} key heads] "
        "[from position {position}] [scaled by {scale}] [softcapped at {cap}] "
        "[within a window of {window} / within chunks of {chunk}] [with sinks {sinks}]"
    ),
    about=(
        "Per row and head the mean of v weighted by softmax(scale·q·k), scale 1/√width if left out. "
        "Row r attends every key, or with a position p keys 1 … p + r − 1, of these the last W in a "
        "window, or those of its own chunk of C. A sink is a logit a head that carries no value. The "
        "largest score is subtracted; where every score is −∞ the row gives zeros, and zero gradients."
    ),
    shape=attention_shape,
    meaning=attention,
    sizes=sizes,
    expansion=EXPANSION,
    adjoint={"q k v sinks": ADJOINT},
    formula=FORMULA,
    examples=(
        Example(
            "Let y be attention of q over k and v across 1 head.",
            {"q": [[0]], "k": [[1], [3]], "v": [[2], [4]]},
            [[3]],
            [[2]],
            {"q": [[2]], "k": [[0], [0]], "v": [[1], [1]]},
            note="Equal scores, so equal weights: dp = [4, 8], Σ p dp = 6, ds = [−1, 1], dq = −1 + 3.",
        ),
        Example(
            "Let y be attention of q over k and v across 2 heads sharing 1 key head.",
            {"q": [[0, 0]], "k": [[1], [3]], "v": [[2], [4]]},
            [[3, 3]],
            [[2, 4]],
            {"q": [[2, 4]], "k": [[0], [0]], "v": [[3], [3]]},
        ),
        Example(
            "Let y be attention of q over k and v across 1 head from position 1.",
            HALF,
            [[2], [3]],
            [[1], [2]],
            {"q": [[0], [1]], "k": [[0], [0]], "v": [[2], [1]]},
        ),
        Example(
            "Let y be attention of q over k and v across 1 head scaled by 2 softcapped at 5.0.",
            {"q": [[0]], "k": [[1], [3]], "v": [[2], [4]]},
            [[3]],
            [[2]],
            {"q": [[4]], "k": [[0], [0]], "v": [[1], [1]]},
        ),
        Example(
            "Let y be attention of q over k and v across 1 head from position 1 within a window of 1.",
            HALF,
            [[2], [4]],
            [[1], [2]],
            {"q": [[0], [0]], "k": [[0], [0]], "v": [[1], [2]]},
        ),
        Example(
            "Let y be attention of q over k and v across 1 head from position 2 within chunks of 2.",
            {"q": [[0], [0]], "k": [[1], [2], [3]], "v": [[2], [4], [6]]},
            [[3], [6]],
            [[2], [5]],
            {"q": [[1], [0]], "k": [[0], [0], [0]], "v": [[1], [1], [5]]},
        ),
        Example(
            "Let y be attention of q over k and v across 1 head with sinks sinks.",
            {"q": [[0]], "k": [[1], [1]], "v": [[3], [3]], "sinks": [[float(np.log(2))]]},
            [[1.5]],
            [[8]],
            {"q": [[6]], "k": [[0], [0]], "v": [[2], [2]], "sinks": [[-6]]},
            note="The sink weighs as much as both keys together: p = 1/4 each, Σ p dp = 12.",
        ),
    ),
)

FULL_ATTENTION = Op(
    name="FullAttention",
    phrase="full attention of {q} over {k} and {v} across {heads} heads",
    about="Attention of every row over every key, with as many key heads as heads.",
    shape=lambda s: attention_shape(_full(s)),
    meaning=lambda q, k, v, heads: attention(q, k, v, heads),
    sizes=lambda s: sizes(_full(s)),
    expansion=EXPANSION,
    adjoint={"q k v": ADJOINT},
    formula=(
        "p = softmax(α q·k),  dv = p dy,  dp = dy·v,  ds = p (dp − Σ p dp)\n"
        "dq = α Σ ds k,  dk = α Σ ds q"
    ),
    examples=(
        Example(
            "Let y be full attention of q over k and v across 1 head.",
            {"q": [[1]], "k": [[0], [LOG3]], "v": [[0], [4]]},
            [[3]],
            [[16]],
            {"q": [[12 * LOG3]], "k": [[-12], [12]], "v": [[4], [12]]},
            note="p = [1/4, 3/4]; dp = [0, 64], Σ p dp = 48, ds = [−12, 12].",
        ),
    ),
)


def _full(s: Operands) -> Operands:
    """The operands as Attention has them, its clauses left out."""
    return Operands(**vars(s), key_heads=None, position=None, scale=None, sinks=None)
