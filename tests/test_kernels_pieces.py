"""Kernels cut into pieces, fused, and run by several threads: the same values as the interpreter's."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_kernels import agree
from test_random_programs import WRT, inputs, programs

import logosnb
from logosnb.kernels import kernel as kernels_kernel
from logosnb.kernels import segment, threads
from logosnb.kernels.plan import planned


@pytest.fixture
def cut(monkeypatch):
    """Every step that may be cut is cut, for three threads, however small."""
    monkeypatch.setattr(threads, "count", lambda: 3)
    monkeypatch.setattr(kernels_kernel, "WORTH", 1)
    monkeypatch.setattr(kernels_kernel, "PRIVATE", 0)
    monkeypatch.setattr(kernels_kernel, "LEAST_ROWS", 1)
    monkeypatch.setattr(segment, "TOGETHER", 0)


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs(), st.integers(0, 10_000))
def test_random_programs_in_pieces_agree(cut, text: str, seed: int) -> None:
    program = logosnb.parse(text)
    wanted = [name for name in WRT if name in program.inputs]
    given_ = {n: v for n, v in inputs(seed).items() if n in program.declared}
    how = {"of": "out", "wrt": wanted, "cotangent": np.random.default_rng(seed).normal(size=(3, 4))}
    try:
        expected = logosnb.grad(program, given_, **how)
    except logosnb.Overwritten:
        return
    found = logosnb.grad(program, given_, **how, backend="cpu")
    agree(found.value, expected.value, "f64", text)
    for name in wanted:
        agree(found.grads[name], expected.grads[name], "f64", f"seed {seed}: {name}\n{text}")


def test_ones_scattered_into_one_bin_are_all_counted_each_time() -> None:
    """C33: 100 000 ones into one bin, the same bits in 100 runs."""
    text = (
        "Let i be a 1 by 100000 tensor of Int.\nLet t be a 1 by 5 tensor of Real.\n"
        "Repeat for k from 1 to 100000:\n    Let at be item k of i.\n"
        "    Set item at of t to (item at of t) + 1.0.\n"
    )
    ready = logosnb.compile(text)
    (kernel,) = ready.kernels
    assert kernel.split and kernel.summed == ("t",)
    for _ in range(100):
        assert ready({"i": np.ones(100_000, int)})["t"].tolist() == [[100_000, 0, 0, 0, 0]]


def test_the_smallest_numbers_are_not_flushed_to_zero_in_any_thread() -> None:
    """C26: relu of ±1e-310 has slopes 1 and 0; 1e-310 · 1e300 is 1e-10."""
    text = (
        "Let x be a 600 by 400 tensor of Real.\nLet y be relu of x.\n"
        "Let s be 1e300.\nLet z be y scaled by 1e300.\n"
    )
    x = np.where(np.arange(240_000).reshape(600, 400) % 2 == 0, 1e-310, -1e-310)
    found = logosnb.grad(text, {"x": x}, of="y", cotangent=np.ones_like(x), backend="cpu")
    assert np.array_equal(found.grads["x"], np.where(x > 0, 1.0, 0.0))
    z = logosnb.run(text, {"x": x}, backend="cpu")["z"]
    np.testing.assert_allclose(z[x > 0], 1e-10, rtol=1e-6)


def fused_names(text: str, wrt: list[str], of: str) -> list[str]:
    derived = logosnb.backward(text, of, "ct", wrt)
    return [kernel.name for kernel in planned(derived.program, "f64").kernels]


def test_neighbours_over_the_same_rows_become_one_kernel() -> None:
    text = (
        "Let x be a 40 by 30 tensor of Real.\nLet ct be a 40 by 30 tensor of Real.\n"
        "Let a be x scaled by 3.0.\nLet b be tanh of a.\nLet y be softmax of b.\n"
    )
    assert len(fused_names(text, ["x"], "y")) == 1


def test_what_needs_all_rows_of_another_is_not_fused_with_it() -> None:
    text = "Let x be a 40 by 30 tensor of Real.\nLet r be column sums of x.\nLet y be x plus r.\n"
    x = np.random.default_rng(0).normal(size=(40, 30))
    assert len(logosnb.compile(text).kernels) == 2
    np.testing.assert_allclose(
        logosnb.run(text, {"x": x}, backend="cpu")["y"], x + x.sum(axis=0), rtol=1e-12
    )


def test_a_loop_that_is_left_early_is_not_cut(cut) -> None:
    text = (
        "Let t be a 1 by 100 tensor of Real.\nRepeat for k from 1 to 100:\n"
        "    If k == 40: Break.\n    Set item k of t to k.\n"
    )
    expected = logosnb.run(text)["t"]
    np.testing.assert_array_equal(logosnb.run(text, backend="cpu")["t"], expected)


def test_many_threads_that_call_at_once_get_their_own_values(cut) -> None:
    """C34, through machine code that itself runs on several threads."""
    ready = logosnb.compile(
        "Let x be a 60 by 50 tensor of Real.\nLet w be a 50 by 50 tensor of Real.\n"
        "Let h be x matmul w.\nLet y be softmax of h.\nLet s be column sums of y.\n"
    )
    wrong: list[int] = []

    def call(number: int) -> None:
        x = np.full((60, 50), float(number))
        w = np.random.default_rng(number).normal(size=(50, 50))
        expected = ready({"x": x, "w": w})["s"]
        for _ in range(50):
            if not np.array_equal(ready({"x": x, "w": w})["s"], expected):
                wrong.append(number)

    callers = [threading.Thread(target=call, args=(n,)) for n in range(6)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert not wrong


def in_a_process(code: str, **environment: str) -> str:
    found = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return found.stdout


SMALL = (
    "import logosnb; print(logosnb.run('Let x be a 1 by 2 tensor of Real. Let y be square of x.', "
    "{'x': [[2.0, 3.0]]}, backend='cpu')['y'].tolist())"
)


def test_without_a_folder_to_write_to_kernels_live_in_memory() -> None:
    """C36: one line says so."""
    lines = in_a_process(SMALL, XDG_CACHE_HOME="/proc/nowhere", HOME="/proc/nowhere").splitlines()
    assert lines[-1] == "[[4.0, 9.0]]"
    assert len(lines) == 2 and "in memory alone" in lines[0]


def test_more_threads_than_cpus_are_not_started() -> None:
    """C38: clamped, with a note."""
    code = "from logosnb.kernels import threads; print(threads.count())"
    note, count = in_a_process(code, LOGOSNB_THREADS="1000").splitlines()
    assert int(count) <= len(os.sched_getaffinity(0)) and "LOGOSNB_THREADS" in note


def test_a_quota_of_one_cpu_means_one_thread(monkeypatch) -> None:
    """C38: whatever the number of cores."""
    monkeypatch.setattr(threads, "_quota", lambda: 1)
    threads.count.cache_clear()
    assert threads.count() == 1
    threads.count.cache_clear()


def test_a_child_process_has_threads_of_its_own() -> None:
    """Threads do not survive a fork."""
    code = (
        "import os, numpy as np, logosnb\n"
        "from logosnb.kernels import threads\n"
        "text = 'Let x be a 900 by 900 tensor of Real. Let y be softmax of x. Let s be sum of y.'\n"
        "run = lambda: float(logosnb.run(text, {'x': np.ones((900, 900))}, backend='cpu')['s'][0, 0])\n"
        "assert abs(run() - 900) < 1e-6\n"
        "child = os.fork()\n"
        "if child == 0: os._exit(0 if abs(run() - 900) < 1e-6 else 1)\n"
        "print(os.waitpid(child, 0)[1])\n"
    )
    assert in_a_process(code).strip() == "0"
