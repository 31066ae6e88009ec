"""A session as one HTML file that needs nothing to open: no kernel, no network, no script.

In: a session. Out: a whole page: the view of the cell, what `diagnose` finds, what Show printed. May not
know: how these are made.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from logosnb.notebook.diagnosis import panel
from logosnb.notebook.views.colours import FAINT, MONOSPACE

if TYPE_CHECKING:
    from logosnb.notebook.session import Session

STYLE = (
    ":root{color-scheme:light dark}"
    "body{font:15px/1.5 system-ui,sans-serif;max-width:80em;margin:2em auto;padding:0 1em}"
)


def report(session: Session) -> str:
    title = f"Gradient of {session.of}" if session.gradients else "LOGOS program"
    parts = [
        session.page.html(),
        _section("what is wrong", panel(session).html()),
        _section("shown", _shown(session)) if session.shown else "",
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>"
        f"<body><h1>{escape(title)}</h1>{''.join(parts)}</body></html>\n"
    )


def _section(title: str, inside: str) -> str:
    return f'<div style="{FAINT};padding:8px 0 2px 0">{escape(title)}</div>{inside}'


def _shown(session: Session) -> str:
    text = escape("\n".join(session.shown))
    return f'<pre style="{MONOSPACE};overflow-x:auto">{text}</pre>'
