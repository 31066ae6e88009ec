"""Ops that run along the rows: a decay's rate, a causal convolution, the gated delta rule.

In: tensors whose rows are steps in time. Out: the blocks of Decay, CausalConv, GatedDelta. May not
know: stages.
"""

from __future__ import annotations

import numpy as np

from logosnb.ops.op import Array, Example, Op, Operands, require


def decay_shape(s: Operands) -> tuple[int, int]:
    for hole in ("r", "d"):
        fits = getattr(s, hole) == (1, s.a.columns)
        require(fits, f"{{{hole}}} must be one row as wide as {{a}}", "a", hole)
    return s.a.rows, s.a.columns


def softplus(x: Array) -> Array:
    """log(1 + eˣ), without overflow."""
    return np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x)))


def softplus_lines(margin: int) -> str:
    """LOGOS that binds p to softplus of x. log(u) e / (u − 1) is log(1 + e) without the rounding of
    u = 1 + e, which at x = −40 would leave nothing of e."""
    lines = (
        "Let e be exp(-abs(x)).",
        "Let u be 1.0 + e.",
        "Let mutable p be e.",
        "If u > 1.0:",
        "    Set p to log(u) * (e / (u - 1.0)).",
        "Set p to p + max(x, 0.0).",
    )
    return "\n".join(" " * margin + line for line in lines)


# y = exp(−eʳ p), p = softplus(a + d); p' = σ(a + d):
#   da = −dy y eʳ σ(a + d),  dd = Σ rows da,  dr = −Σ rows dy y eʳ p
DECAY = Op(
    name="Decay",
    phrase="decay of {a} with rate {r} and bias {d}",
    about="exp(−exp(r)·softplus(a + d)), between 0 and 1; softplus x is log(1 + eˣ).",
    shape=decay_shape,
    meaning=lambda a, r, d: np.exp(-np.exp(r) * softplus(a + d)),
    expansion="""
        Let {y} be a {y.rows} by {y.columns} tensor of Real.
        Repeat for row from 1 to {a.rows}:
            Repeat for column from 1 to {a.columns}:
                Let k be (row - 1) * {a.columns} + column.
                Let x be (item k of {a}) + (item column of {d}).
"""
    + softplus_lines(16)
    + """
                Set item k of {y} to exp(-exp(item column of {r}) * p).
    """,
    adjoint={
        "a r d": """
            [da| Let {da} be a {a.rows} by {a.columns} tensor of Real.]
            [dr| Let {dr} be a 1 by {r.columns} tensor of Real.]
            [dd| Let {dd} be a 1 by {d.columns} tensor of Real.]
            Repeat for row from 1 to {a.rows}:
                Repeat for column from 1 to {a.columns}:
                    Let k be (row - 1) * {a.columns} + column.
                    Let x be (item k of {a}) + (item column of {d}).
                    Let slope be -(item k of {dy}) * (item k of {y}) * exp(item column of {r}).
                    Let slope_x be slope / (1.0 + exp(-x)).
                    [da| Set item k of {da} to slope_x.]
                    [dd| Set item column of {dd} to (item column of {dd}) + slope_x.]
                    [dr| """
        + softplus_lines(20)
        + """
                    Set item column of {dr} to (item column of {dr}) + slope * p.]
        """
    },
    spelling="{xp}.exp(-{xp}.exp({r}) * {xp}.logaddexp({a} + {d}, {xp}.zeros_like({a})))",
    formula="p = softplus(a + d),  da = −dy y eʳ σ(a + d),  dd = Σ rows da,  dr = −Σ rows dy y eʳ p",
    examples=(
        Example(
            "Let y be decay of a with rate r and bias d.",
            {"a": [[0], [0]], "r": [[0]], "d": [[0]]},
            [[0.5], [0.5]],
            [[4], [8]],
            {"a": [[-1], [-2]], "d": [[-3]], "r": [[-6 * float(np.log(2))]]},
            note="softplus 0 = log 2, so y = 1/2; σ(0) = 1/2.",
        ),
    ),
)


def convolution_shape(s: Operands) -> tuple[int, int]:
    require(s.w.rows == s.x.columns, "{w} must have a row for each column of {x}", "x", "w")
    if s.s is not None:
        fits = s.s == (s.w.columns - 1, s.x.columns)
        require(
            fits,
            "{s} must hold the rows before the first: a row less than {w} has columns",
            "s",
            "w",
        )
    return s.x.rows, s.x.columns


