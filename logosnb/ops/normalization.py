"""Ops that normalise each row, or each head's part of a row.

In: tensors. Out: the blocks of Softmax, RmsNorm, LayerNorm, L2Norm. May not know: stages.

In row-major order a row of `heads` parts is `heads` rows of a part's width, so the texts loop over
those: {groups} of them, each {width} wide.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from logosnb.ops.op import Array, Example, Op, Operands, Shape, require
from logosnb.ops.rules import same_as


def groups(s: Operands) -> dict[str, int]:
    heads = getattr(s, "heads", 1)
    return {"groups": s.x.rows * heads, "width": s.x.columns // heads}


def normalised(*rows: str) -> Callable[[Operands], Shape]:
    """The shape rule: heads divide the columns, `r` is like x, and each of `rows` is one row, as
    wide as a part."""

    def shape(s: Operands) -> Shape:
        require(s.x.columns % s.heads == 0, "the heads must divide the columns of {x}", "x")
        if getattr(s, "r", None) is not None:
            require(s.r == s.x, "{r} must have the shape of {x}", "x", "r")
        for hole in rows:
            given = getattr(s, hole)
            fits = given is None or given == (1, s.x.columns // s.heads)
            require(fits, f"{{{hole}}} must be one row, as wide as a head of {{x}}", "x", hole)
        found: Shape = s.x
        return found

    return shape


def parts(x: Array, heads: int) -> Array:
    """x with each head's part as a row of its own."""
    return x.reshape(x.shape[0] * heads, -1)


def softmax(x: Array) -> Array:
    """Rows that are all −infinity give zeros: a fully masked row has no weights, and no NaN."""
    largest = x.max(axis=1, keepdims=True, initial=-np.inf)
    raised = np.exp(x - np.where(np.isneginf(largest), 0.0, largest))
    total = raised.sum(axis=1, keepdims=True)
    weights: Array = raised / np.where(total == 0, 1.0, total)
    return weights


# y = eˣ / Σ eˣ a row:  dx = y ⊙ (dy − Σ dy ⊙ y)
SOFTMAX = Op(
    name="Softmax",
    phrase="softmax of {x}",
    about="Per row eˣ over its sum, the maximum subtracted first. A row of −infinity alone gives zeros.",
    shape=same_as("x"),
    meaning=softmax,
    expansion="""
        Let {y} be a {y.rows} by {y.columns} tensor of Real.
        Repeat for row from 1 to {x.rows}:
            Let base be (row - 1) * {x.columns}.
            Let mutable largest be -infinity.
            Repeat for column from 1 to {x.columns}:
                Set largest to max(largest, item (base + column) of {x}).
            If largest == -infinity:
                Set largest to 0.0.
            Let mutable total be 0.0.
            Repeat for column from 1 to {x.columns}:
                Let raised be exp((item (base + column) of {x}) - largest).
                Set item (base + column) of {y} to raised.
                Set total to total + raised.
            If total != 0.0:
                Repeat for column from 1 to {x.columns}:
                    Set item (base + column) of {y} to (item (base + column) of {y}) / total.
    """,
    adjoint={
        "x": """
            Let {dx} be a {x.rows} by {x.columns} tensor of Real.
            Repeat for row from 1 to {x.rows}:
                Let base be (row - 1) * {x.columns}.
                Let mutable total be 0.0.
                Repeat for column from 1 to {x.columns}:
                    Let k be base + column.
                    Set total to total + (item k of {dy}) * (item k of {y}).
                Repeat for column from 1 to {x.columns}:
                    Let k be base + column.
                    Set item k of {dx} to (item k of {y}) * ((item k of {dy}) - total).
        """
    },
    spelling="softmax({x})",
    formula="dx = y ⊙ (dy − Σ dy ⊙ y), the sum over a row",
    examples=(
        Example(
            "Let y be softmax of x.",
            {"x": [[0, 0], [0, float(np.log(3))]]},
            [[0.5, 0.5], [0.25, 0.75]],
            [[1, 0], [16, 0]],
            {"x": [[0.25, -0.25], [3, -3]]},
        ),
        Example(
            "Let y be softmax of x.",
            {"x": [[-np.inf, -np.inf]]},
            [[0, 0]],
            [[1, 2]],
            {"x": [[0, 0]]},
            note="A fully masked row: zeros, and gradient zero.",
        ),
    ),
)


