"""Rows read and written by number, and the number of the largest column.

In: tensors, row numbers from one. Out: the blocks of RowGather, RowsGather, ArgMax, SetRow. May not
know: stages.
"""

from __future__ import annotations

import numpy as np

from logosnb.ops.op import Array, Example, NoGradient, Op, Operands, OpError, require


def row(t: Array, position: int) -> Array:
    if not 1 <= position <= len(t):
        raise OpError(f"there is no row {position} of {{t}}, which has {len(t)} rows")
    return t[position - 1 : position].copy()


# y = row i of t:  dt[i] = dy, zero elsewhere
ROW_GATHER = Op(
    name="RowGather",
    phrase="row {position} of {t}",
    about="One row, 1 by columns; the number a literal or an Int name, from one.",
    shape=lambda s: (1, s.t.columns),
    meaning=row,
    kind=("t",),
    expansion="""
        Let {y} be a {y.rows} by {y.columns} tensor of {y.kind}.
        Repeat for column from 1 to {t.columns}:
            Set item column of {y} to item (({position} - 1) * {t.columns} + column) of {t}.
    """,
    adjoint={
        "t": """
            Let {dt} be a {t.rows} by {t.columns} tensor of Real.
            Repeat for column from 1 to {t.columns}:
                Set item (({position} - 1) * {t.columns} + column) of {dt} to item column of {dy}.
        """
    },
    formula="dt[i] = dy, zero in other rows",
    examples=(
        Example(
            "Let y be row 2 of t.",
            {"t": [[1, 2], [3, 4], [5, 6]]},
            [[3, 4]],
            [[10, 20]],
            {"t": [[0, 0], [10, 20], [0, 0]]},
        ),
        Example(
            "Let y be row p of t.",
            {"t": [[1, 2], [3, 4]]},
            [[1, 2]],
            [[10, 20]],
            {"t": [[10, 20], [0, 0]]},
            setup="Let p be 1.",
        ),
    ),
)


def rows_shape(s: Operands) -> tuple[int, int]:
    line = 1 in s.indices
    require(line, "the row numbers {indices} must be one row or one column", "indices")
    return s.indices.rows * s.indices.columns, s.t.columns


def rows(t: Array, indices: Array) -> Array:
    numbers = indices.reshape(-1)
    for place, number in enumerate(numbers.tolist(), 1):
        if not 1 <= number <= len(t):
            raise OpError(
                f"{{indices}}: element {place} is row {number}, but {{t}} has {len(t)} rows"
            )
    return np.take(t, numbers - 1, axis=0)


# y = t[i]:  dt[i_r] += dy_r for every r, so that repeated rows add up
ROWS_GATHER = Op(
    name="RowsGather",
    phrase="rows {indices} of {t}",
    about="The rows that an Int tensor lists, from one; a row may be listed more than once.",
    shape=rows_shape,
    meaning=rows,
    kind=("t",),
    expansion="""
        Let {y} be a {y.rows} by {y.columns} tensor of {y.kind}.
        Repeat for place from 1 to {y.rows}:
            Let source be item place of {indices}.
            Repeat for column from 1 to {t.columns}:
                Let k be (source - 1) * {t.columns} + column.
                Set item ((place - 1) * {t.columns} + column) of {y} to item k of {t}.
    """,
    adjoint={
        "t": """
            Let {dt} be a {t.rows} by {t.columns} tensor of Real.
            Repeat for place from 1 to {y.rows}:
                Let source be item place of {indices}.
                Repeat for column from 1 to {t.columns}:
                    Let k be (source - 1) * {t.columns} + column.
                    Let slope be item ((place - 1) * {t.columns} + column) of {dy}.
                    Set item k of {dt} to (item k of {dt}) + slope.
        """
    },
    formula="dt[i_r] += dy_r for every row r",
    examples=(
        Example(
            "Let y be rows i of t.",
            {"t": [[5], [6], [7]], "i": [[2], [2], [1]]},
            [[6], [6], [5]],
            [[1], [10], [100]],
            {"t": [[100], [11], [0]]},
            note="Row 2 is read twice, so its gradients add up.",
        ),
    ),
)


