"""Matrix products, the transpose, and the fused two-layer product.

In: tensors. Out: the blocks of Matmul, Transpose, HeadMatmul, Mlp. May not know: stages.
"""

from __future__ import annotations

import numpy as np

from logosnb.ops.op import Array, Example, Op, Operands, require
from logosnb.ops.rules import exactly, matmul_shape

# y = a b:  da = dy bᵀ,  db = aᵀ dy
MATMUL = Op(
    name="Matmul",
    phrase="{a} matmul {b}",
    about="The matrix product: m×k by k×n gives m×n.",
    shape=matmul_shape,
    meaning=lambda a, b: exactly(np.matmul, a, b),
    kind=("a", "b"),
    expansion="""
        Let {y} be a {y.rows} by {y.columns} tensor of {y.kind}.
        Repeat for row from 1 to {a.rows}:
            Repeat for column from 1 to {b.columns}:
                Repeat for k from 1 to {a.columns}:
                    Let at be (row - 1) * {y.columns} + column.
                    Let left be (row - 1) * {a.columns} + k.
                    Let right be (k - 1) * {b.columns} + column.
                    Set item at of {y} to (item at of {y}) + (item left of {a}) * (item right of {b}).
    """,
    adjoint={
        "a": """
            Let t_{b} be transpose of {b}.
            Let {da} be {dy} matmul t_{b}.
        """,
        "b": """
            Let t_{a} be transpose of {a}.
            Let {db} be t_{a} matmul {dy}.
        """,
    },
    spelling="{a} @ {b}",
    formula="da = dy bᵀ,  db = aᵀ dy",
    examples=(
        Example(
            "Let y be a matmul b.",
            {"a": [[1, 2]], "b": [[3, 4], [5, 6]]},
            [[13, 16]],
            [[1, 10]],
            {"a": [[43, 65]], "b": [[1, 10], [2, 20]]},
        ),
    ),
)

# y = xᵀ:  dx = dyᵀ
TRANSPOSE = Op(
    name="Transpose",
    phrase="transpose of {x}",
    about="Rows become columns.",
    shape=lambda s: (s.x.columns, s.x.rows),
    meaning=lambda x: x.T,
    kind=("x",),
    expansion="""
        Let {y} be a {y.rows} by {y.columns} tensor of {y.kind}.
        Repeat for row from 1 to {x.rows}:
            Repeat for column from 1 to {x.columns}:
                Let target be (column - 1) * {x.rows} + row.
                Set item target of {y} to item ((row - 1) * {x.columns} + column) of {x}.
    """,
    adjoint={"x": "Let {dx} be transpose of {dy}."},
    spelling="{x}.T",
    formula="dx = dyᵀ",
    examples=(
        Example(
            "Let y be transpose of x.",
            {"x": [[1, 2, 3]]},
            [[1], [2], [3]],
            [[10], [20], [30]],
            {"x": [[10, 20, 30]]},
        ),
    ),
)


def head_matmul_shape(s: Operands) -> tuple[int, int]:
    require(s.x.columns % s.heads == 0, "the heads must divide the columns of {x}", "x")
    require(s.w.rows == s.x.columns, "{w} must have a row for each column of {x}", "x", "w")
    return s.x.rows, s.heads * s.w.columns


def head_matmul(x: Array, w: Array, heads: int) -> Array:
    parts = x.reshape(x.shape[0], heads, -1).swapaxes(0, 1)
    blocks = w.reshape(heads, parts.shape[2], -1)
    return exactly(np.matmul, parts, blocks).swapaxes(0, 1).reshape(x.shape[0], -1)


