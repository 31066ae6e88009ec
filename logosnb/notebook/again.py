"""A session's program run once more, with other inputs or on another backend.

In: a session, arrays by name. Out: a new Session; the derivation is the session's own, so nothing is
derived again. May not know: options, widgets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from logosnb.inputs import Array, prepared
from logosnb.running import Gradients, own_arrays, require_backend, run
from logosnb.stages.program import Program

if TYPE_CHECKING:
    from logosnb.notebook.session import Session


def again(session: Session, inputs: Mapping[str, Any], backend: str, dtype: str | None) -> Session:
    """Raises what `run` raises."""
    require_backend(backend, dtype)
    program = derived_program(session)
    given = all_inputs(session, inputs)
    result = run(program, given, backend=backend, dtype=dtype)
    own = {name: given[name] for name in given if name in session.program.declared}
    own = {name: np.array(array) for name, array in prepared(session.program, own).items()}
    gradients = None
    if session.gradients is not None:
        derived = session.gradients.backward
        value = np.array(result[str(session.of)])
        gradients = Gradients(value, own_arrays(result, derived), derived, result)
    return replace(session, inputs=own, result=result, gradients=gradients, report=None)


def derived_program(session: Session) -> Program:
    """Forward and backward, or the forward where no gradient was asked for."""
    return session.gradients.backward.program if session.gradients else session.program


def all_inputs(session: Session, replaced: Mapping[str, Any]) -> dict[str, Array]:
    """The session's inputs, some replaced, and the cotangent, which is no input of the session."""
    given = {**session.inputs, **replaced}
    for name in derived_program(session).inputs:
        if name not in given:
            given[name] = session.result[name]
    return given
