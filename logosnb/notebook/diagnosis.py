"""The panel of `session.diagnose()`.

In: a session's run. Out: a `Panel`: the findings, as text and as HTML that needs no script. May not
know: how anything is detected.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from logosnb.diagnosis.diagnose import diagnose
from logosnb.diagnosis.finding import Diagnosis, Finding, Observed
from logosnb.notebook.views.colours import BORDER, FAINT, TEXT

if TYPE_CHECKING:
    from logosnb.notebook.session import Session


@dataclass(frozen=True)
class Panel(Diagnosis):
    """A Diagnosis that a notebook shows."""

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/html": self.html(), "text/plain": str(self)}

    def __repr__(self) -> str:
        return str(self)

    def html(self) -> str:
        found = "".join(map(_card, self.findings))
        inside = found or f'<div style="{FAINT}">nothing found that looks wrong</div>'
        return f'<div style="{TEXT};padding:2px 0;max-width:60em">{inside}</div>'


def observed(session: Session) -> Observed:
    """What the detectives look at, of one run of a cell."""
    backward = session.gradients.backward if session.gradients else None
    return Observed(session.program, session.result, session.inputs, backward, session.of)


def panel(session: Session) -> Panel:
    return Panel(diagnose(observed(session)).findings)


def _card(finding: Finding) -> str:
    line = f"line {finding.line} · " if finding.line else ""
    head = f"<b>{escape(finding.kind)}</b> · {line}<code>{escape(finding.tensor)}</code>"
    return (
        f'<div style="{BORDER};border-left:4px solid #d55e00;padding:6px 10px;margin:0 0 8px 0">'
        f"<div>{head}</div><div>{escape(finding.seen)}</div>"
        f'<div style="{FAINT}">Try: {escape(finding.advice)}</div></div>'
    )
