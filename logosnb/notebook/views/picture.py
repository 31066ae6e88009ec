"""A picture of DOT text, by whichever Graphviz is there.

In: DOT. Out: SVG or PNG, or None; HTML that holds it. May not know: what the graph shows.

First the system's `dot`, through the package graphviz; then `graphviz-pure`, a command that
`pip install graphviz-pure` puts beside Python; else none, and the page shows the graph as text.
"""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from base64 import b64encode
from html import escape

HOW_TO_GET_IT = (
    "for a picture of this graph: pip install graphviz-pure "
    "(or apt, conda or brew install graphviz), then run the cell again"
)
MOST_SECONDS = 30


def svg(dot: str) -> str | None:
    """The drawing as SVG, None where no Graphviz is found or none can draw it."""
    found = drawn(dot, "svg")
    return None if found is None else found.decode()


def drawn(dot: str, form: str) -> bytes | None:
    """The drawing as "svg" or "png"; None as in `svg`."""
    return _by_system(dot, form) or _by_package(dot, form)


def _by_system(dot: str, form: str) -> bytes | None:
    if shutil.which("dot") is None:
        return None
    from graphviz import ExecutableNotFound, Source

    try:
        return bytes(Source(dot).pipe(format=form, quiet=True))
    except (ExecutableNotFound, subprocess.CalledProcessError):
        return None


def _by_package(dot: str, form: str) -> bytes | None:
    command = shutil.which("graphviz-pure") or shutil.which(
        "graphviz-pure", path=sysconfig.get_path("scripts")
    )
    if command is None:
        return None
    try:
        found = subprocess.run(
            [command, f"-T{form}"], input=dot.encode(), capture_output=True, timeout=MOST_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return found.stdout if found.returncode == 0 and found.stdout else None


def picture_html(drawing: str, description: str) -> str:
    """The SVG as an image inside the HTML: viewers that drop `<svg>` keep it, its ids meet no
    others, and on a dark page it keeps its light card."""
    data = b64encode(drawing.encode()).decode()
    return (
        f'<img alt="{escape(description, quote=True)}" src="data:image/svg+xml;base64,{data}" '
        f'style="max-width:100%;height:auto;background:#fafafa;border-radius:4px;padding:8px;'
        f'box-sizing:border-box">'
    )