def rmsnorm(
    x: Array, epsilon: float, heads: int, r: Array | None = None, w: Array | None = None
) -> Array:
    u = parts(x if r is None else x + r, heads)
    scaled: Array = u / np.sqrt((u * u).mean(axis=1, keepdims=True) + epsilon)
    return (scaled if w is None else scaled * w).reshape(x.shape)


# u = x + r;  q = 1/√(mean u² + ε);  y = u q w:
#   with z = u q, g = dy ⊙ w:  dx = dr = q (g − z mean(g ⊙ z)),  dw = Σ rows dy ⊙ z
# No q³, which is 0 or ∞ long before q is.
RMSNORM = Op(
    name="RmsNorm",
    phrase=(
        "rmsnorm of {x} [with residual {r}] [and weight {w}] [and epsilon {epsilon}] "
        "[across {heads} heads]"
    ),
    about=(
        "u / √(mean u² + ε) ⊙ w a row, u = x + r; ε stands inside the root. "
        "With heads, a head's part is the row."
    ),
    shape=normalised("w"),
    meaning=rmsnorm,
    defaults={"epsilon": 1e-5, "heads": 1},
    sizes=groups,
    expansion="""
        Let {y} be a {y.rows} by {y.columns} tensor of Real.
        Repeat for group from 1 to {groups}:
            Let base be (group - 1) * {width}.
            Let mutable squares be 0.0.
            Repeat for column from 1 to {width}:
                Let k be base + column.
                Let u be (item k of {x})[r| + (item k of {r})].
                Set squares to squares + u * u.
            Let q be 1.0 / sqrt(squares / {width} + {epsilon}).
            Repeat for column from 1 to {width}:
                Let k be base + column.
                Let u be (item k of {x})[r| + (item k of {r})].
                Set item k of {y} to u * q[w| * (item column of {w})].
    """,
    adjoint={
        "x w": """
            [dx| Let {dx} be a {x.rows} by {x.columns} tensor of Real.]
            [dw| Let {dw} be a {w.rows} by {w.columns} tensor of Real.]
            Repeat for group from 1 to {groups}:
                Let base be (group - 1) * {width}.
                Let mutable squares be 0.0.
                Repeat for column from 1 to {width}:
                    Let k be base + column.
                    Let u be (item k of {x})[r| + (item k of {r})].
                    Set squares to squares + u * u.
                Let q be 1.0 / sqrt(squares / {width} + {epsilon}).
                [dx| Let mutable total_gz be 0.0.
                Repeat for column from 1 to {width}:
                    Let k be base + column.
                    Let u be (item k of {x})[r| + (item k of {r})].
                    Let g be (item k of {dy})[w| * (item column of {w})].
                    Set total_gz to total_gz + g * u * q.]
                Repeat for column from 1 to {width}:
                    Let k be base + column.
                    Let u be (item k of {x})[r| + (item k of {r})].
                    Let z be u * q.
                    [dx| Let g be (item k of {dy})[w| * (item column of {w})].]
                    [dx| Set item k of {dx} to q * (g - z * total_gz / {width}).]
                    [dw| Set item column of {dw} to (item column of {dw}) + (item k of {dy}) * z.]
        """,
        "r": "{dx}",
    },
    spelling="rmsnorm({x}[r| + {r}], {epsilon}, {heads}[w| , w={w}])",
    formula=(
        "u = x + r,  q = 1/√(mean u² + ε),  z = u q,  g = dy ⊙ w,  dx = dr = q (g − z mean(g ⊙ z))\n"
        "dw = Σ rows dy ⊙ z"
    ),
    examples=(
        Example(
            "Let y be rmsnorm of x with residual r and weight w and epsilon 0.5.",
            {"x": [[1, 0]], "r": [[0, -1]], "w": [[3, 5]]},
            [[2.449489742783178, -4.08248290463863]],
            [[1, 0]],
            {
                "x": [[1.632993161855452, 0.816496580927726]],
                "r": [[1.632993161855452, 0.816496580927726]],
                "w": [[0.816496580927726, 0]],
            },
            note="u = [1, −1], mean u² = 1, q = 1/√1.5 = 0.8165: q·3 − q³/2·3 and q³/2·3.",
        ),
        Example(
            "Let y be rmsnorm of x with weight w across 2 heads.",
            {"x": [[0, 0, 0, 0]], "w": [[1, 2]]},
            [[0, 0, 0, 0]],
            [[1, 0, 0, 1]],
            {"x": [[316.22776601683796, 0, 0, 632.4555320336759]], "w": [[0, 0]]},
        ),
    ),
)


