"""What a `%%logos` cell leaves: a snapshot of its program, inputs, values and gradients.

In: what the cell ran. Out: a `Session`, which shows its view again wherever it stands last in a cell.
May not know: magics, options.

Each run of a cell makes a new one. Nothing is shared with an earlier one, so that cells run again or out
of order never add up and never mix the values of one program with the gradients of another.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from logosnb.checking import Report
from logosnb.gradient.backward import Backward, tensor_names
from logosnb.inputs import Array
from logosnb.language.errors import LogosError
from logosnb.language.words import closest
from logosnb.notebook.again import again
from logosnb.notebook.comparison import Comparison, compared
from logosnb.notebook.diagnosis import Panel, panel
from logosnb.notebook.exploring import Explorer, explore
from logosnb.notebook.export.formats import exported, saved
from logosnb.notebook.training import Plan, Training, Update, descent, trained
from logosnb.notebook.views.page import Page
from logosnb.notebook.watching import Watch
from logosnb.running import Gradients, Result
from logosnb.stages.program import Program


@dataclass(frozen=True, eq=False)
class Session:
    """One run of one cell.

    program; inputs: copies of what came from the notebook; result: every name that the run bound,
    also by `session["y"]`; of: the tensor that was differentiated; gradients: None unless asked for;
    report: of the check, None unless asked for; draw: whether the view has the stage graph.
    """

    program: Program
    inputs: Mapping[str, Array]
    result: Result
    of: str | None = None
    gradients: Gradients | None = None
    report: Report | None = None
    draw: bool = True
    name: str | None = field(default=None, compare=False)

    def __getitem__(self, name: str) -> Any:
        if name not in self.result:
            near = closest(name, list(self.result))
            hint = f"; did you mean `{near}`?" if near else ""
            raise LogosError(f"this cell bound no `{name}`{hint}")
        return self.result[name]

    def __contains__(self, name: object) -> bool:
        return name in self.result

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.result)

    @property
    def grads(self) -> Mapping[str, Array]:
        """Tensor to its gradient."""
        return self._asked().grads

    @property
    def value(self) -> Array:
        """The output that was differentiated."""
        return self._asked().value

    @property
    def backward(self) -> Backward:
        """The derived backward pass."""
        return self._asked().backward

    @property
    def shown(self) -> list[str]:
        """The lines that Show printed."""
        return self.result.shown

    def diagnose(self) -> Panel:
        """What is wrong with this run, and what to try: NaN, vanishing norms, dead units, zeros."""
        return panel(self)

    def compare(
        self,
        other: Session | None = None,
        *,
        backend: str = "interpreter",
        dtype: str | None = None,
        tolerance: float | None = None,
    ) -> Comparison:
        """Where this run first differs from another by more than a tolerance.

        other: a session, of the program before a change; without it this program runs again, on
        another backend or dtype. tolerance: of a tensor's largest element; 1e-4 where a run is in f32,
        else 1e-10.
        """
        if other is not None:
            names = (self.name or "this run", other.name or "the other")
            return compared(self, other.result, names, tolerance, other)
        result = self.again(backend=backend, dtype=dtype).result
        names = ("this run", " ".join(filter(None, (backend, dtype))))
        return compared(self, result, names, tolerance, None)

    def again(
        self,
        inputs: Mapping[str, Any] | None = None,
        *,
        backend: str = "interpreter",
        dtype: str | None = None,
    ) -> Session:
        """This program, forward and backward, run with some inputs replaced; a new Session."""
        return again(self, inputs or {}, backend, dtype)

    def train(
        self,
        tensors: Iterable[str] | str | None = None,
        *,
        steps: int = 100,
        rate: float = 0.1,
        momentum: float = 0.0,
        update: Update | None = None,
        batches: Iterable[Mapping[str, Any]] | None = None,
        backend: str = "cpu",
        dtype: str | None = None,
        watch: bool = True,
    ) -> Training:
        """Gradient descent on the loss of this session, watched: curves, a progress bar, a stop button.

        tensors: which inputs are trained; all that have a gradient if left out. update: (tensor,
        weights, gradient) to what is added, in place of rate and momentum. batches: for each step the
        inputs that it replaces. The session stays as it is; `.weights` of the result has the new ones.
        """
        names = tuple(self.grads) if tensors is None else tensor_names(tensors)
        rule = update or descent(rate, momentum)
        return trained(self, Plan(names, steps, rule, batches, backend, dtype), watch)

    def watch(self, steps: int) -> Watch:
        """For a loop of one's own: `with net.watch(100) as watch:`, then after each step
        `watch.record(loss, grads, weights, updates)`, and leave the loop when `watch.stopped`."""
        return Watch(steps)

    def explore(self, *, backend: str = "cpu", **ranges: Any) -> Explorer:
        """Sliders that move inputs; value and gradient follow.

        ranges: for a tensor `x=(-3, 3)`, a slider for each element, or for a large tensor one that
        scales it; `x={(1, 2): (-3, 3)}` for chosen elements, row and column from one, and
        `x={"scale": (0, 2)}`.
        """
        return explore(self, ranges, backend)

    def export(self, form: str) -> str | bytes:
        """This session as "dot", "svg", "png" (bytes), "html", "logos", "numpy", "torch" or "jax".

        html: a page that needs nothing to open. logos and numpy: forward and derived backward; the
        NumPy file runs alone. torch and jax: the forward, differentiated by that library.
        """
        return exported(self, form)

    def save(self, path: str | Path, form: str | None = None) -> Path:
        """Write an export to a file; without `form` its ending tells (.py is NumPy). Gives the path."""
        return saved(self, path, form)

    def _asked(self) -> Gradients:
        if self.gradients is None:
            raise LogosError("this cell computed no gradient: give it `--grad OUTPUT`")
        return self.gradients

    # ---- display ------------------------------------------------------------------------------

    @cached_property
    def page(self) -> Page:
        """The view as a plain model."""
        return Page.of(
            self.program, self.inputs, self.result, self.gradients, self.of, self.report, self.draw
        )

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/html": self.page.html(), "text/plain": self.page.text()}

    def _repr_html_(self) -> str:
        return self.page.html()

    def __repr__(self) -> str:
        what = f"{len(self.program.stages)} stages"
        if self.gradients is not None:
            what += f", gradient of {self.of} for {', '.join(self.grads) or 'nothing'}"
        return f"Session: {what}"
