"""Kernel source to machine code, once a content: in memory, and on disk for the next process.

In: source text. Out: the address of its machine code, or a compiled function that holds no lock of the
interpreter. May not know: what a kernel computes.

The disk cache is Numba's own, beside the source files that are written here: in a folder of the user's
that nobody else may write. Where there is none, kernels live in memory, and one line says so.
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import os
import stat
import sys
import textwrap
import threading
from collections.abc import Callable
from functools import cache
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

import numba

from logosnb.kernels.native import SIGNATURE
from logosnb.kernels.threads import uninterrupted

HOW: dict[str, Any] = {"error_model": "numpy"}
HEADER = """import math
from typing import Any

import numpy as np
from numba import njit
from logosnb.kernels.functions import (
    exp32, exp64, fast_add, grown, half_away, holds, log32, log64, maximum, minimum, power, quotient,
    remainder, rest, tanh32, tanh64,
)
from logosnb.kernels.native import (
    asked, bits_of, call, fetch_add, gemm32, gemm64, give_way, ints, pause, real_of, reals32, reals64,
    set_bases,
)

"""
_lock = threading.Lock()
_kept: dict[str, Any] = {}


def build(text: str) -> Any:
    """The kernel of this text, with its `address`; a second call with the same text gives the same."""
    return _once(text, lambda on_disk: numba.cfunc(SIGNATURE, cache=on_disk, **HOW))


def build_caller(text: str, signature: Any) -> Callable[..., int]:
    """A function for Python to call, of a text that defines one; without a signature, for each type
    that it is called with."""

    def decorator(on_disk: bool) -> Any:
        return numba.njit(signature, nogil=True, cache=on_disk, **HOW)

    found: Callable[..., int] = _once(text, decorator)
    return found


@cache
def source_of(function: Callable[..., Any], parts: tuple[Any, ...] = ()) -> str:
    """The text of a kernel that is written by hand, as one that is generated; parts: the compiled
    functions that it calls."""
    text = textwrap.dedent(inspect.getsource(function))
    kernel = text.replace(f"def {function.__name__}(", "def kernel(", 1)
    return "\n\n".join([*(inspect.getsource(part.py_func) for part in parts), kernel])


def _once(text: str, decorator: Callable[[bool], Any]) -> Any:
    if text not in _kept:
        uninterrupted(lambda: _built(text, decorator))
    return _kept[text]


def _built(text: str, decorator: Callable[[bool], Any]) -> None:
    with _lock:
        if text not in _kept:
            module, on_disk = _module(f"{text}# with the functions of {_functions()}\n")
            _kept[text] = decorator(on_disk)(module.kernel)


@cache
def _functions() -> str:
    """What kernels call, as a digest: kernels on disk hold its machine code."""
    from logosnb.kernels import functions, native

    texts = (Path(str(module.__file__)).read_bytes() for module in (functions, native))
    return hashlib.sha256(b"".join(texts)).hexdigest()[:12]


def _module(content: str) -> tuple[ModuleType, bool]:
    """The source as a module, from its file in the cache folder if there is one."""
    name = "kernel_" + hashlib.sha256(content.encode()).hexdigest()[:24]
    folder = cache_folder()
    if folder is not None:
        path = folder / f"{name}.py"
        if not path.exists():
            _write(path, HEADER + content)
        spec = importlib.util.spec_from_file_location(name, path)
        if spec is not None and spec.loader is not None:
            module = importlib.util.module_from_spec(spec)
            sys.modules[name] = module  # Numba's cache looks the function up by its module
            spec.loader.exec_module(module)
            return module, True
    module = ModuleType(name)
    exec(compile(HEADER + content, f"<{name}>", "exec"), module.__dict__)
    return module, False


def _write(path: Path, text: str) -> None:
    """Write a file whole or not at all, whatever interrupts."""
    partial = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
    partial.write_text(text)
    partial.replace(path)


@cache
def cache_folder() -> Path | None:
    """The user's own folder for kernels; None, with one line said, where there can be none."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    python = f"py{sys.version_info[0]}{sys.version_info[1]}"
    version = f"{metadata.version('logosnb')}-numba{numba.__version__}-{python}"
    folder = Path(base) / "logosnb" / version
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        own = folder.stat().st_uid == os.getuid() if hasattr(os, "getuid") else True
        closed = not folder.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        if own and closed and os.access(folder, os.W_OK):
            return folder
    except (OSError, RuntimeError):
        pass
    print("logosnb: kernels are kept in memory alone, as there is no cache folder to write to")
    return None
