"""Columns taken from each group, and heads of two tensors joined.

In: tensors. Out: the blocks of HeadSlice, Join. May not know: stages.
"""

from __future__ import annotations

import numpy as np

from logosnb.ops.op import Array, Example, Op, Operands, require


def slice_shape(s: Operands) -> tuple[int, int]:
    require(s.x.columns % s.every == 0, f"{s.every} must divide the columns of {{x}}", "x")
    inside = s.first <= s.last <= s.every
    require(inside, f"columns {s.first} through {s.last} are not in a group of {s.every}", "x")
    return s.x.rows, s.x.columns // s.every * (s.last - s.first + 1)


def head_slice(x: Array, first: int, last: int, every: int) -> Array:
    return x.reshape(x.shape[0], -1, every)[:, :, first - 1 : last].reshape(x.shape[0], -1)


# In each group of `every` columns, columns first … last:  dx has dy there, zero elsewhere
HEAD_SLICE = Op(
    name="HeadSlice",
    phrase="columns {first} through {last} of every {every} of {x}",
    about="In each group of columns of each row, the columns from first to last, both included.",
    shape=slice_shape,
    meaning=head_slice,
    kind=("x",),
    sizes=lambda s: {"groups": s.x.rows * (s.x.columns // s.every), "width": s.last - s.first + 1},
    expansion="""
        Let {y} be a {y.rows} by {y.columns} tensor of {y.kind}.
        Repeat for group from 1 to {groups}:
            Repeat for column from 1 to {width}:
                Let source be (group - 1) * {every} + {first} - 1 + column.
                Set item ((group - 1) * {width} + column) of {y} to item source of {x}.
    """,
    adjoint={
        "x": """
            Let {dx} be a {x.rows} by {x.columns} tensor of Real.
            Repeat for group from 1 to {groups}:
                Repeat for column from 1 to {width}:
                    Let source be (group - 1) * {every} + {first} - 1 + column.
                    Set item source of {dx} to item ((group - 1) * {width} + column) of {dy}.
        """
    },
    formula="dx = dy in the columns taken, zero elsewhere",
    examples=(
        Example(
            "Let y be columns 2 through 3 of every 3 of x.",
            {"x": [[1, 2, 3, 4, 5, 6]]},
            [[2, 3, 5, 6]],
            [[1, 2, 3, 4]],
            {"x": [[0, 1, 2, 0, 3, 4]]},
        ),
    ),
)


def join_shape(s: Operands) -> tuple[int, int]:
    require(s.a.rows == s.b.rows, "{a} and {b} must have as many rows", "a", "b")
    divided = s.a.columns % s.heads == 0 and s.b.columns % s.heads == 0
    require(divided, "the heads must divide the columns of {a} and of {b}", "a", "b")
    return s.a.rows, s.a.columns + s.b.columns


def join(a: Array, b: Array, heads: int) -> Array:
    halves = [part.reshape(part.shape[0], heads, -1) for part in (a, b)]
    return np.concatenate(halves, axis=2).reshape(a.shape[0], -1)


# Per row and head, the head's part of a then its part of b:  da, db = the parts of dy they became
JOIN = Op(
    name="Join",
    phrase="{a} joined with {b} across {heads} heads",
    about="Per row and head, the head's part of a, then its part of b.",
    shape=join_shape,
    meaning=join,
    kind=("a", "b"),
    sizes=lambda s: {
        "groups": s.a.rows * s.heads,
        "wide_a": s.a.columns // s.heads,
        "wide_b": s.b.columns // s.heads,
        "wide": (s.a.columns + s.b.columns) // s.heads,
    },
    expansion="""
        Let {y} be a {y.rows} by {y.columns} tensor of {y.kind}.
        Repeat for group from 1 to {groups}:
            Let base be (group - 1) * {wide}.
            Repeat for column from 1 to {wide_a}:
                Set item (base + column) of {y} to item ((group - 1) * {wide_a} + column) of {a}.
            Repeat for column from 1 to {wide_b}:
                Let source be (group - 1) * {wide_b} + column.
                Set item (base + {wide_a} + column) of {y} to item source of {b}.
    """,
    adjoint={
        "a": """
            Let {da} be a {a.rows} by {a.columns} tensor of Real.
            Repeat for group from 1 to {groups}:
                Repeat for column from 1 to {wide_a}:
                    Let source be (group - 1) * {wide} + column.
                    Set item ((group - 1) * {wide_a} + column) of {da} to item source of {dy}.
        """,
        "b": """
            Let {db} be a {b.rows} by {b.columns} tensor of Real.
            Repeat for group from 1 to {groups}:
                Repeat for column from 1 to {wide_b}:
                    Let source be (group - 1) * {wide} + {wide_a} + column.
                    Set item ((group - 1) * {wide_b} + column) of {db} to item source of {dy}.
        """,
    },
    formula="da, db = the parts of dy that a and b became",
    examples=(
        Example(
            "Let y be a joined with b across 2 heads.",
            {"a": [[1, 2]], "b": [[3, 4, 5, 6]]},
            [[1, 3, 4, 2, 5, 6]],
            [[10, 20, 30, 40, 50, 60]],
            {"a": [[10, 40]], "b": [[20, 30, 50, 60]]},
        ),
    ),
)
