"""`check`: a derived gradient held against central differences, and across backends.

In: a program, its inputs, the output. Out: a `Report` that says which tensor and element is worst
and what kind of error it looks like. May not know: how the gradient was derived.

After autograd's test_util: random cotangents, since all ones hide mistakes (the rows of a softmax
sum to one, whatever its rule says).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from logosnb.differences import Slope, jitter, slope
from logosnb.gradient.backward import tensor_names
from logosnb.gradient.refusals import Shapeless, UnknownOutput
from logosnb.inputs import Array, as_tensor, cotangent_for, prepared
from logosnb.language.errors import LogosError
from logosnb.ops.op import Shape
from logosnb.running import BACKENDS, Gradients, as_program, grad, real_inputs, run
from logosnb.stages.program import Program
from logosnb.stages.stage import Declaration

RELATIVE = 1e-5  # an error above this share of the larger of the two is an error of the rule
FLOOR = 1e-8  # of the tensor's largest slope: elements smaller than this are noise
MOST = 64  # elements measured of one tensor; more are sampled


@dataclass(frozen=True)
class Row:
    """One tensor on one backend: its worst element (row and column from one), how far apart the two
    gradients are there, relative to the larger, and the verdict."""

    tensor: str
    backend: str
    measured: int
    size: int
    element: tuple[int, int]
    derived: float
    difference: float
    error: float
    verdict: str

    @property
    def ok(self) -> bool:
        return self.verdict.startswith(("agrees", "a kink", "undefined"))


@dataclass(frozen=True)
class Report:
    """The rows of a check. `ok` where every one agrees; prints as a table."""

    rows: tuple[Row, ...]
    seed: int

    @property
    def ok(self) -> bool:
        return all(row.ok for row in self.rows)

    @property
    def worst(self) -> Row | None:
        return max(self.rows, key=lambda row: (not row.ok, row.error), default=None)

    def __bool__(self) -> bool:
        return self.ok

    def cells(self) -> list[list[str]]:
        """The table as text, its header first."""
        header = "tensor backend elements worst derived difference error verdict".split()
        return [header, *(_cells(row) for row in self.rows)]

    def __str__(self) -> str:
        cells = self.cells()
        widths = [max(len(line[i]) for line in cells) for i in range(len(cells[0]))]
        lines = ["  ".join(c.ljust(w) for c, w in zip(line, widths)).rstrip() for line in cells]
        return "\n".join([*lines, f"random cotangent and sample from seed {self.seed}"])

    __repr__ = __str__


def _cells(row: Row) -> list[str]:
    measured = str(row.size) if row.measured == row.size else f"{row.measured} of {row.size}"
    worst = f"({row.element[0]}, {row.element[1]})"
    numbers = [f"{row.derived:.8g}", f"{row.difference:.8g}", f"{row.error:.1e}"]
    return [row.tensor, row.backend, measured, worst, *numbers, row.verdict]


def check(
    program: str | Program,
    inputs: Mapping[str, Any] | None = None,
    *,
    of: str,
    wrt: Iterable[str] | str | None = None,
    backends: Iterable[str] | str = BACKENDS,
    cotangent: Any = None,
    claims: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> Report:
    """The derived gradient of `of` against central differences in f64, on each backend.

    cotangent: random from `seed` if left out (one for a claim about a 1 by 1 output). claims:
    gradients of one's own to be judged instead of the derived ones, tensor to an array or to the name
    of a tensor that the program computes.
    """
    forward = as_program(program)
    random = np.random.default_rng(seed)
    given = prepared(forward, inputs)
    wanted = tensor_names(wrt) if wrt is not None else tuple(claims or real_inputs(forward))
    if of not in forward.shapes:
        raise UnknownOutput(of)
    if cotangent is None:
        cotangent = _cotangent(forward.shapes[of], claims is not None, random)
    weights = cotangent_for(forward, of, cotangent)
    measure = Measure(forward, given, of, weights, random)
    rows = []
    for backend in [backends] if isinstance(backends, str) else backends:
        gradients = _gradients(forward, given, of, wanted, weights, backend, claims)
        rows += [measure.row(tensor, backend, gradients[tensor]) for tensor in wanted]
    return Report(tuple(rows), seed)


def _cotangent(shape: Shape, claimed: bool, random: np.random.Generator) -> Array:
    """Random, of either sign and away from zero; a claim about a 1 by 1 loss is about the loss itself."""
    if claimed and shape == (1, 1):
        return np.ones(shape)
    signs: Array = random.choice([-1.0, 1.0], shape)
    return signs * random.uniform(0.5, 1.5, shape)


def _gradients(
    program: Program,
    given: Mapping[str, Array],
    of: str,
    wrt: tuple[str, ...],
    cotangent: Array,
    backend: str,
    claims: Mapping[str, Any] | None,
) -> Mapping[str, Array]:
    if claims is None:
        found: Gradients = grad(
            program, given, of=of, wrt=wrt, cotangent=cotangent, backend=backend
        )
        return found.grads
    values = run(program, given, backend=backend)
    return {tensor: _claim(program, tensor, claims, values) for tensor in wrt}


def _claim(
    program: Program, tensor: str, claims: Mapping[str, Any], values: Mapping[str, Any]
) -> Array:
    """What a claim says the gradient of a tensor is, as an array of the tensor's shape."""
    if tensor not in program.shapes:
        raise Shapeless(tensor)
    if tensor not in claims:
        raise LogosError(f"no claim is made about `{tensor}`, which wrt lists")
    value = claims[tensor]
    if isinstance(value, str):
        if value not in program.shapes:
            raise LogosError(f"`{value}`, claimed as the gradient of `{tensor}`, is no tensor here")
        value = values[value]
    wanted = Declaration(f"gradient of {tensor}", program.shapes[tensor], "Real", 0)
    return as_tensor(value, wanted)


