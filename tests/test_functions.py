"""exp, tanh and log of the kernels, against NumPy's in more digits."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from logosnb.kernels import functions

SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan]


def applied(name: str, x: np.ndarray) -> np.ndarray:
    function = getattr(functions, f"{name}{8 * x.itemsize}")

    @njit
    def each(x, y):
        for k in range(x.size):
            y[k] = function(x[k])

    y = np.empty_like(x)
    each(x, y)
    return y


def points(name: str, dtype: type) -> np.ndarray:
    """Over the whole domain, results below the smallest normal number included."""
    random = np.random.default_rng(0)
    info = np.finfo(dtype)
    low, high = np.log(float(info.smallest_subnormal)), np.log(float(info.max))
    if name == "exp":
        found = random.uniform(low - 2, high + 2, 200_000)
    elif name == "log":
        found = np.exp(random.uniform(low, high, 200_000))
    else:
        found = random.choice([-1, 1], 200_000) * np.exp(random.uniform(low / 2, 3, 200_000))
    near = random.uniform(0.5, 2, 100_000)
    return np.concatenate([found, near, SPECIAL]).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("name", "places"), [("exp", 2.0), ("log", 1.5), ("tanh", 5.0)])
def test_within_a_few_units_in_the_last_place(name: str, places: float, dtype: type) -> None:
    x = points(name, dtype)
    with np.errstate(all="ignore"):
        exact = getattr(np, name)(x.astype(np.longdouble))
        rounded = exact.astype(dtype)
        found = applied(name, x)
        same = (found == rounded) | (np.isnan(found) & np.isnan(rounded))
        error = np.abs(found.astype(np.longdouble) - exact) / np.spacing(np.abs(rounded))
    assert same[-len(SPECIAL) :].all(), list(zip(SPECIAL, found[-len(SPECIAL) :]))
    worst = int(np.argmax(np.where(same, 0, error)))
    assert same.all() or error[~same].max() <= places, (x[worst], found[worst], rounded[worst])
