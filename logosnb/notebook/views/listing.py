"""The forward and the derived backward side by side, each backward line tied to what it serves.

In: a Program and its Backward. Out: a `Listing`, a plain model; the same as HTML and as text. May
not know: IPython, values.

The HTML needs no script: styles stand in the tags, so that a viewer that drops `<style>` still shows
everything; the `<style>` only lights up the counterparts of the line under the pointer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from typing import Any

from pygments.token import Comment, Generic, Keyword, Name, Number, Operator, String, Token

from logosnb.gradient.backward import Backward
from logosnb.language.lexer import LogosLexer
from logosnb.notebook.views.colours import BAND_EDGE, BAND_FILL, BORDER, FAINT, MONOSPACE, band
from logosnb.stages.program import Program

# JupyterLab's own colours where the page has them; else the text's colour, and weight tells.
TOKEN_STYLES = (
    (Comment, "opacity:0.72;font-style:italic"),
    (Generic.Heading, "color:var(--jp-mirror-editor-header-color,inherit);font-weight:bold"),
    (Keyword.Type, "color:var(--jp-mirror-editor-builtin-color,inherit)"),
    (Keyword, "color:var(--jp-mirror-editor-keyword-color,inherit);font-weight:bold"),
    (Number, "color:var(--jp-mirror-editor-number-color,inherit)"),
    (String, "color:var(--jp-mirror-editor-string-color,inherit)"),
    (Name.Function, "color:var(--jp-mirror-editor-def-color,inherit)"),
    (Name.Builtin, "color:var(--jp-mirror-editor-builtin-color,inherit)"),
    (Operator.Word, "color:var(--jp-mirror-editor-keyword-color,inherit)"),
)


@dataclass(frozen=True)
class Line:
    """number: in the program; text; serves: the forward line that it belongs to, 0 for none; band: which
    colour its stage has, None for no stage."""

    number: int
    text: str
    serves: int
    band: int | None


@dataclass(frozen=True)
class Listing:
    """The lines of the forward, and of the backward (none where nothing was derived)."""

    forward: tuple[Line, ...]
    backward: tuple[Line, ...]


def listing(program: Program, backward: Backward | None = None) -> Listing:
    """The model of the two columns; backward lines are numbered from one."""
    texts = program.source.rstrip().splitlines()
    numbered = list(enumerate(texts, program.first_line))
    served = set(backward.origins) if backward else set()
    bands = {stage.line: None for stage in program.stages} | dict.fromkeys(served)
    band_of = {line: index for index, line in enumerate(sorted(bands))}
    while numbered and not numbered[0][1].strip():
        del numbered[0]
    forward = tuple(Line(n, text, n, band_of.get(n)) for n, text in numbered)
    return Listing(forward, _backward_lines(backward, band_of) if backward else ())


def _backward_lines(backward: Backward, band_of: dict[int, int]) -> tuple[Line, ...]:
    pairs = zip(backward.source.splitlines(), backward.origins)
    return tuple(Line(n, text, o, band_of.get(o)) for n, (text, o) in enumerate(pairs, 1))


# ---- text -------------------------------------------------------------------------------------


def listing_text(model: Listing) -> str:
    """The forward, then the backward with `← 3` for the forward line that each line serves."""
    lines = ["forward", *(f"{line.number:4}  {line.text}" for line in model.forward)]
    if model.backward:
        lines += ["", "backward (← the line of the forward that it serves)"]
        lines += [f"{_mark(line, before):>5}  {line.text}" for before, line in _pairs(model)]
    return "\n".join(lines)


def _pairs(model: Listing) -> Iterator[tuple[Line | None, Line]]:
    return zip([None, *model.backward[:-1]], model.backward)


def _mark(line: Line, before: Line | None) -> str:
    """`← 3` at the first of the lines that serve line 3."""
    return "" if before is not None and before.serves == line.serves else f"← {line.serves}"


# ---- HTML -------------------------------------------------------------------------------------


def listing_html(model: Listing) -> str:
    """Two columns that become one where the window is narrow."""
    block = _block_name(model)
    unmarked = [None] * len(model.forward)
    columns = [_column("forward", model.forward, block, unmarked, "flex:1 1 26em")]
    if model.backward:
        marks = [_mark(line, before) for before, line in _pairs(model)]
        title = "backward, derived: ← the line of the forward that it serves"
        columns.append(_column(title, model.backward, block, marks, "flex:2 1 36em"))
    inside = "".join(columns)
    return (
        f'{_hover_rules(model, block)}<div class="{block}" '
        f'style="display:flex;flex-wrap:wrap;gap:12px;align-items:flex-start">{inside}</div>'
    )


def _block_name(model: Listing) -> str:
    """The same for the same listing, so that a cell that is run again gives the same bytes."""
    return "logosnb-" + sha256(repr(model).encode()).hexdigest()[:10]


def _hover_rules(model: Listing, block: str) -> str:
    rules = [
        f".{block}:has(.{block}-{n}:hover) .{block}-{n}"
        f"{{box-shadow:inset 0 0 0 100vmax rgba(255, 170, 0, 0.28)}}"
        for n in sorted({line.serves for line in model.backward})
    ]
    return f"<style>{''.join(rules)}</style>" if rules else ""


def _column(
    title: str, lines: Sequence[Line], block: str, marks: Sequence[str | None], flex: str
) -> str:
    rows = "".join(_row(line, block, mark) for line, mark in zip(lines, marks))
    return (
        f'<div style="{flex};min-width:0;max-width:100%">'
        f'<div style="{FAINT};padding:2px 0">{escape(title)}</div>'
        f'<pre style="margin:0;padding:4px 0;{MONOSPACE};{BORDER};'
        f'max-height:66em;overflow:auto;background:transparent;color:inherit">{rows}</pre></div>'
    )


def _row(line: Line, block: str, mark: str | None) -> str:
    """mark: what ties a backward line to the forward, None for the forward's own lines."""
    number = _gutter(str(line.number), "2.6em")
    tie = "" if mark is None else _gutter(mark, "3em")
    return (
        f'<span class="{block}-{line.serves}" style="display:flex;padding:0 6px 0 0;'
        f'{_band_style(line.band)}">{number}{tie}{_code(line.text)}\n</span>'
    )