def layernorm(
    x: Array, epsilon: float, heads: int, w: Array | None = None, b: Array | None = None
) -> Array:
    rows = parts(x, heads)
    centred = rows - rows.mean(axis=1, keepdims=True)
    y: Array = centred / np.sqrt((centred * centred).mean(axis=1, keepdims=True) + epsilon)
    y = y if w is None else y * w
    return (y if b is None else y + b).reshape(x.shape)


# μ = mean x;  q = 1/√(mean (x − μ)² + ε);  z = (x − μ) q;  y = z w + b;  g = dy ⊙ w:
#   dx = q (g − mean g − z mean(g ⊙ z)),  dw = Σ rows dy ⊙ z,  db = Σ rows dy
LAYERNORM = Op(
    name="LayerNorm",
    phrase=(
        "layernorm of {x} [with weight {w}] [and bias {b}] [and epsilon {epsilon}] "
        "[across {heads} heads]"
    ),
    about="(x − μ) / √(var + ε) ⊙ w + b a row, population variance; ε stands inside the root.",
    shape=normalised("w", "b"),
    meaning=layernorm,
    defaults={"epsilon": 1e-5, "heads": 1},
    sizes=groups,
    expansion="""
        Let {y} be a {y.rows} by {y.columns} tensor of Real.
        Repeat for group from 1 to {groups}:
            Let base be (group - 1) * {width}.
            Let mutable total be 0.0.
            Repeat for column from 1 to {width}:
                Set total to total + (item (base + column) of {x}).
            Let mean be total / {width}.
            Let mutable squares be 0.0.
            Repeat for column from 1 to {width}:
                Let centred be (item (base + column) of {x}) - mean.
                Set squares to squares + centred * centred.
            Let q be 1.0 / sqrt(squares / {width} + {epsilon}).
            Repeat for column from 1 to {width}:
                Let z be ((item (base + column) of {x}) - mean) * q.
                Set item (base + column) of {y} to z[w| * (item column of {w})][b| + (item column of {b})].
    """,
    adjoint={
        "x w": """
            [dx| Let {dx} be a {x.rows} by {x.columns} tensor of Real.]
            [dw| Let {dw} be a {w.rows} by {w.columns} tensor of Real.]
            Repeat for group from 1 to {groups}:
                Let base be (group - 1) * {width}.
                Let mutable total be 0.0.
                Repeat for column from 1 to {width}:
                    Set total to total + (item (base + column) of {x}).
                Let mean be total / {width}.
                Let mutable squares be 0.0.
                Repeat for column from 1 to {width}:
                    Let centred be (item (base + column) of {x}) - mean.
                    Set squares to squares + centred * centred.
                Let q be 1.0 / sqrt(squares / {width} + {epsilon}).
                [dx| Let mutable total_g be 0.0.
                Let mutable total_gz be 0.0.
                Repeat for column from 1 to {width}:
                    Let k be base + column.
                    Let z be ((item k of {x}) - mean) * q.
                    Let g be (item k of {dy})[w| * (item column of {w})].
                    Set total_g to total_g + g.
                    Set total_gz to total_gz + g * z.]
                Repeat for column from 1 to {width}:
                    Let k be base + column.
                    Let z be ((item k of {x}) - mean) * q.
                    [dx| Let g be (item k of {dy})[w| * (item column of {w})].]
                    [dx| Set item k of {dx} to q * (g - total_g / {width} - z * total_gz / {width}).]
                    [dw| Set item column of {dw} to (item column of {dw}) + (item k of {dy}) * z.]
        """,
        "b": """
            Let {db} be a {b.rows} by {b.columns} tensor of Real.
            Repeat for group from 1 to {groups}:
                Repeat for column from 1 to {width}:
                    Let k be (group - 1) * {width} + column.
                    Set item column of {db} to (item column of {db}) + (item k of {dy}).
        """,
    },
    spelling="layernorm({x}, {epsilon}, {heads}[w| , w={w}][b| , b={b}])",
    formula=(
        "z = (x − mean x) q,  q = 1/√(var x + ε),  g = dy ⊙ w,  dx = q (g − mean g − z mean(g ⊙ z))\n"
        "dw = Σ rows dy ⊙ z,  db = Σ rows dy"
    ),
    examples=(
        Example(
            "Let y be layernorm of x with weight w and bias b and epsilon 3.0.",
            {"x": [[2, 0]], "w": [[4, 6]], "b": [[1, 1]]},
            [[3, -2]],
            [[1, 0]],
            {"x": [[0.75, -0.75]], "w": [[0.5, 0]], "b": [[1, 0]]},
            note="μ = 1, var = 1, q = 1/2, z = [1/2, −1/2]; g = [4, 0]: q (4 − 2 − 1/2·1) = 3/4.",
        ),
        Example(
            "Let y be layernorm of x with bias b across 2 heads.",
            {"x": [[1, 1, 2, 2]], "b": [[5, 6]]},
            [[5, 6, 5, 6]],
            [[2, 0, 0, 0]],
            {"x": [[316.2277660168379, -316.2277660168379, 0, 0]], "b": [[2, 0]]},
        ),
    ),
)