def causal_convolution(x: Array, w: Array, s: Array | None = None) -> Array:
    taps = w.shape[1]
    before = np.zeros((taps - 1, x.shape[1])) if s is None else s
    rows = np.concatenate([before, x])
    return sum((rows[j : j + len(x)] * w[:, j] for j in range(taps)), np.zeros(x.shape))


# y[t, c] = Σⱼ w[c, j] x[t − K + j, c]:  dx[t − K + j] += w[j] dy[t],  dw[j] += x[t − K + j] dy[t]
CAUSAL_CONV = Op(
    name="CausalConv",
    phrase="causal convolution of {x} with kernel {w} [and state {s}]",
    about=(
        "Each column convolved with its own kernel, the last tap on the row itself. Rows before the "
        "first are zero, or the K − 1 rows of the state."
    ),
    shape=convolution_shape,
    meaning=causal_convolution,
    expansion="""
        Let {y} be a {y.rows} by {y.columns} tensor of Real.
        Repeat for row from 1 to {x.rows}:
            Repeat for column from 1 to {x.columns}:
                Let k be (row - 1) * {x.columns} + column.
                Repeat for j from 1 to {w.columns}:
                    Let source be row - {w.columns} + j.
                    Let weight be item ((column - 1) * {w.columns} + j) of {w}.
                    If source >= 1:
                        Let value be item ((source - 1) * {x.columns} + column) of {x}.
                        Set item k of {y} to (item k of {y}) + weight * value.
                    [s| Otherwise:
                        Let value be item ((source + {w.columns} - 2) * {x.columns} + column) of {s}.
                        Set item k of {y} to (item k of {y}) + weight * value.]
    """,
    adjoint={
        "x w s": """
            [dx| Let {dx} be a {x.rows} by {x.columns} tensor of Real.]
            [dw| Let {dw} be a {w.rows} by {w.columns} tensor of Real.]
            [ds| Let {ds} be a {s.rows} by {s.columns} tensor of Real.]
            Repeat for row from 1 to {x.rows}:
                Repeat for column from 1 to {x.columns}:
                    Let slope be item ((row - 1) * {x.columns} + column) of {dy}.
                    Repeat for j from 1 to {w.columns}:
                        Let source be row - {w.columns} + j.
                        Let at_w be (column - 1) * {w.columns} + j.
                        Let weight be item at_w of {w}.
                        If source >= 1:
                            Let at_x be (source - 1) * {x.columns} + column.
                            [dx| Set item at_x of {dx} to (item at_x of {dx}) + slope * weight.]
                            [dw| Let value be item at_x of {x}.]
                            [dw| Set item at_w of {dw} to (item at_w of {dw}) + slope * value.]
                        [s| Otherwise:
                            Let at_s be (source + {w.columns} - 2) * {x.columns} + column.
                            [ds| Set item at_s of {ds} to (item at_s of {ds}) + slope * weight.]
                            [dw| Let value be item at_s of {s}.]
                            [dw| Set item at_w of {dw} to (item at_w of {dw}) + slope * value.]]
        """
    },
    formula=(
        "dx[t − K + j] += w[j] dy[t],  dw[j] += x[t − K + j] dy[t]\n"
        "ds as dx, for the rows before the first"
    ),
    examples=(
        Example(
            "Let y be causal convolution of x with kernel w.",
            {"x": [[1], [2], [3], [4]], "w": [[1, 10, 100]]},
            [[100], [210], [321], [432]],
            [[1], [1], [1], [1]],
            {"x": [[111], [111], [110], [100]], "w": [[3, 6, 10]]},
        ),
        Example(
            "Let y be causal convolution of x with kernel w and state s.",
            {"x": [[1], [2]], "w": [[10, 1]], "s": [[5]]},
            [[51], [12]],
            [[1], [2]],
            {"x": [[21], [2]], "w": [[7, 5]], "s": [[10]]},
        ),
    ),
)


