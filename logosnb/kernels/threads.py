"""A few standing threads that run a sequence of kernels at once.

In: a function that several may run together, and its arguments. Out: its result. May not know: kernels.

The number of threads respects the CPUs that the process may use and the container's quota.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import cache
from math import ceil
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

import numpy as np

Array = np.ndarray[Any, Any]
Result = TypeVar("Result")


@cache
def count() -> int:
    """How many threads serve: the CPUs of the process, no more than its quota rounded up."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    most = max(1, min(available or 1, _quota() or 10**6))
    asked = os.environ.get("LOGOSNB_THREADS", "")
    wanted = int(asked) if asked.isdigit() and int(asked) > 0 else most
    if wanted > most:
        print(
            f"logosnb: LOGOSNB_THREADS asks for {wanted} threads, and this process may use {most}"
        )
    return min(wanted, most)


def _quota() -> int | None:
    """The container's CPU quota, rounded up, from cgroup version 2 or 1."""
    try:
        limit, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        return None if limit == "max" else max(1, ceil(int(limit) / int(period)))
    except (OSError, ValueError):
        pass
    try:
        folder = Path("/sys/fs/cgroup/cpu")
        limit = (folder / "cpu.cfs_quota_us").read_text()
        period = (folder / "cpu.cfs_period_us").read_text()
        return None if int(limit) <= 0 else max(1, ceil(int(limit) / int(period)))
    except (OSError, ValueError):
        return None


EAR = 0.1  # seconds between two moments in which an interrupt is heard, wherever it arrived


def uninterrupted(function: Callable[[], Result]) -> Result:
    """The function's result, computed by a thread of its own: an interrupt of the caller leaves it to
    come to its end. Numba does not survive an interrupt while it loads itself."""
    if threading.current_thread() is not threading.main_thread():
        return function()
    found: Future[Result] = Future()
    threading.Thread(target=_into, args=(function, found), daemon=True).start()
    while True:
        with suppress(TimeoutError):
            return found.result(timeout=EAR)


def _into(function: Callable[[], Result], found: Future[Result]) -> None:
    try:
        found.set_result(function())
    except BaseException as error:  # the caller raises it
        found.set_exception(error)


class _Crew:
    """Threads that wait for work, as many as there may be at once less the caller's own."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self.work: SimpleQueue[Callable[[], object]] = SimpleQueue()
        for number in range(count()):
            name = f"logosnb-{number}"
            threading.Thread(target=self._serve, name=name, daemon=True).start()

    def _serve(self) -> None:
        while True:
            self.work.get()()


_lock = threading.Lock()
_crews: list[_Crew] = []


def _crew() -> _Crew:
    """The crew of this process: threads do not survive a fork."""
    with _lock:
        if not _crews or _crews[-1].process != os.getpid():
            _crews.append(_Crew())
        return _crews[-1]


def with_help(function: Callable[..., int], arguments: tuple[Any, ...]) -> int:
    """The function's result, while the others of the crew run it too."""
    crew = _crew()
    for _ in range(count() - 1):
        crew.work.put(lambda: function(*arguments))
    return function(*arguments)


def interruptible(
    function: Callable[..., int],
    arguments: tuple[Any, ...],
    stop: Array,
    several: bool,
    held: object,
) -> int:
    """The function's result, computed by the crew alone: a thread that runs machine code hears no
    interrupt, and this one does, and sets `stop`, which the kernels look at. `held` is what the function
    works on, which must not go away before it is done, whatever becomes of the caller."""
    crew = _crew()
    found: SimpleQueue[int] = SimpleQueue()

    def work(held: object = held) -> None:
        found.put(function(*arguments))

    for _ in range(count() if several else 1):
        crew.work.put(work)
    try:
        return _heard(found)
    except BaseException:
        stop[0] = 1
        found.get()
        raise


def _heard(found: SimpleQueue[int]) -> int:
    while True:
        with suppress(Empty):
            return found.get(timeout=EAR)