# Per head h: y_h = x_h w_h, so dx_h = dy_h w_hᵀ and dw_h = x_hᵀ dy_h.
HEAD_MATMUL = Op(
    name="HeadMatmul",
    phrase="{x} matmul {w} across {heads} heads",
    about="Each head's part of a row of x times the head's own block of rows of w.",
    shape=head_matmul_shape,
    meaning=head_matmul,
    kind=("x", "w"),
    sizes=lambda s: {"in": s.x.columns // s.heads, "out": s.w.columns},
    expansion="""
        Let {y} be a {y.rows} by {y.columns} tensor of {y.kind}.
        Repeat for row from 1 to {x.rows}:
            Repeat for head from 1 to {heads}:
                Repeat for i from 1 to {in}:
                    Let from_x be (row - 1) * {x.columns} + (head - 1) * {in} + i.
                    Repeat for j from 1 to {out}:
                        Let at be (row - 1) * {y.columns} + (head - 1) * {out} + j.
                        Let from_w be ((head - 1) * {in} + i - 1) * {out} + j.
                        Let term be (item from_x of {x}) * (item from_w of {w}).
                        Set item at of {y} to (item at of {y}) + term.
    """,
    adjoint={
        "x w": """
            [dx| Let {dx} be a {x.rows} by {x.columns} tensor of Real.]
            [dw| Let {dw} be a {w.rows} by {w.columns} tensor of Real.]
            Repeat for row from 1 to {x.rows}:
                Repeat for head from 1 to {heads}:
                    Repeat for i from 1 to {in}:
                        Let at_x be (row - 1) * {x.columns} + (head - 1) * {in} + i.
                        Repeat for j from 1 to {out}:
                            Let at_w be ((head - 1) * {in} + i - 1) * {out} + j.
                            Let slope be item ((row - 1) * {y.columns} + (head - 1) * {out} + j) of {dy}.
                            [dx| Set item at_x of {dx} to (item at_x of {dx}) + slope * (item at_w of {w}).]
                            [dw| Set item at_w of {dw} to (item at_w of {dw}) + slope * (item at_x of {x}).]
        """
    },
    formula="per head: dx = dy wᵀ,  dw = xᵀ dy",
    examples=(
        Example(
            "Let y be x matmul w across 2 heads.",
            {"x": [[1, 2, 3, 4]], "w": [[1], [10], [100], [1000]]},
            [[21, 4300]],
            [[1, 2]],
            {"x": [[1, 10, 200, 2000]], "w": [[1], [2], [6], [8]]},
        ),
    ),
)


def mlp_shape(s: Operands) -> tuple[int, int]:
    require(s.w.rows == s.x.columns, "the columns of {x} must be the rows of {w}", "x", "w")
    require(s.b == (1, s.w.columns), "{b} must be one row as wide as {w}", "b", "w")
    require(s.v.rows == s.w.columns, "the columns of {w} must be the rows of {v}", "w", "v")
    if s.c is not None:
        require(s.c == (1, s.v.columns), "{c} must be one row as wide as {v}", "c", "v")
    return s.x.rows, s.v.columns


def mlp(x: Array, w: Array, b: Array, v: Array, c: Array | None = None) -> Array:
    hidden = x @ w + b
    hidden = np.where(hidden > 0, hidden, 0.5 * hidden) ** 2
    return hidden @ v if c is None else hidden @ v + c


# y = act(x w + b) v + c with act(h) = l², l = h if h > 0 else h/2, so act' = 2h if h > 0 else h/2,
# which is max(h/2, 2h).  Let dh = (dy vᵀ) ⊙ act':
#   dx = dh wᵀ,  dw = xᵀ dh,  db = Σ rows dh,  dv = actᵀ dy,  dc = Σ rows dy
# The hidden layer is computed once, not once an element of dx.
MLP = Op(
    name="Mlp",
    phrase="mlp of {x} with up {w} and bias {b} and down {v} [and bias {c}]",
    about="(leaky square of (x·w + b))·v + c, a fused op.",
    shape=mlp_shape,
    meaning=mlp,
    expansion="""
        Let {y} be a {y.rows} by {y.columns} tensor of Real.
        Repeat for row from 1 to {x.rows}:
            [c| Repeat for column from 1 to {y.columns}:
                Set item ((row - 1) * {y.columns} + column) of {y} to item column of {c}.]
            Repeat for j from 1 to {w.columns}:
                Let mutable hidden be item j of {b}.
                Repeat for i from 1 to {x.columns}:
                    Let from_x be (row - 1) * {x.columns} + i.
                    Set hidden to hidden + (item from_x of {x}) * (item ((i - 1) * {w.columns} + j) of {w}).
                If hidden <= 0.0:
                    Set hidden to 0.5 * hidden.
                Repeat for out from 1 to {y.columns}:
                    Let at be (row - 1) * {y.columns} + out.
                    Let from_v be (j - 1) * {y.columns} + out.
                    Set item at of {y} to (item at of {y}) + hidden * hidden * (item from_v of {v}).
    """,
    composition="""
        Let before be {x} matmul {w}.
        Let hidden be before plus {b}.
        Let active be leaky square of hidden.
        [c| Let product be active matmul {v}.
        Let {y} be product plus {c}.]
        [!c| Let {y} be active matmul {v}.]
    """,
    adjoint={
        "x w b v": """
            Let before be {x} matmul {w}.
            Let hidden be before plus {b}.
            [dv| Let active be leaky square of hidden.]
            [dv| Let t_active be transpose of active.]
            [dv| Let {dv} be t_active matmul {dy}.]
            [dx or dw or db| Let t_{v} be transpose of {v}.
            Let g_active be {dy} matmul t_{v}.
            Let g_hidden be a {x.rows} by {w.columns} tensor of Real.
            Repeat for k from 1 to {hidden_size}:
                Let h be item k of hidden.
                Set item k of g_hidden to (item k of g_active) * max(0.5 * h, 2.0 * h).]
            [dx| Let t_{w} be transpose of {w}.]
            [dx| Let {dx} be g_hidden matmul t_{w}.]
            [dw| Let t_{x} be transpose of {x}.]
            [dw| Let {dw} be t_{x} matmul g_hidden.]
            [db| Let {db} be column sums of g_hidden.]
        """,
        "c": "Let {dc} be column sums of {dy}.",
    },
    sizes=lambda s: {"hidden_size": s.x.rows * s.w.columns},
    formula=(
        "h = x w + b,  dh = (dy vᵀ) ⊙ max(h/2, 2h),  dx = dh wᵀ,  dw = xᵀ dh\n"
        "db = Σ rows dh,  dv = (leaky square of h)ᵀ dy,  dc = Σ rows dy"
    ),
    examples=(
        Example(
            "Let y be mlp of x with up w and bias b and down v and bias c.",
            {
                "x": [[1, 2]],
                "w": [[1, 0], [0, 1]],
                "b": [[0, 0]],
                "v": [[1, 0], [0, 1]],
                "c": [[0, 0]],
            },
            [[1, 4]],
            [[1, 1]],
            {
                "x": [[2, 4]],
                "w": [[2, 4], [4, 8]],
                "b": [[2, 4]],
                "v": [[1, 1], [4, 4]],
                "c": [[1, 1]],
            },
            note="Both weights are the identity: h = x, and the slope of the leaky square at h is 2h.",
        ),
        Example(
            "Let y be mlp of x with up w and bias b and down v.",
            {"x": [[-2]], "w": [[1]], "b": [[0]], "v": [[3]]},
            [[3]],
            [[2]],
            {"x": [[-6]], "w": [[12]], "b": [[-6]], "v": [[2]]},
            note="h = −2, so the leaky square is 1 and its slope −1: dh = 2·3·(−1).",
        ),
    ),
)