class Measure:
    """Central differences of Σ of ⊙ cotangent, measured once a tensor and kept."""

    def __init__(
        self,
        program: Program,
        given: Mapping[str, Array],
        of: str,
        cotangent: Array,
        random: np.random.Generator,
    ) -> None:
        self.program, self.given, self.of = program, dict(given), of
        self.cotangent, self.random = cotangent, random
        self.slopes: dict[str, dict[int, Slope]] = {}

    @cached_property
    def jitter(self) -> float:
        return jitter(self.loss, self.given, self.random)

    def loss(self, given: Mapping[str, Array]) -> float:
        return float(np.sum(run(self.program, given)[self.of] * self.cotangent))

    def row(self, tensor: str, backend: str, derived: Array) -> Row:
        slopes = self._slopes(tensor)
        flat = derived.reshape(-1)
        scale = max(
            (abs(s.central) for s in slopes.values() if np.isfinite(s.central)), default=0.0
        )
        errors = {i: _excess(flat[i], s, scale) for i, s in slopes.items()}
        gaps = {i: _relative(flat[i], s, scale) for i, s in slopes.items()}
        worst = max(errors, key=lambda i: (errors[i], gaps[i]), default=None)
        if worst is None:
            return Row(tensor, backend, 0, 0, (0, 0), 0.0, 0.0, 0.0, "agrees: it has no elements")
        return Row(
            tensor,
            backend,
            len(slopes),
            flat.size,
            (worst // derived.shape[1] + 1, worst % derived.shape[1] + 1),
            float(flat[worst]),
            slopes[worst].central,
            gaps[worst],
            verdict(derived, slopes, errors),
        )

    def _slopes(self, tensor: str) -> dict[int, Slope]:
        if tensor not in self.slopes:
            self.slopes[tensor] = {
                int(i): slope(self.loss, self.given, tensor, int(i), self.jitter)
                for i in self._sample(tensor)
            }
        return self.slopes[tensor]

    def _sample(self, tensor: str) -> Array:
        if tensor not in self.given:
            if tensor not in self.program.declared:
                raise LogosError(
                    f"`{tensor}` is computed by the program: central differences move inputs alone"
                )
            self.given[tensor] = np.zeros(self.program.shapes[tensor])
        if self.program.kinds[tensor] == "Int":
            raise LogosError(
                f"`{tensor}` is a tensor of Int: central differences move an element by a little, and "
                "its elements are whole numbers"
            )
        size = self.given[tensor].size
        if size <= MOST:
            return np.arange(size)
        return np.sort(self.random.choice(size, MOST, replace=False))


def _relative(derived: float, measured: Slope, scale: float) -> float:
    """How far apart the two are, relative to the larger; 0 where both are the same infinity or NaN."""
    if not np.isfinite(derived) or not np.isfinite(measured.central):
        return _excess(derived, measured, scale)
    largest = max(abs(derived), abs(measured.central), FLOOR * scale, 1e-300)
    return float(abs(derived - measured.central) / largest)


def _excess(derived: float, measured: Slope, scale: float) -> float:
    """The relative error beyond what measuring may have added; 0 where both are not finite, and
    where the derived slope lies between the two one-sided ones of a kink, and where the loss has no
    value that could be measured."""
    if not np.isfinite(measured.value):
        return 0.0
    if not np.isfinite(derived) or not np.isfinite(measured.central):
        same = np.isnan(derived) and np.isnan(measured.central) or derived == measured.central
        return 0.0 if same else np.inf
    if measured.kink and _between(derived, measured):
        return 0.0
    gap = max(0.0, abs(derived - measured.central) - 4 * measured.noise - FLOOR * scale)
    return float(gap / max(abs(derived), abs(measured.central), FLOOR * scale, 1e-300))


def _between(derived: float, measured: Slope) -> bool:
    low, high = sorted((measured.left, measured.right))
    room = 1e-3 * max(abs(low), abs(high))
    return low - room <= derived <= high + room


def verdict(derived: Array, slopes: Mapping[int, Slope], errors: Mapping[int, float]) -> str:
    """What the measured elements say: agreement, or the kind of error that it looks like."""
    wrong = [i for i, error in errors.items() if error > RELATIVE]
    if not wrong:
        finite = np.isfinite(derived.reshape(-1)[list(slopes)])
        if finite.any() and any(not np.isfinite(s.value) for s in slopes.values()):
            return "undefined here: the loss is not finite, so nothing is measured"
        if any(s.kink for s in slopes.values()):
            return "a kink: agrees with one side"
        if any(not np.isfinite(s.central) for s in slopes.values()):
            return "undefined here: not finite on both sides"
        return "agrees"
    mine = derived.reshape(-1)[list(slopes)]
    theirs = np.array([s.central for s in slopes.values()])
    if not (np.isfinite(mine).all() and np.isfinite(theirs).all()):
        return f"not finite on one side only, in {len(wrong)} of {len(slopes)} elements"
    return _kind(derived, mine, theirs, slopes, wrong)


def _kind(
    derived: Array, mine: Array, theirs: Array, slopes: Mapping[int, Slope], wrong: list[int]
) -> str:
    if _near(mine, -theirs):
        return "wrong sign"
    factor = float(mine @ theirs / (theirs @ theirs)) if theirs.any() else 0.0
    if factor and _near(mine, factor * theirs):
        return f"off by factor {factor:.4g}" if factor >= 1 else f"off by factor 1/{1 / factor:.4g}"
    if _transposed(derived, slopes):
        return "transposed"
    if all(slopes[i].kink for i in wrong):
        return "a kink here: the gradient is not that of either side"
    right = len(slopes) - len(wrong)
    return f"a term is missing or wrong (right in {right} of {len(slopes)} elements)"


def _near(mine: Array, theirs: Array) -> bool:
    return bool(np.allclose(mine, theirs, rtol=1e-3, atol=1e-6 * np.abs(theirs).max(initial=0.0)))


def _transposed(derived: Array, slopes: Mapping[int, Slope]) -> bool:
    """Whether the measured elements are those of the transpose, or of its rows run together."""
    turned = derived.reshape(derived.shape[::-1]).T.reshape(-1)
    theirs = np.array([s.central for s in slopes.values()])
    return _near(turned[list(slopes)], theirs)