def argmax(x: Array) -> Array:
    """NaN counts as the largest, as NumPy has it; of equal elements the first."""
    columns: Array = x.argmax(axis=1).reshape(-1, 1) + 1
    return columns


ARG_MAX = Op(
    name="ArgMax",
    phrase="argmax of {x}",
    about="Per row the number, from one, of the first largest element; a NaN counts as the largest.",
    shape=lambda s: (s.x.rows, 1),
    meaning=argmax,
    kind="Int",
    expansion="""
        Let {y} be a {y.rows} by 1 tensor of Int.
        Repeat for row from 1 to {x.rows}:
            Let base be (row - 1) * {x.columns}.
            Let mutable best be 1.
            Repeat for column from 1 to {x.columns}:
                Let value be item (base + column) of {x}.
                Let leader be item (base + best) of {x}.
                If leader == leader and not value <= leader:
                    Set best to column.
            Set item row of {y} to best.
    """,
    adjoint=NoGradient("the number of the largest element jumps: it is constant between the jumps"),
    formula="none: a step function of x",
    examples=(Example("Let y be argmax of x.", {"x": [[1, 3, 3], [2, 0, 1]]}, [[2], [1]]),),
)


def set_rows_shape(s: Operands) -> tuple[int, int]:
    fits = s.x.columns == s.t.columns and s.x.rows <= s.t.rows
    require(fits, "{x} must be as wide as {t} and no longer", "x", "t")
    return s.t.rows, s.t.columns


def set_rows(t: Array, x: Array, position: int) -> Array:
    if not 1 <= position <= len(t) - len(x) + 1:
        last = position + len(x) - 1
        raise OpError(f"rows {position} … {last} are not all in {{t}}, which has {len(t)} rows")
    result = t.astype(np.result_type(t, x))  # Real rows stay Real: the run refuses them in an Int t
    result[position - 1 : position - 1 + len(x)] = x
    return result


# The expansion reads the last element to be written first: rows past the end are an error before any write.
# Rows p … of t become x:  dx = those rows of dt,  dt before = dt with those rows zeroed
SET_ROW = Op(
    name="SetRow",
    phrase=("Set rows from {position} of {t} to {x}", "Set row {position} of {t} to {x}"),
    about="A statement: as many rows of t as x has, from the given one on, become x.",
    shape=set_rows_shape,
    meaning=set_rows,
    kind=("t",),
    writes="t",
    expansion="""
        Let end be item (({position} + {x.rows} - 1) * {t.columns}) of {t}.
        Repeat for row from 1 to {x.rows}:
            Repeat for column from 1 to {x.columns}:
                Let k be ({position} + row - 2) * {x.columns} + column.
                Set item k of {t} to item ((row - 1) * {x.columns} + column) of {x}.
    """,
    adjoint={
        "x": """
            Let {dx} be a {x.rows} by {x.columns} tensor of Real.
            Repeat for row from 1 to {x.rows}:
                Repeat for column from 1 to {x.columns}:
                    Let k be ({position} + row - 2) * {x.columns} + column.
                    Set item ((row - 1) * {x.columns} + column) of {dx} to item k of {dy}.
        """,
        "t": """
            Let {dt} be a {t.rows} by {t.columns} tensor of Real.
            Repeat for row from 1 to {t.rows}:
                If row < {position} or row >= {position} + {x.rows}:
                    Repeat for column from 1 to {t.columns}:
                        Let k be (row - 1) * {t.columns} + column.
                        Set item k of {dt} to item k of {dy}.
        """,
    },
    formula="dx = dt[p … p + rows − 1],  dt before = dt with those rows zeroed",
    examples=(
        Example(
            "Set rows from 2 of t to x.",
            {"t": [[1], [2], [3]], "x": [[8], [9]]},
            [[1], [8], [9]],
            [[10], [20], [30]],
            {"x": [[20], [30]], "t": [[10], [0], [0]]},
        ),
        Example(
            "Set row p of t to x.",
            {"t": [[1, 2], [3, 4]], "x": [[8, 9]]},
            [[8, 9], [3, 4]],
            [[1, 2], [3, 4]],
            {"x": [[1, 2]], "t": [[0, 0], [3, 4]]},
            setup="Let p be 1.",
        ),
    ),
)
