"""`session.train`: gradient descent with the derived program, watched.

In: a session with a gradient, steps, a rate. Out: a `Training`: the weights and the `History`. May not
know: how a watch looks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from logosnb.language.errors import LogosError
from logosnb.notebook.again import all_inputs
from logosnb.notebook.history import History
from logosnb.notebook.watching import Watch
from logosnb.running import run

if TYPE_CHECKING:
    from logosnb.notebook.figures import Curves
    from logosnb.notebook.session import Session

Array = np.ndarray[Any, Any]
Update = Callable[[str, Array, Array], Array]  # (tensor, weights, gradient) to what is added


@dataclass(frozen=True)
class Training:
    """weights: the last ones, by name; history: of every step; ended: why it ended, a sentence."""

    weights: Mapping[str, Array]
    history: History
    ended: str

    def figure(self) -> Curves:
        """Loss, norms and ratios as a matplotlib Figure."""
        return self.history.figure()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/html": self.history.html(), "text/plain": str(self)}

    def __repr__(self) -> str:
        return f"{self.ended}\n{self.history}"


@dataclass(frozen=True)
class Plan:
    """What `session.train` was asked for. tensors: which are trained; batches: inputs for each step."""

    tensors: tuple[str, ...]
    steps: int
    update: Update
    batches: Iterable[Mapping[str, Any]] | None
    backend: str
    dtype: str | None


def descent(rate: float, momentum: float) -> Update:
    """Gradient descent: −rate · velocity, the velocity a sum of gradients that decays by momentum."""
    velocity: dict[str, Array] = {}

    def update(name: str, weights: Array, gradient: Array) -> Array:
        velocity[name] = momentum * velocity.get(name, np.zeros_like(weights)) + gradient
        return -rate * velocity[name]

    return update


def trained(session: Session, plan: Plan, shown: bool) -> Training:
    """Run the steps until they are done, the button is pressed, the kernel interrupted or the loss lost."""
    _require(session, plan)
    weights = {name: np.array(session.inputs[name]) for name in plan.tensors}
    with Watch(plan.steps, shown) as watch:
        try:
            watch.ended = _descend(session, plan, weights, watch)
        except KeyboardInterrupt:
            watch.ended = f"interrupted after {len(watch.history)} of {plan.steps} steps"
    return Training(weights, watch.history, watch.ended)


def _require(session: Session, plan: Plan) -> None:
    if session.value.shape != (1, 1):
        raise LogosError(f"training needs a 1 by 1 loss, and `{session.of}` is none")
    for name in plan.tensors:
        if name not in session.grads or name not in session.inputs:
            known = ", ".join(f"`{n}`" for n in session.grads if n in session.inputs)
            raise LogosError(f"`{name}` is no input with a gradient; this session has {known}")


def _descend(session: Session, plan: Plan, weights: dict[str, Array], watch: Watch) -> str:
    """The steps; gives the sentence that says why they ended. Changes `weights`."""
    for number, batch in enumerate(_batches(plan), 1):
        loss, grads = _gradients(session, plan, {**batch, **weights})
        if not np.isfinite(loss):
            return (
                f"stopped at step {number}: the loss is {loss:g}; `.diagnose()` of a run says why"
            )
        updates = {name: plan.update(name, weights[name], grads[name]) for name in plan.tensors}
        watch.record(loss, grads, weights, updates)
        weights.update({name: weights[name] + change for name, change in updates.items()})
        if watch.stopped:
            return f"stopped by the button after {number} of {plan.steps} steps"
    return f"{len(watch.history)} of {plan.steps} steps done"


def _batches(plan: Plan) -> Iterator[Mapping[str, Any]]:
    source: Iterable[Mapping[str, Any]] = repeat({}) if plan.batches is None else plan.batches
    return islice(source, plan.steps)


def _gradients(
    session: Session, plan: Plan, replaced: Mapping[str, Any]
) -> tuple[float, dict[str, Array]]:
    derived = session.backward
    given = all_inputs(session, replaced)
    result = run(derived.program, given, backend=plan.backend, dtype=plan.dtype)
    loss = float(result[str(session.of)].item())
    return loss, {name: result[derived.grads[name]] for name in plan.tensors}
