"""The options of `%%logos`: the words after it, read.

In: the first line of a cell. Out: `Options`, or a LogosError of one sentence. May not know: programs.
"""

from __future__ import annotations

import keyword
import re
import shlex
from argparse import ArgumentParser, BooleanOptionalAction
from dataclasses import dataclass
from typing import NoReturn

from logosnb.language.errors import LogosError
from logosnb.language.words import closest


@dataclass(frozen=True)
class Options:
    """What the first line of a cell asks for; `PARSER` below says what each means."""

    name: str | None = None
    grad: str | None = None
    wrt: tuple[str, ...] | None = None
    cotangent: str | None = None
    check: bool = False
    quiet: bool = False
    backend: str = "interpreter"
    dtype: str | None = None
    graph: bool = True


ABOUT = """Run a program in LOGOS; inputs are the notebook's variables of the declared names.
The result is bound to NAME: NAME["y"] is a value, NAME.grads["w"] a gradient, NAME.backward the
derived program."""


class Parser(ArgumentParser):
    """Raises where argparse would leave Python."""

    def error(self, message: str) -> NoReturn:
        raise ValueError(message)


def _parser() -> Parser:
    parser = Parser("%%logos", description=ABOUT, add_help=False)
    add = parser.add_argument
    add("name", nargs="?", help="the notebook variable that the result is bound to")
    add("--grad", metavar="OUTPUT", help="derive and compute the gradient of this tensor")
    add("--wrt", metavar="A,B", help="of which tensors; every Real input if left out")
    add("--cotangent", metavar="NAME", help="the output's cotangent; one for a 1 by 1 output")
    add("--check", action="store_true", help="hold the gradient against central differences")
    add("--quiet", action="store_true", help="show nothing but what the program shows")
    add("--backend", default="interpreter", help="what runs the program")
    add("--dtype", help="the backend's type of number, f64 if left out")
    add("--graph", action=BooleanOptionalAction, default=True, help="draw the stages, or not")
    return parser


PARSER = _parser()
NAMES = tuple(
    option for action in PARSER._actions for option in action.option_strings if option[:2] == "--"
)


def read_options(line: str) -> Options:
    """The options that `line` gives. Raises LogosError for what is no option of `%%logos`."""
    try:
        found = vars(PARSER.parse_args(shlex.split(line)))
    except ValueError as error:
        raise LogosError(_sentence(line, str(error))) from None
    found["wrt"] = None if found["wrt"] is None else _names(found["wrt"])
    options = Options(**found)
    _require_sense(options)
    return options


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for name in re.split(r"[,\s]+", text) if name)


def _require_sense(options: Options) -> None:
    name = options.name
    if name is not None and (not name.isidentifier() or keyword.iskeyword(name)):
        raise LogosError(f"`{name}` cannot be the name of a notebook variable")
    asked = {
        "--wrt": options.wrt is not None,
        "--cotangent": options.cotangent is not None,
        "--check": options.check,
    }
    for option, given in asked.items():
        if given and options.grad is None:
            raise LogosError(f"{option} says something of a gradient: add `--grad OUTPUT`")


def _sentence(line: str, message: str) -> str:
    """What is wrong with the line, in place of what argparse says of it."""
    for word in line.split():
        option = word.split("=")[0]
        if option.startswith("-") and not any(name.startswith(option) for name in NAMES):
            near = closest(option, NAMES)
            hint = f"; did you mean `{near}`?" if near else f"; there are {', '.join(NAMES)}"
            return f"%%logos has no option `{option}`{hint}"
    wanting = re.search(r"argument (--\w+): expected one argument", message)
    if wanting:
        return f"{wanting[1]} wants a value after it"
    extra = re.search(r"unrecognized arguments: (.*)", message)
    if extra:
        return f"%%logos takes one name, and `{extra[1]}` is one more; several tensors are `a,b`"
    return f"the options of %%logos are not well formed: {message}"
