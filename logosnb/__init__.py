"""logosnb: reverse-mode differentiation as programs that one can read.

In: programs in LOGOS, arrays. Out: the public names below. Each is loaded with its first use, so
that `import logosnb` stays quick and loads neither Numba nor IPython nor Matplotlib.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from logosnb.checking import Report as Report
    from logosnb.checking import check as check
    from logosnb.compiling import Compiled as Compiled
    from logosnb.compiling import compile as compile
    from logosnb.gradient.backward import Backward as Backward
    from logosnb.gradient.backward import backward as backward
    from logosnb.gradient.refusals import NoGradient as NoGradient
    from logosnb.gradient.refusals import NotDerived as NotDerived
    from logosnb.gradient.refusals import NotDifferentiated as NotDifferentiated
    from logosnb.gradient.refusals import Overwritten as Overwritten
    from logosnb.gradient.refusals import ParseRefusal as ParseRefusal
    from logosnb.gradient.refusals import Refusal as Refusal
    from logosnb.gradient.refusals import Shapeless as Shapeless
    from logosnb.gradient.refusals import UnknownOutput as UnknownOutput
    from logosnb.gradient.refusals import Unrecognized as Unrecognized
    from logosnb.language.errors import InputError as InputError
    from logosnb.language.errors import LogosError as LogosError
    from logosnb.language.errors import LogosRuntimeError as LogosRuntimeError
    from logosnb.language.errors import LogosSyntaxError as LogosSyntaxError
    from logosnb.language.errors import ShapeError as ShapeError
    from logosnb.running import Gradients as Gradients
    from logosnb.running import Result as Result
    from logosnb.running import grad as grad
    from logosnb.running import run as run
    from logosnb.stages.program import Program as Program
    from logosnb.stages.resolve import parse as parse

__version__ = "0.1.0"

_HOMES = {
    "logosnb.stages.resolve": ("parse",),
    "logosnb.stages.program": ("Program",),
    "logosnb.gradient.backward": ("Backward", "backward"),
    "logosnb.gradient.refusals": (
        "NoGradient",
        "NotDerived",
        "NotDifferentiated",
        "Overwritten",
        "ParseRefusal",
        "Refusal",
        "Shapeless",
        "UnknownOutput",
        "Unrecognized",
    ),
    "logosnb.language.errors": (
        "InputError",
        "LogosError",
        "LogosRuntimeError",
        "LogosSyntaxError",
        "ShapeError",
    ),
    "logosnb.running": ("Gradients", "Result", "grad", "run"),
    "logosnb.checking": ("Report", "check"),
    "logosnb.compiling": ("Compiled", "compile"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'logosnb' has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "load_ipython_extension"]


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext logosnb`."""
    from logosnb.notebook.extension import load

    load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """`%unload_ext logosnb`, and the first half of `%reload_ext logosnb`."""
    from logosnb.notebook.extension import unload

    unload(shell)
