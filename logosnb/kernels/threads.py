"""A few standing threads that run pieces of a kernel at once.

In: functions of no arguments. Out: their results, in order. May not know: kernels.

The number of threads respects the CPUs that the process may use and the container's quota.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@cache
def count() -> int:
    """How many threads serve: the CPUs of the process, no more than its quota rounded up."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    wanted = os.environ.get("LOGOSNB_THREADS", "")
    most = max(1, min(available or 1, _quota() or 10**6))
    return min(int(wanted), most) if wanted.isdigit() and int(wanted) > 0 else most


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


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(count(), thread_name_prefix="logosnb")


def at_once(pieces: Sequence[Callable[[], int]], stop: Array, interruptible: bool) -> list[int]:
    """Run the pieces and wait for all: the last one in the calling thread, unless it may take long.

    A thread that runs machine code hears no interrupt: what may take long runs in the pool, and an
    interrupt of the one that waits sets `stop`, which the pieces look at.
    """
    if not interruptible:
        futures = [_pool().submit(piece) for piece in pieces[:-1]]
        own = pieces[-1]()
        return [*(future.result() for future in futures), own]
    futures = [_pool().submit(piece) for piece in pieces]
    try:
        while wait(futures, timeout=EAR).not_done:
            pass
        return [future.result() for future in futures]
    except BaseException:
        stop[0] = 1
        wait(futures)
        raise
