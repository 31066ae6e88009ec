"""The colours and styles that the views share; each works on a light and on a dark page.

In: nothing. Out: CSS for style attributes. May not know: programs.

Written as `rgba(…)`, plain lengths and `var(…)` with a fallback of `inherit`: what JupyterLab lets through
in a notebook that is not trusted either works there or falls back to the page's own text colour.
"""

from __future__ import annotations

# One hue a stage, in turn; neighbours differ, also to eyes that do not tell red from green.
HUES = (
    (66, 133, 244),
    (230, 140, 20),
    (0, 158, 115),
    (190, 90, 190),
    (120, 144, 40),
    (220, 80, 70),
    (0, 160, 200),
    (150, 110, 80),
)
BAND_FILL = 0.12
BAND_EDGE = 0.85
MONOSPACE = (
    "font-family:var(--jp-code-font-family,monospace);font-size:var(--jp-code-font-size,13px);"
    "line-height:1.5"
)
BORDER = "border:1px solid rgba(128, 128, 128, 0.35);border-radius:4px"
FAINT = "font-size:12px;opacity:0.75"
TEXT = "color:var(--jp-content-font-color1,inherit)"


def band(number: int, alpha: float) -> str:
    """The colour of a stage's lines."""
    red, green, blue = HUES[number % len(HUES)]
    return f"rgba({red}, {green}, {blue}, {alpha})"


def band_on_white(number: int, alpha: float) -> str:
    """The same colour laid over white, as `#rrggbb`, for pictures."""
    mixed = [round(255 + (part - 255) * alpha) for part in HUES[number % len(HUES)]]
    return "#" + "".join(f"{part:02x}" for part in mixed)
