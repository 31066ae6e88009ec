"""`%%logos` and `%logos_ops`.

In: an IPython shell and a cell. Out: what the cell shows, and the notebook variable that it binds. May
not know: how programs run (cell.py), what options there are (options.py).

An error leaves the cell as an exception, so that the cell fails for everything that executes notebooks;
LogosError itself says how it is shown. So does the stop button, as one line.
"""

from __future__ import annotations

from typing import Any

from IPython.core.magic import Magics, cell_magic, line_magic, magics_class
from IPython.display import display

from logosnb.notebook.building import Line, Progress
from logosnb.notebook.cell import run_cell
from logosnb.notebook.options import PARSER, read_options
from logosnb.notebook.reference import Reference


class Interrupted(KeyboardInterrupt):
    """The stop button: a KeyboardInterrupt that shows no line of Python."""

    def _render_traceback_(self) -> list[str]:
        return [f"{type(self).__name__}: {self}"]


@magics_class
class LogosMagics(Magics):
    """The magics that `%load_ext logosnb` adds."""

    @cell_magic
    def logos(self, line: str, cell: str) -> None:
        shell: Any = self.shell
        options = read_options(line)
        try:
            start = first_line(shell, cell)
            session = run_cell(cell, start, options, shell.user_ns, say, Progress(_shown))
        except KeyboardInterrupt:
            raise Interrupted("the program was stopped before its end") from None
        if options.name is not None:
            shell.user_ns[options.name] = session
        if not options.quiet:
            display(session)  # type: ignore[no-untyped-call]  # IPython's own has no types

    @line_magic
    def logos_ops(self, line: str) -> Reference:
        """The ops of LOGOS, each with its phrase, formula and worked example.

        `%logos_ops` lists all, `%logos_ops softmax` those that the word names or speaks of.
        """
        return Reference.about(line)


LogosMagics.logos.__doc__ = PARSER.format_help()


def say(line: str) -> None:
    """A line, while the program still runs.

    Not flushed: the kernel sends what was printed five times a second. A message for each line is more
    than Jupyter's server passes on, which then drops the rest, and with it the end of the cell.
    """
    print(line)


def _shown(line: Line) -> Any:
    return display(line, display_id=True)  # type: ignore[no-untyped-call]  # IPython's own has no types


def first_line(shell: Any, cell: str) -> int:
    """The number, in the cell as the person sees it, of the first line of its body.

    2, unless empty lines stand above `%%logos`: IPython drops those.
    """
    history = getattr(shell.history_manager, "input_hist_raw", [""])
    raw, body = str(history[-1]).rstrip(), cell.rstrip()
    if not body or not raw.endswith("\n" + body):
        return 2
    return raw[: -len(body)].count("\n") + 1
