"""Losses: means over rows or elements, 1 by 1.

In: tensors. Out: the blocks of CrossEntropy, SquaredError. May not know: stages.
"""

from __future__ import annotations

import numpy as np

from logosnb.ops.op import Array, Example, Op, Operands, OpError, require


def cross_entropy_shape(s: Operands) -> tuple[int, int]:
    fits = s.targets == (s.z.rows, 1)
    require(fits, "{targets} must be a column with a row for each row of {z}", "z", "targets")
    return 1, 1


def require_classes(classes: Array, columns: int) -> None:
    """Raise OpError naming the first target that is not a column number, from one."""
    outside = np.flatnonzero((classes < 1) | (classes > columns))
    if outside.size:
        number = int(outside[0])
        raise OpError(
            f"{{targets}}: element {number + 1} is {classes[number]}, outside 1 … {columns}, "
            "the columns of {z}"
        )


def cross_entropy(z: Array, targets: Array) -> Array:
    """Mean of log Σ exp z − z[target]; infinite where every logit of a row is −infinity."""
    classes = targets.reshape(-1)
    require_classes(classes, z.shape[1])
    largest = z.max(axis=1, initial=-np.inf)
    largest = np.where(np.isneginf(largest), 0.0, largest)
    total = np.log(np.exp(z - largest[:, None]).sum(axis=1))
    chosen = z[np.arange(len(z)), classes - 1] - largest
    losses = np.where(np.isneginf(total), np.inf, total - chosen)
    mean: Array = losses.sum(keepdims=True).reshape(1, 1) / len(z)
    return mean


# A target that is no column makes the expansion fail as an index does, at an item that is not there.
# y = mean over rows of log Σ exp z − z[t]:  dz = dy (softmax z − onehot t) / rows
CROSS_ENTROPY = Op(
    name="CrossEntropy",
    phrase="cross entropy of {z} with targets {targets}",
    about=(
        "The mean over rows of log Σ exp z − z[target], the maximum subtracted first. A row whose "
        "logits are all −infinity has an infinite loss, with gradient −1/rows at its target."
    ),
    shape=cross_entropy_shape,
    meaning=cross_entropy,
    expansion="""
        Let {y} be a 1 by 1 tensor of Real.
        Repeat for row from 1 to {z.rows}:
            Let base be (row - 1) * {z.columns}.
            Let target be item row of {targets}.
            If target < 1 or target > {z.columns}:
                Let nowhere be item 0 of {z}.
            Let mutable largest be -infinity.
            Repeat for column from 1 to {z.columns}:
                Set largest to max(largest, item (base + column) of {z}).
            If largest == -infinity:
                Set largest to 0.0.
            Let mutable total be 0.0.
            Repeat for column from 1 to {z.columns}:
                Set total to total + exp((item (base + column) of {z}) - largest).
            Let mutable loss be infinity.
            If total != 0.0:
                Set loss to log(total) - (item (base + target) of {z}) + largest.
            Set item 1 of {y} to (item 1 of {y}) + loss / {z.rows}.
    """,
    adjoint={
        "z": """
            Let p_{z} be softmax of {z}.
            Let {dz} be a {z.rows} by {z.columns} tensor of Real.
            Repeat for row from 1 to {z.rows}:
                Repeat for column from 1 to {z.columns}:
                    Let k be (row - 1) * {z.columns} + column.
                    Let mutable hit be 0.0.
                    If column == item row of {targets}:
                        Set hit to 1.0.
                    Set item k of {dz} to (item 1 of {dy}) * ((item k of p_{z}) - hit) / {z.rows}.
        """
    },
    spelling="cross_entropy({z}, {targets})",
    formula="dz = dy (softmax z − [column = target]) / rows",
    examples=(
        Example(
            "Let y be cross entropy of z with targets t.",
            {"z": [[0, 0], [0, float(np.log(3))]], "t": [[1], [2]]},
            [[float(np.log(2) + np.log(4 / 3)) / 2]],
            [[8]],
            {"z": [[-2, 2], [1, -1]]},
        ),
    ),
)


def squared_error_shape(s: Operands) -> tuple[int, int]:
    require(s.a == s.b, "{a} and {b} must have the same shape", "a", "b")
    return 1, 1


# y = mean (a − b)²:  da = 2 dy (a − b) / n,  db = −da
SQUARED_ERROR = Op(
    name="SquaredError",
    phrase="squared error of {a} and {b}",
    about="The mean over all elements of (a − b)².",
    shape=squared_error_shape,
    meaning=lambda a, b: (np.square(a - b).sum() / np.float64(a.size)).reshape(1, 1),
    expansion="""
        Let {y} be a 1 by 1 tensor of Real.
        Let mutable total be 0.0.
        Repeat for k from 1 to {a.size}:
            Let difference be (item k of {a}) - (item k of {b}).
            Set total to total + difference * difference.
        Set item 1 of {y} to total / {a.size}.
    """,
    adjoint={
        "a b": """
            [da| Let {da} be a {a.rows} by {a.columns} tensor of Real.]
            [db| Let {db} be a {b.rows} by {b.columns} tensor of Real.]
            Repeat for k from 1 to {a.size}:
                Let slope be 2.0 * (item 1 of {dy}) * ((item k of {a}) - (item k of {b})) / {a.size}.
                [da| Set item k of {da} to slope.]
                [db| Set item k of {db} to -slope.]
        """
    },
    spelling="(({a} - {b}) ** 2).mean().reshape(1, 1)",
    formula="da = 2 dy (a − b) / n,  db = −da",
    examples=(
        Example(
            "Let y be squared error of a and b.",
            {"a": [[1, 5]], "b": [[3, 5]]},
            [[2]],
            [[3]],
            {"a": [[-6, 0]], "b": [[6, 0]]},
        ),
    ),
)
