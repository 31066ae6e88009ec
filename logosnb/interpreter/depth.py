"""How deep the functions of a program may call each other.

In: nothing. Out: `deep_recursion`, a context in which Python's limit is a higher one. May not know:
programs.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

DEEPEST = 10_000

_lock = Lock()
_running = 0
_usual = 0


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Let calls nest up to DEEPEST; the last of the programs that run at once sets the limit back."""
    global _running, _usual
    with _lock:
        _usual = sys.getrecursionlimit() if _running == 0 else _usual
        _running += 1
        sys.setrecursionlimit(max(DEEPEST, _usual))
    try:
        yield
    finally:
        with _lock:
            _running -= 1
            if _running == 0:
                sys.setrecursionlimit(_usual)