def _code(text: str) -> str:
    """A line that, where it is too long, goes on below its own beginning, four further in."""
    hang = len(text) - len(text.lstrip()) + 4
    style = (
        f"flex:1 1 0;min-width:0;white-space:pre-wrap;word-break:normal;overflow-wrap:break-word;"
        f"padding-left:{hang}ch;text-indent:-{hang}ch"
    )
    return f'<span style="{style}">{highlighted(text)}</span>'


def _band_style(number: int | None) -> str:
    if number is None:
        return "border-left:4px solid transparent"
    return f"border-left:4px solid {band(number, BAND_EDGE)};background:{band(number, BAND_FILL)}"


def _gutter(text: str, width: str) -> str:
    return (
        f'<span style="flex:none;width:{width};padding-right:0.8em;text-align:right;'
        f'white-space:pre;user-select:none;opacity:0.65">{escape(text)} </span>'
    )


def highlighted(text: str) -> str:
    """One line of LOGOS as spans whose colours stand in the tags."""
    return "".join(_span(kind, part) for kind, part in _tokens(text))


def _tokens(text: str) -> Iterator[tuple[Any, str]]:
    indent = len(text) - len(text.lstrip())
    yield Token, text[:indent]
    for kind, part in LogosLexer(stripnl=False).get_tokens(text[indent:]):
        yield kind, part.rstrip("\n")


def _span(kind: Any, text: str) -> str:
    style = next((style for family, style in TOKEN_STYLES if kind in family), "")
    if not text or not style or not text.strip():
        return escape(text)
    return f'<span style="{style}">{escape(text)}</span>'
