"""A mixture of experts: a router chooses for each row which small networks answer.

In: tensors. Out: the block of Moe. May not know: stages.
"""

from __future__ import annotations

import numpy as np

from logosnb.ops.elementwise import sigma
from logosnb.ops.normalization import softmax
from logosnb.ops.op import Array, Example, Op, Operands, require


def moe_shape(s: Operands) -> tuple[int, int]:
    width = s.x.columns
    require(s.chosen <= s.experts, f"{s.chosen} of {s.experts} experts cannot be chosen", "r")
    require(s.r == (width, s.experts), "{r} must be the width of {x} by the experts", "x", "r")
    tall = s.g.rows == s.experts * width
    require(
        tall, "{g} must stack the experts' gates, each with a row for each column of {x}", "x", "g"
    )
    require(s.u == s.g, "{u} must have the shape of {g}", "g", "u")
    fits = s.d == (s.experts * s.g.columns, width)
    require(fits, "{d} must stack the experts' downs, each as wide as {x}", "x", "d")
    return s.x.rows, width


def moe(x: Array, r: Array, g: Array, u: Array, d: Array, chosen: int, experts: int) -> Array:
    """The choice is by logit: shares of nearly equal or very small logits can tie where these do not."""
    logits = x @ r
    shares = softmax(logits)
    gates, ups, downs = (t.reshape(experts, -1, t.shape[1]) for t in (g, u, d))
    y = np.zeros(x.shape)
    best = np.argsort(-logits, axis=1, kind="stable")[:, :chosen]
    for row, order in enumerate(best):
        weight = shares[row, order] / shares[row, order].sum()
        for expert, share in zip(order, weight):
            gate = x[row] @ gates[expert]
            y[row] += share * ((gate * sigma(gate) * (x[row] @ ups[expert])) @ downs[expert])
    return y


# A row's logits, the chosen experts (largest logit first, ties to the lower number), their shares and
# the sum of these.
CHOICE = """
Repeat for row from 1 to {x.rows}:
    Let base be (row - 1) * {x.columns}.
    Let logits be a new Seq of Real.
    Let mutable largest be -infinity.
    Repeat for e from 1 to {experts}:
        Let mutable logit be 0.0.
        Repeat for i from 1 to {x.columns}:
            Let weight be item ((i - 1) * {experts} + e) of {r}.
            Set logit to logit + (item (base + i) of {x}) * weight.
        Push logit to logits.
        Set largest to max(largest, logit).
    Let taken be a new Seq of Int.
    Let shares be a new Seq of Real.
    Let mutable total be 0.0.
    Repeat for place from 1 to {chosen}:
        Let mutable best be 0.
        Repeat for e from 1 to {experts}:
            If not taken contains e:
                If best == 0:
                    Set best to e.
                If item e of logits > item best of logits:
                    Set best to e.
        Push best to taken.
        Push exp((item best of logits) - largest) to shares.
        Set total to total + exp((item best of logits) - largest).
"""
PLACE = """
    Repeat for place from 1 to {chosen}:
        Let e be item place of taken.
        Let share be (item place of shares) / total.
"""
HIDDEN = """
        Repeat for j from 1 to {hidden}:
            Let mutable gate be 0.0.
            Let mutable up be 0.0.
            Repeat for i from 1 to {x.columns}:
                Let at be ((e - 1) * {x.columns} + i - 1) * {hidden} + j.
                Set gate to gate + (item (base + i) of {x}) * (item at of {g}).
                Set up to up + (item (base + i) of {x}) * (item at of {u}).
            Let sigma be 1.0 / (1.0 + exp(-gate)).
"""
EXPANSION = (
    "Let {y} be a {y.rows} by {y.columns} tensor of Real."
    + CHOICE
    + PLACE
    + HIDDEN
    + """
            Let value be share * gate * sigma * up.
            Repeat for i from 1 to {x.columns}:
                Let at be ((e - 1) * {hidden} + j - 1) * {x.columns} + i.
                Set item (base + i) of {y} to (item (base + i) of {y}) + value * (item at of {d}).
"""
)
ADJOINT = (
    """
[dx| Let {dx} be a {x.rows} by {x.columns} tensor of Real.]
[dr| Let {dr} be a {r.rows} by {r.columns} tensor of Real.]
[dg| Let {dg} be a {g.rows} by {g.columns} tensor of Real.]
[du| Let {du} be a {u.rows} by {u.columns} tensor of Real.]
[dd| Let {dd} be a {d.rows} by {d.columns} tensor of Real.]
"""
    + CHOICE
    + """
    Let slopes be a new Seq of Real.
    Let mutable expected be 0.0.
"""
    + PLACE
    + "        Let mutable slope_share be 0.0."
    + HIDDEN
    + """
            Let value be gate * sigma * up.
            Let mutable slope be 0.0.
            Repeat for i from 1 to {x.columns}:
                Let at be ((e - 1) * {hidden} + j - 1) * {x.columns} + i.
                Let slope_y be item (base + i) of {dy}.
                Set slope to slope + slope_y * (item at of {d}).
                [dd| Set item at of {dd} to (item at of {dd}) + share * value * slope_y.]
            Set slope_share to slope_share + slope * value.
            [dg or dx| Let slope_silu be sigma + gate * sigma * (1.0 - sigma).]
            [dg or dx| Let slope_gate be share * slope * up * slope_silu.]
            [du or dx| Let slope_up be share * slope * gate * sigma.]
            [dx or dg or du| Repeat for i from 1 to {x.columns}:
                Let at be ((e - 1) * {x.columns} + i - 1) * {hidden} + j.
                Let k be base + i.
                [dg| Set item at of {dg} to (item at of {dg}) + (item k of {x}) * slope_gate.]
                [du| Set item at of {du} to (item at of {du}) + (item k of {x}) * slope_up.]
                [dx| Let part be slope_gate * (item at of {g}) + slope_up * (item at of {u}).]
                [dx| Set item k of {dx} to (item k of {dx}) + part.]]
        Push slope_share to slopes.
        Set expected to expected + share * slope_share.
    [dr or dx| Repeat for place from 1 to {chosen}:
        Let e be item place of taken.
        Let slope be (item place of shares) / total * ((item place of slopes) - expected).
        Repeat for i from 1 to {x.columns}:
            Let at be (i - 1) * {experts} + e.
            Let k be base + i.
            [dr| Set item at of {dr} to (item at of {dr}) + (item k of {x}) * slope.]
            [dx| Set item k of {dx} to (item k of {dx}) + slope * (item at of {r}).]]
"""
)