def delta_shape(s: Operands) -> tuple[int, int]:
    require(s.q == s.k, "{q} and {k} must have the same shape", "q", "k")
    require(s.q.columns % s.heads == 0, "the heads must divide the columns of {q}", "q")
    require(s.v.columns % s.heads == 0, "the heads must divide the columns of {v}", "v")
    require(s.v.rows == s.q.rows, "{q} and {v} must have as many rows", "q", "v")
    for hole in ("d", "b"):
        fits = getattr(s, hole) == (s.q.rows, s.heads)
        require(
            fits, f"{{{hole}}} must have a column a head and a row for each row of {{q}}", "q", hole
        )
    if s.s is not None:
        fits = s.s == (s.q.columns, s.v.columns // s.heads)
        require(
            fits, "{s} must stack the heads' states, each key width by value width", "s", "q", "v"
        )
    return s.q.rows, s.v.columns


def gated_delta(
    q: Array, k: Array, v: Array, d: Array, b: Array, heads: int, s: Array | None = None
) -> Array:
    queries, keys, values = (t.reshape(len(t), heads, -1) for t in (q, k, v))
    shape = (heads, queries.shape[2], values.shape[2])
    state = np.zeros(shape) if s is None else s.reshape(shape).copy()
    y = np.empty(values.shape)
    for t in range(len(q)):
        state *= d[t][:, None, None]
        read = np.einsum("hij,hi->hj", state, keys[t])
        update = b[t][:, None] * (values[t] - read)
        state += keys[t][:, :, None] * update[:, None, :]
        y[t] = np.einsum("hij,hi->hj", state, queries[t])
    return y.reshape(len(q), -1)


# A column of a head's state depends on no other, so each is followed on its own: forward, its states
# kept one after another (`states`, the first the state given), then backward with `slopes`, its dS.
DELTA_ADJOINT = """
[dq| Let {dq} be a {q.rows} by {q.columns} tensor of Real.]
[dk| Let {dk} be a {k.rows} by {k.columns} tensor of Real.]
[dv| Let {dv} be a {v.rows} by {v.columns} tensor of Real.]
[dd| Let {dd} be a {d.rows} by {d.columns} tensor of Real.]
[db| Let {db} be a {b.rows} by {b.columns} tensor of Real.]
[ds| Let {ds} be a {s.rows} by {s.columns} tensor of Real.]
Repeat for head from 1 to {heads}:
    Repeat for j from 1 to {value_width}:
        Let states be a new Seq of Real.
        Let slopes be a new Seq of Real.
        Let errors be a new Seq of Real.
        Repeat for i from 1 to {width}:
            Push 0.0 to slopes.
            [s| Push item (((head - 1) * {width} + i - 1) * {value_width} + j) of {s} to states.]
            [!s| Push 0.0 to states.]
        Repeat for row from 1 to {q.rows}:
            Let at_gate be (row - 1) * {heads} + head.
            Let at_v be (row - 1) * {v.columns} + (head - 1) * {value_width} + j.
            Let base be (row - 1) * {q.columns} + (head - 1) * {width}.
            Let before be (row - 1) * {width}.
            Let gate be item at_gate of {d}.
            Let mutable error be item at_v of {v}.
            Repeat for i from 1 to {width}:
                Set error to error - gate * (item (before + i) of states) * (item (base + i) of {k}).
            Push error to errors.
            Let update be (item at_gate of {b}) * error.
            Repeat for i from 1 to {width}:
                Let decayed be gate * (item (before + i) of states).
                Push decayed + (item (base + i) of {k}) * update to states.
        Repeat for back from 1 to {q.rows}:
            Let row be {q.rows} + 1 - back.
            Let at_gate be (row - 1) * {heads} + head.
            Let at_v be (row - 1) * {v.columns} + (head - 1) * {value_width} + j.
            Let base be (row - 1) * {q.columns} + (head - 1) * {width}.
            Let before be (row - 1) * {width}.
            Let gate be item at_gate of {d}.
            Let beta be item at_gate of {b}.
            Let slope_y be item at_v of {dy}.
            Let mutable slope_update be 0.0.
            Repeat for i from 1 to {width}:
                Let at be base + i.
                [dq| Let state be item (before + {width} + i) of states.]
                [dq| Set item at of {dq} to (item at of {dq}) + state * slope_y.]
                Set item i of slopes to (item i of slopes) + (item at of {q}) * slope_y.
                Set slope_update to slope_update + (item i of slopes) * (item at of {k}).
            [dv| Set item at_v of {dv} to beta * slope_update.]
            [db| Let slope_beta be slope_update * (item row of errors).]
            [db| Set item at_gate of {db} to (item at_gate of {db}) + slope_beta.]
            Repeat for i from 1 to {width}:
                Let at be base + i.
                Let state be item (before + i) of states.
                [dk| Let through_update be (item i of slopes) * beta * (item row of errors).]
                [dk| Let through_read be beta * slope_update * gate * state.]
                [dk| Set item at of {dk} to (item at of {dk}) + through_update - through_read.]
                Let slope be (item i of slopes) - beta * slope_update * (item at of {k}).
                [dd| Set item at_gate of {dd} to (item at_gate of {dd}) + slope * state.]
                Set item i of slopes to gate * slope.
        [ds| Repeat for i from 1 to {width}:
            Let at be ((head - 1) * {width} + i - 1) * {value_width} + j.
            Set item at of {ds} to item i of slopes.]
"""

GATED_DELTA = Op(
    name="GatedDelta",
    phrase=(
        "gated delta of {q} and {k} and {v} with decay {d} and beta {b} [and state {s}] "
        "across {heads} heads"
    ),
    about=(
        "Per head a state S, zero or given: for each row S ← d S; u = b (v − Sᵀk); S ← S + k uᵀ; "
        "y = Sᵀq. The last state is not a result. The backward pass keeps a state a row."
    ),
    shape=delta_shape,
    meaning=gated_delta,
    sizes=lambda s: {"width": s.q.columns // s.heads, "value_width": s.v.columns // s.heads},
    expansion="""
        Let {y} be a {y.rows} by {y.columns} tensor of Real.
        Let memory be a {q.columns} by {value_width} tensor of Real.
        [s| Repeat for i from 1 to {s.size}:
            Set item i of memory to item i of {s}.]
        Repeat for t from 1 to {q.rows}:
            Repeat for head from 1 to {heads}:
                Let gate be item ((t - 1) * {heads} + head) of {d}.
                Let beta be item ((t - 1) * {heads} + head) of {b}.
                Let base_q be (t - 1) * {q.columns} + (head - 1) * {width}.
                Repeat for j from 1 to {value_width}:
                    Let at_v be (t - 1) * {v.columns} + (head - 1) * {value_width} + j.
                    Let mutable read be 0.0.
                    Repeat for i from 1 to {width}:
                        Let at be ((head - 1) * {width} + i - 1) * {value_width} + j.
                        Set item at of memory to (item at of memory) * gate.
                        Set read to read + (item at of memory) * (item (base_q + i) of {k}).
                    Let update be beta * ((item at_v of {v}) - read).
                    Repeat for i from 1 to {width}:
                        Let at be ((head - 1) * {width} + i - 1) * {value_width} + j.
                        Let written be (item (base_q + i) of {k}) * update.
                        Set item at of memory to (item at of memory) + written.
                        Let part be (item at of memory) * (item (base_q + i) of {q}).
                        Set item at_v of {y} to (item at_v of {y}) + part.
    """,
    adjoint={"q k v d b s": DELTA_ADJOINT},
    formula=(
        "G = d S₋₁,  e = v − Gᵀk,  u = b e,  S = G + k uᵀ,  y = Sᵀq;  from the last row back, A = dS:\n"
        "A += q dyᵀ,  dq = S dy,  du = Aᵀk,  dv = b du,  db = du·e,  dk = A u − b G du\n"
        "dG = A − b k duᵀ,  dd = Σ dG ⊙ S₋₁,  dS₋₁ = d dG,  ds = dS before the first row"
    ),
    examples=(
        Example(
            "Let y be gated delta of q and k and v with decay d and beta b across 1 head.",
            {
                "q": [[1], [1]],
                "k": [[1], [1]],
                "v": [[4], [6]],
                "d": [[1], [0.5]],
                "b": [[0.5], [0.5]],
            },
            [[2], [3.5]],
            [[1], [2]],
            {
                "q": [[2], [7]],
                "k": [[3], [4]],
                "v": [[0.75], [1]],
                "d": [[0], [2]],
                "b": [[6], [10]],
            },
            note="S = 2 after the first row; then G = 1, u = (6 − 1)/2, S = 3.5. Back: A = 2, then 1.5.",
        ),
        Example(
            "Let y be gated delta of q and k and v with decay d and beta b and state s across 1 head.",
            {"q": [[2]], "k": [[1]], "v": [[4]], "d": [[0.5]], "b": [[0.5]], "s": [[4]]},
            [[6]],
            [[2]],
            {"q": [[6]], "k": [[0]], "v": [[2]], "d": [[8]], "b": [[8]], "s": [[1]]},
            note="G = 2, u = (4 − 2)/2 = 1, S = 3, y = 6. Back: A = 4, du = 4, dG = 4 − 2.",
        ),
    ),
)
