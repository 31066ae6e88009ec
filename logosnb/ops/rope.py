"""Rotary position embedding: pairs of columns turned by angles from a table.

In: tensors. Out: the block of Rope. May not know: stages.
"""

from __future__ import annotations

import numpy as np

from logosnb.ops.op import Array, Example, Op, Operands, OpError, require


def rope_shape(s: Operands) -> tuple[int, int]:
    require(s.c == s.s, "{c} and {s} must have the same shape", "c", "s")
    heads = s.heads or 1
    require(s.q.columns % heads == 0, "the heads must divide the columns of {q}", "q")
    width = head_width(s)
    whole = width >= 2 * s.c.columns and s.q.columns % width == 0
    require(whole, "a head of {q} must hold the pairs that {c} turns", "q", "c")
    if s.position is None:
        enough = s.c.rows == 1 or s.c.rows >= s.q.rows
        require(enough, "{c} must have one row, or one for each row of {q}", "q", "c")
    return s.q.rows, s.q.columns


def head_width(s: Operands) -> int:
    """Columns of a head: as `across` says, else twice the table's."""
    return int(s.q.columns // s.heads if s.heads is not None else 2 * s.c.columns)


def table_rows(table: Array, count: int, position: int | None) -> Array:
    """The table's row for each row of q: the only one, or row r, or p + r − 1."""
    if len(table) == 1:
        return np.repeat(table, count, axis=0)
    first = 1 if position is None else position
    if first < 1:
        raise OpError(f"position {first} is before the first row of {{c}}")
    if first + count - 1 > len(table):
        last = first + count - 1
        raise OpError(f"row {count} needs table row {last}, and {{c}} has {len(table)} rows")
    return table[first - 1 : first - 1 + count]


def rope(
    q: Array, c: Array, s: Array, position: int | None = None, heads: int | None = None
) -> Array:
    half = c.shape[1]
    width = q.shape[1] // heads if heads is not None else 2 * half
    y = q.reshape(len(q), -1, width).copy()
    cosine, sine = (table_rows(table, len(q), position)[:, None, :] for table in (c, s))
    first, second = y[:, :, :half].copy(), y[:, :, half : 2 * half].copy()
    y[:, :, :half] = first * cosine - second * sine
    y[:, :, half : 2 * half] = second * cosine + first * sine
    return y.reshape(q.shape)


def sizes(s: Operands) -> dict[str, int]:
    width = head_width(s)
    return {
        "half": s.c.columns,
        "width": width,
        "groups": s.q.columns // width,
        "step": 0 if s.c.rows == 1 else s.c.columns,
    }


LOOP = """
            Repeat for row from 1 to {q.rows}:
                Let angles be ([position|{position} + ]row - [position|2][!position|1]) * {step}.
                Repeat for head from 1 to {groups}:
                    Let base be (row - 1) * {q.columns} + (head - 1) * {width}.
                    Repeat for i from 1 to {half}:
                        Let first be item (base + i) of {q}.
                        Let second be item (base + {half} + i) of {q}.
"""

# A turn is orthogonal, so dq turns dy back: the same op with the sines negated.
#   dc_i = Σ dy_i q_i + dy_{i+h} q_{i+h},  ds_i = Σ dy_{i+h} q_i − dy_i q_{i+h}
ROPE = Op(
    name="Rope",
    phrase="rope of {q} with cos {c} and sin {s} [from position {position}] [across {heads} heads]",
    about=(
        "Per head, pairs (i, i + half) turned: y_i = q_i c_i − q_{i+half} s_i, "
        "y_{i+half} = q_{i+half} c_i + q_i s_i. Columns past 2·half pass through. A one-row table "
        "serves every row, whatever the position; else row r uses table row r, or p + r − 1."
    ),
    shape=rope_shape,
    meaning=rope,
    sizes=sizes,
    expansion="""
            Let {y} be a {y.rows} by {y.columns} tensor of Real.
            Repeat for k from 1 to {q.size}:
                Set item k of {y} to item k of {q}.
"""
    + LOOP
    + """
                        Let cosine be item (angles + i) of {c}.
                        Let sine be item (angles + i) of {s}.
                        Set item (base + i) of {y} to first * cosine - second * sine.
                        Set item (base + {half} + i) of {y} to second * cosine + first * sine.
    """,
    adjoint={
        "q": """
            Let minus_{s} be {s} scaled by -1.
"""
        "            Let {dq} be rope of {dy} with cos {c} and sin minus_{s}"
        "[position| from position {position}][heads| across {heads} heads].",
        "c s": """
            [dc| Let {dc} be a {c.rows} by {c.columns} tensor of Real.]
            [ds| Let {ds} be a {s.rows} by {s.columns} tensor of Real.]
"""
        + LOOP
        + """
                        Let slope_first be item (base + i) of {dy}.
                        Let slope_second be item (base + {half} + i) of {dy}.
                        Let at be angles + i.
                        [dc| Let slope_c be slope_first * first + slope_second * second.]
                        [dc| Set item at of {dc} to (item at of {dc}) + slope_c.]
                        [ds| Let slope_s be slope_second * first - slope_first * second.]
                        [ds| Set item at of {ds} to (item at of {ds}) + slope_s.]
        """,
    },
    formula=(
        "dq = rope of dy with the sines negated\n"
        "dc_i = Σ dy_i q_i + dy_{i+half} q_{i+half},  ds_i = Σ dy_{i+half} q_i − dy_i q_{i+half}"
    ),
    examples=(
        Example(
            "Let y be rope of q with cos c and sin s.",
            {"q": [[1, 2, 3, 4]], "c": [[0, 1]], "s": [[1, 0]]},
            [[-3, 2, 1, 4]],
            [[10, 20, 30, 40]],
            {"q": [[30, 20, -10, 40]], "c": [[100, 200]], "s": [[0, 0]]},
            note="The pair (1, 3) turns by a quarter, the pair (2, 4) not at all.",
        ),
        Example(
            "Let y be rope of q with cos c and sin s from position 2 across 2 heads.",
            {"q": [[1, 2, 9, 3, 4, 9]], "c": [[1], [0]], "s": [[0], [1]]},
            [[-2, 1, 9, -4, 3, 9]],
            [[1, 0, 5, 0, 1, 7]],
            {"q": [[0, -1, 5, 1, 0, 7]], "c": [[0], [5]], "s": [[0], [1]]},
            note="A head is three wide: a pair, and a column that passes. Row 1 uses table row 2.",
        ),
        Example(
            "Let y be rope of q with cos c and sin s.",
            {"q": [[1, 2], [3, 4]], "c": [[0], [1]], "s": [[1], [0]]},
            [[-2, 1], [3, 4]],
            [[1, 10], [100, 1000]],
            {"q": [[10, -1], [100, 1000]], "c": [[21], [4300]], "s": [[8], [2600]]},
        ),
        Example(
            "Let y be rope of q with cos c and sin s from position 7.",
            {"q": [[1, 2], [3, 4]], "c": [[0]], "s": [[1]]},
            [[-2, 1], [-4, 3]],
            [[1, 10], [100, 1000]],
            {"q": [[10, -1], [1000, -100]], "c": [[4321]], "s": [[2608]]},
            note="One table row serves every row: its gradient sums over both.",
        ),
    ),
)
