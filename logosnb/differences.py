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

EPSILON = float(np.finfo(np.float64).eps)
# The step that balances rounding against truncation of a fourth-order difference: about ε^(1/5).
STEP = EPSILON**0.2
# Near a kink, a pole or the edge of a domain that step reaches too far: shorter ones, as shares of it.
SHARES = tuple(16.0**-power for power in range(8))
CLOSE = 1e-6  # noise below this share of the slope needs no shorter step


@dataclass(frozen=True)
class Slope:
    """central: fourth-order central difference; left, right: one-sided, over one step; gap and
    wide_gap: how much the one-sided slopes over one step and over two disagree; noise: what
    rounding and truncation may have added to `central`; rounding: the part of it that a shorter step
    makes larger; value: of the function itself."""

    central: float
    left: float
    right: float
    gap: float
    wide_gap: float
    noise: float
    rounding: float
    value: float

    @property
    def close(self) -> bool:
        """Whether a shorter step would measure no better."""
        enough = max(CLOSE * abs(self.central), self.rounding / SHARES[1])
        return not np.isfinite(self.value) or self.noise <= enough

    @property
    def kink(self) -> bool:
        """Curvature makes a gap that grows with the step; a kink makes one that does not."""
        size = max(abs(self.left), abs(self.right))
        return bool(self.gap > 1e-5 * size + self.noise and self.gap > 0.75 * self.wide_gap)


def jitter(
    function: Function, point: Mapping[str, Array], random: np.random.Generator, runs: int = 3
) -> float:
    """How much the function's value moves when every element moves by a rounding: its own rounding
    error, which is more than that of its value where large terms cancel within it."""
    at = function(point)
    moved = [abs(function(_rounded(point, random)) - at) for _ in range(runs)]
    return max((m for m in moved if np.isfinite(m)), default=0.0)


def _rounded(point: Mapping[str, Array], random: np.random.Generator) -> dict[str, Array]:
    return {
        name: array * (1 + EPSILON * random.choice([-1, 1], size=array.shape))
        if array.dtype.kind == "f"
        else array
        for name, array in point.items()
    }


def slope(
    function: Function,
    point: Mapping[str, Array],
    tensor: str,
    index: int,
    jitter: float = 0.0,
) -> Slope:
    """The derivative with respect to one element, by its flat index: over the longest step that is
    close enough, else over the one that leaves least noise for its size. jitter: the function's own
    rounding error."""
    found: list[Slope] = []
    for share in SHARES:
        found.append(_over(share * STEP, function, point, tensor, index, jitter))
        if found[-1].close:
            return found[-1]
    finite = [measured for measured in found if np.isfinite(measured.noise)]
    return min(finite, key=lambda s: s.noise / max(abs(s.central), EPSILON), default=found[0])


def _over(
    length: float,
    function: Function,
    point: Mapping[str, Array],
    tensor: str,
    index: int,
    jitter: float,
) -> Slope:
    """Richardson's extrapolation of two central differences, steps h and 2h (Abramowitz & Stegun
    25.3.6); the difference between the two orders is taken as the uncertainty. length: of the step,
    relative to an element above one.
    """
    at = float(point[tensor].flat[index])
    step = length * max(1.0, abs(at))
    values = {k: _moved(function, point, tensor, index, at + k * step) for k in (-2, -1, 0, 1, 2)}
    left, right = (values[0] - values[-1]) / step, (values[1] - values[0]) / step
    gap = abs(right - left)
    wide_gap = abs(values[2] - 2 * values[0] + values[-2]) / (2 * step)
    near, far = (values[1] - values[-1]) / (2 * step), (values[2] - values[-2]) / (4 * step)
    largest = max(abs(v) for v in values.values())
    rounding = 8 * max(EPSILON * largest, jitter) / step
    noise = abs(near - far) / 3 + rounding
    return Slope((4 * near - far) / 3, left, right, gap, wide_gap, noise, rounding, values[0])


def _moved(
    function: Function, point: Mapping[str, Array], tensor: str, index: int, value: float
) -> float:
    moved = point[tensor].copy()
    moved.flat[index] = value
    return function({**point, tensor: moved})