def l2norm(x: Array, epsilon: float, heads: int) -> Array:
    rows = parts(x, heads)
    y: Array = rows / np.sqrt((rows * rows).sum(axis=1, keepdims=True) + epsilon)
    return y.reshape(x.shape)


# n = √(Σ x² + ε);  y = x/n:  dx = (dy − y Σ dy ⊙ y)/n.  No n³, which is 0 or ∞ long before n is.
L2NORM = Op(
    name="L2Norm",
    phrase="l2norm of {x} [with epsilon {epsilon}] [across {heads} heads]",
    about="Per row x / √(Σ x² + ε); ε stands inside the root.",
    shape=normalised(),
    meaning=l2norm,
    defaults={"epsilon": 1e-6, "heads": 1},
    sizes=groups,
    expansion="""
        Let {y} be a {y.rows} by {y.columns} tensor of Real.
        Repeat for group from 1 to {groups}:
            Let base be (group - 1) * {width}.
            Let mutable squares be {epsilon}.
            Repeat for column from 1 to {width}:
                Let value be item (base + column) of {x}.
                Set squares to squares + value * value.
            Repeat for column from 1 to {width}:
                Set item (base + column) of {y} to (item (base + column) of {x}) / sqrt(squares).
    """,
    adjoint={
        "x": """
            Let {dx} be a {x.rows} by {x.columns} tensor of Real.
            Repeat for group from 1 to {groups}:
                Let base be (group - 1) * {width}.
                Let mutable squares be 0.0.
                Let mutable total be 0.0.
                Repeat for column from 1 to {width}:
                    Let k be base + column.
                    Set squares to squares + (item k of {x}) * (item k of {x}).
                    Set total to total + (item k of {dy}) * (item k of {x}).
                Let n be sqrt(squares + {epsilon}).
                Repeat for column from 1 to {width}:
                    Let k be base + column.
                    Set item k of {dx} to ((item k of {dy}) - (item k of {x}) / n * (total / n)) / n.
        """
    },
    formula="n = √(Σ x² + ε),  y = x/n,  dx = (dy − y Σ dy ⊙ y)/n",
    examples=(
        Example(
            "Let y be l2norm of x with epsilon 11.0.",
            {"x": [[3, 4]]},
            [[0.5, 0.6666666666666666]],
            [[216, 0]],
            {"x": [[27, -12]]},
            note="n = √(25 + 11) = 6: 216/6 − 3·648/216 = 27 and −4·648/216 = −12.",
        ),
        Example(
            "Let y be l2norm of x across 2 heads.",
            {"x": [[0, 0, 0, 0]]},
            [[0, 0, 0, 0]],
            [[1, 0, 0, 2]],
            {"x": [[1000, 0, 0, 2000]]},
        ),
    ),
)