# p = softmax(x r), weights p over the sum of the chosen: the softmax of the chosen logits.
# Per chosen expert with h = silu(a) ⊙ c, a = x g, c = x u, o = h d:
#   dh = w (dy dᵀ), da = dh ⊙ c ⊙ silu'(a), dc = dh ⊙ silu(a);  dg = xᵀ da, du = xᵀ dc, dd = w hᵀ dy
#   dw = dy·o,  dlogit = w (dw − Σ w dw),  dr = xᵀ dlogit;  dx = Σ da gᵀ + dc uᵀ + dlogit rᵀ
MOE = Op(
    name="Moe",
    phrase=(
        "mixture of {x} with router {r} and gates {g} and ups {u} and downs {d} "
        "choosing {chosen} of {experts} experts"
    ),
    about=(
        "Per row p = softmax(x r); the experts of the largest p are chosen (ties: the lower number), "
        "weighted by p over the sum of theirs; each gives (silu(x g) ⊙ (x u)) d. The choice is "
        "constant in the gradient; choosing one leaves the router a gradient of exactly zero."
    ),
    shape=moe_shape,
    meaning=moe,
    sizes=lambda s: {"hidden": s.g.columns},
    expansion=EXPANSION,
    adjoint={"x r g u d": ADJOINT},
    formula=(
        "per chosen expert, w its weight, a = x g, c = x u, h = silu(a) ⊙ c:  dh = w dy dᵀ\n"
        "da = dh ⊙ c ⊙ silu'(a),  dc = dh ⊙ silu(a),  dg = xᵀ da,  du = xᵀ dc,  dd = w hᵀ dy\n"
        "dw = dy·(h d),  dl = w (dw − Σ w dw),  dr = xᵀ dl,  dx = Σ da gᵀ + dc uᵀ + dl rᵀ"
    ),
    examples=(
        Example(
            "Let y be mixture of x with router r and gates g and ups u and downs d "
            "choosing 2 of 3 experts.",
            {
                "x": [[1]],
                "r": [[0, 0, -1]],
                "g": [[0], [0], [0]],
                "u": [[2], [4], [8]],
                "d": [[1], [3], [5]],
            },
            [[0]],
            [[2]],
            {
                "x": [[0]],
                "r": [[0, 0, 0]],
                "g": [[1], [6], [0]],
                "u": [[0], [0], [0]],
                "d": [[0], [0], [0]],
            },
            note="Two equal shares of 1/2; a = 0, silu'(0) = 1/2: da = 1/2·2·d·u/2.",
        ),
    ),
)
