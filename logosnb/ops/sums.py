"""Sums and means over a tensor, its rows or its columns.

In: tensors. Out: the blocks of Sum, Mean, RowSums, ColumnSums. May not know: stages.
"""

from __future__ import annotations

import numpy as np

from logosnb.ops.op import Example, Op


def spread(value: str) -> str:
    """The adjoint of a sum: each element gets the cotangent of the sum that it went into."""
    return f"""
        Let {{dx}} be a {{x.rows}} by {{x.columns}} tensor of Real.
        Repeat for row from 1 to {{x.rows}}:
            Repeat for column from 1 to {{x.columns}}:
                Set item ((row - 1) * {{x.columns}} + column) of {{dx}} to {value}.
    """


def total(divided: str = "") -> str:
    """The expansion of the sum of all elements, `divided` by their number for the mean."""
    return f"""
        Let {{y}} be a 1 by 1 tensor of Real.
        Let mutable total be 0.0.
        Repeat for k from 1 to {{x.size}}:
            Set total to total + (item k of {{x}}).
        Set item 1 of {{y}} to total{divided}.
    """


X = {"x": [[1.0, 2.0], [3.0, 6.0]]}

# y = Σ x:  dx = dy everywhere
SUM = Op(
    name="Sum",
    phrase="sum of {x}",
    about="The sum of all elements, 1 by 1.",
    shape=lambda s: (1, 1),
    meaning=lambda x: x.sum(dtype=float).reshape(1, 1),
    expansion=total(),
    adjoint={"x": spread("item 1 of {dy}")},
    spelling="{x}.sum().reshape(1, 1)",
    formula="dx = dy, the same for every element",
    examples=(Example("Let y be sum of x.", X, [[12]], [[5]], {"x": [[5, 5], [5, 5]]}),),
)

# y = Σ x / n:  dx = dy / n everywhere
MEAN = Op(
    name="Mean",
    phrase="mean of {x}",
    about="The mean of all elements, 1 by 1; NaN of a tensor without elements.",
    shape=lambda s: (1, 1),
    meaning=lambda x: (x.sum(dtype=float) / np.float64(x.size)).reshape(1, 1),
    expansion=total(" / {x.size}"),
    adjoint={"x": spread("(item 1 of {dy}) / {x.size}")},
    spelling="{x}.mean().reshape(1, 1)",
    formula="dx = dy / n, the same for every element",
    examples=(Example("Let y be mean of x.", X, [[3]], [[8]], {"x": [[2, 2], [2, 2]]}),),
)

# y = Σ x over each row:  dx = dy of its row
ROW_SUMS = Op(
    name="RowSums",
    phrase="row sums of {x}",
    about="The sum of each row, rows by 1.",
    shape=lambda s: (s.x.rows, 1),
    meaning=lambda x: x.sum(axis=1, keepdims=True, dtype=float),
    expansion="""
        Let {y} be a {y.rows} by 1 tensor of Real.
        Repeat for row from 1 to {x.rows}:
            Let mutable total be 0.0.
            Repeat for column from 1 to {x.columns}:
                Set total to total + (item ((row - 1) * {x.columns} + column) of {x}).
            Set item row of {y} to total.
    """,
    adjoint={"x": spread("item row of {dy}")},
    spelling="{x}.sum(axis=1, keepdims=True)",
    formula="dx = dy of its row",
    examples=(
        Example("Let y be row sums of x.", X, [[3], [9]], [[1], [2]], {"x": [[1, 1], [2, 2]]}),
    ),
)

# y = Σ x over each column:  dx = dy of its column
COLUMN_SUMS = Op(
    name="ColumnSums",
    phrase="column sums of {x}",
    about="The sum of each column, 1 by columns.",
    shape=lambda s: (1, s.x.columns),
    meaning=lambda x: x.sum(axis=0, keepdims=True, dtype=float),
    expansion="""
        Let {y} be a 1 by {y.columns} tensor of Real.
        Repeat for row from 1 to {x.rows}:
            Repeat for column from 1 to {x.columns}:
                Let value be item ((row - 1) * {x.columns} + column) of {x}.
                Set item column of {y} to (item column of {y}) + value.
    """,
    adjoint={"x": spread("item column of {dy}")},
    spelling="{x}.sum(axis=0, keepdims=True)",
    formula="dx = dy of its column",
    examples=(
        Example("Let y be column sums of x.", X, [[4, 8]], [[1, 2]], {"x": [[1, 2], [1, 2]]}),
    ),
)
