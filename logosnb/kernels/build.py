"""Kernel source to machine code, once a content: in memory, and on disk for the next process.

In: source text and the types of its arguments. Out: a compiled function that holds no lock of the
interpreter. May not know: what a kernel computes.

The disk cache is Numba's own, beside the source files that are written here: in a folder of the user's
that nobody else may write. Where there is none, kernels live in memory, and one line says so.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import stat
import sys
import threading
from collections.abc import Callable
from functools import cache
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

import numba

HEADER = """import math
import numpy as np
from logosnb.kernels.functions import (
    asked, exp32, exp64, fast_add, grown, half_away, holds, log32, log64, maximum, minimum, power,
    quotient, remainder, rest, tanh32, tanh64,
)

"""
_lock = threading.Lock()
_kept: dict[str, Any] = {}


def build(text: str, signature: Any) -> Callable[..., int]:
    """The compiled kernel; a second call with the same content gives the same function."""
    content = f"{text}\n# {signature}\n"
    with _lock:
        if content not in _kept:
            _kept[content] = _compiled(content, signature)
    kept: Callable[..., int] = _kept[content]
    return kept


def _compiled(content: str, signature: Any) -> Any:
    module, on_disk = _module(content)
    decorate = numba.njit(signature, nogil=True, error_model="numpy", cache=on_disk)
    return decorate(module.kernel)


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
