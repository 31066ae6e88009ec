"""The formats in which a session leaves the notebook.

In: a session, a format. Out: text or bytes. May not know: how a format is written; it calls what does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from logosnb.language.errors import LogosError
from logosnb.language.words import closest
from logosnb.notebook.export.autodiff_file import autodiff_file
from logosnb.notebook.export.numpy_file import numpy_file
from logosnb.notebook.export.report import report
from logosnb.notebook.views.graph import graph, graph_dot
from logosnb.notebook.views.listing import listing
from logosnb.notebook.views.picture import HOW_TO_GET_IT, drawn

if TYPE_CHECKING:
    from logosnb.notebook.session import Session


def exported(session: Session, form: str) -> str | bytes:
    """The session in a format; LogosError for one that there is not, or that this session has not."""
    if form not in FORMATS:
        near = closest(form, FORMATS) or ", ".join(FORMATS)
        raise LogosError(f"there is no export `{form}`; there is {near}")
    return FORMATS[form](session)


def saved(session: Session, path: str | Path, form: str | None) -> Path:
    """Write the session to a file; the format is that of the file's ending where none is named."""
    target = Path(path)
    content = exported(session, form or _form_of(target))
    target.write_bytes(content.encode() if isinstance(content, str) else content)
    return target


ENDINGS = {".dot": "dot", ".gv": "dot", ".svg": "svg", ".png": "png", ".html": "html"}
ENDINGS |= {".lg": "logos", ".logos": "logos", ".py": "numpy"}


def _form_of(path: Path) -> str:
    if path.suffix not in ENDINGS:
        known = ", ".join(ENDINGS)
        raise LogosError(f"`{path.name}` has an ending of no export; there is {known}")
    return ENDINGS[path.suffix]


# ---- pictures ---------------------------------------------------------------------------------


def _dot(session: Session) -> str:
    if not session.program.stages:
        raise LogosError("this program has no stages, so there is no graph to draw")
    backward = session.gradients.backward if session.gradients else None
    lines = listing(session.program, backward).forward
    bands = {line.number: line.band for line in lines if line.band is not None}
    return graph_dot(graph(session.program, backward, session.result, session.of, bands))


def _picture(form: str) -> Callable[[Session], bytes]:
    def picture(session: Session) -> bytes:
        found = drawn(_dot(session), form)
        if found is None:
            raise LogosError(HOW_TO_GET_IT)
        return found

    return picture


# ---- programs ---------------------------------------------------------------------------------


def _logos(session: Session) -> str:
    program = session.gradients.backward.program if session.gradients else session.program
    return program.source.rstrip("\n") + "\n"


def _numpy(session: Session) -> str:
    """With the backward, where there is one, else the forward, which gives back all its tensors."""
    if session.gradients is None:
        returned = {name: name for name in session.program.shapes}
        return numpy_file(session.program, returned, session.inputs, "A LOGOS program, as NumPy.")
    derived, of = session.gradients.backward, str(session.of)
    cotangent = derived.cotangents[of]
    given = {**session.inputs, cotangent: session.result[cotangent]}
    title = f"The gradient of {of} as logosnb derived it, as NumPy."
    return numpy_file(derived.program, derived.grads, given, title)


def _autodiff(library: str) -> Callable[[Session], str]:
    def written(session: Session) -> str:
        derived, of = session.backward, str(session.of)
        name = derived.cotangents[of]
        inputs = {n: array for n, array in session.inputs.items() if n != name}
        cotangent = session.result[name]
        return autodiff_file(session.program, of, list(derived.grads), inputs, cotangent, library)

    return written


FORMATS: Mapping[str, Callable[[Session], str | bytes]] = {
    "dot": _dot,
    "svg": _picture("svg"),
    "png": _picture("png"),
    "html": report,
    "logos": _logos,
    "numpy": _numpy,
    "torch": _autodiff("torch"),
    "jax": _autodiff("jax"),
}
