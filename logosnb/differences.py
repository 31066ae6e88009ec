"""Central differences: the gradient of a scalar function of arrays, measured.

In: a function from named arrays to a number, the point, which elements. Out: the measured
derivative with its uncertainty, and both one-sided ones. May not know: LOGOS.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Function = Callable[[Mapping[str, Array]], float]

# The step that balances rounding against truncation of a fourth-order difference: about ε^(1/5).
STEP = float(np.finfo(np.float64).eps) ** 0.2


@dataclass(frozen=True)
class Slope:
    """central: fourth-order central difference; left, right: one-sided, over one step; gap and
    wide_gap: how much the one-sided slopes over one step and over two disagree; noise: what
    rounding and truncation may have added to `central`."""

    central: float
    left: float
    right: float
    gap: float
    wide_gap: float
    noise: float

    @property
    def kink(self) -> bool:
        """Curvature makes a gap that grows with the step; a kink makes one that does not."""
        size = max(abs(self.left), abs(self.right))
        return bool(self.gap > 1e-5 * size + self.noise and self.gap > 0.75 * self.wide_gap)


def slope(function: Function, point: Mapping[str, Array], tensor: str, index: int) -> Slope:
    """The derivative with respect to one element, by its flat index.

    Richardson's extrapolation of two central differences, steps h and 2h (Abramowitz & Stegun
    25.3.6); the difference between the two orders is taken as the uncertainty.
    """
    at = float(point[tensor].flat[index])
    step = STEP * max(1.0, abs(at))
    values = {k: _moved(function, point, tensor, index, at + k * step) for k in (-2, -1, 0, 1, 2)}
    left, right = (values[0] - values[-1]) / step, (values[1] - values[0]) / step
    gap = abs(right - left)
    wide_gap = abs(values[2] - 2 * values[0] + values[-2]) / (2 * step)
    near, far = (values[1] - values[-1]) / (2 * step), (values[2] - values[-2]) / (4 * step)
    largest = max(abs(v) for v in values.values())
    rounding = 8 * float(np.finfo(np.float64).eps) * largest / step
    noise = abs(near - far) / 3 + rounding
    return Slope((4 * near - far) / 3, left, right, gap, wide_gap, noise)


def _moved(
    function: Function, point: Mapping[str, Array], tensor: str, index: int, value: float
) -> float:
    moved = point[tensor].copy()
    moved.flat[index] = value
    return function({**point, tensor: moved})
