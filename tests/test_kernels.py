"""The kernels held against the interpreter: every op and clause, random programs, loops, errors."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from examples import CASES, IDS, arrays, output_name, program_text
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_random_programs import WRT, inputs, programs
from test_table import nearby

import logosnb
from logosnb.kernels import threads
from logosnb.kernels.kernel import Kernel
from logosnb.kernels.plan import planned
from logosnb.running import derivation

TOLERANCE = {"f64": 1e-10, "f32": 1e-4}
BOTH = pytest.mark.parametrize("dtype", ["f64", "f32"])


def agree(found, expected, dtype: str, what: str = "") -> None:
    scale = max(float(np.abs(expected[np.isfinite(expected)]).max(initial=0.0)), 1e-30)
    np.testing.assert_allclose(
        found, expected, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype] * scale, err_msg=what
    )


@BOTH
@pytest.mark.parametrize(("op", "example"), [c[1:] for c in CASES], ids=IDS)
def test_every_op_and_clause_forward(op, example, dtype) -> None:
    text, of = program_text(op, example), output_name(op, example)
    program, given_ = logosnb.parse(text), arrays(op, example)
    expected = logosnb.run(program, given_)[of]
    found = logosnb.run(program, given_, backend="cpu", dtype=dtype)[of]
    agree(found, expected, dtype)
    assert planned(program, dtype).notes == []


@BOTH
@pytest.mark.parametrize(
    ("op", "example"),
    [c[1:] for c in CASES if c[2].grads],
    ids=[i for i, c in zip(IDS, CASES) if c[2].grads],
)
def test_every_op_and_clause_backward(op, example, dtype) -> None:
    program, of, wrt = (
        logosnb.parse(program_text(op, example)),
        output_name(op, example),
        list(example.grads),
    )
    given_ = nearby(arrays(op, example), 7)
    how = {"of": of, "wrt": wrt, "cotangent": example.cotangent}
    expected = logosnb.grad(program, given_, **how)
    found = logosnb.grad(program, given_, **how, backend="cpu", dtype=dtype)
    for name in wrt:
        # Where a layernorm's gradient is the small difference of large numbers, f32 keeps few digits.
        if not (dtype == "f32" and op.name == "LayerNorm" and given_["x"].shape[1] <= 4):
            agree(found.grads[name], expected.grads[name], dtype, name)
    derived = derivation(program, of, tuple(wrt))[0]
    assert planned(derived.program, dtype).notes == []


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs(), st.integers(0, 10_000))
def test_random_programs_agree(text: str, seed: int) -> None:
    program = logosnb.parse(text)
    wanted = [name for name in WRT if name in program.inputs]
    given_ = {n: v for n, v in inputs(seed).items() if n in program.declared}
    ct = np.random.default_rng(seed).normal(size=(3, 4))
    try:
        expected = logosnb.grad(program, given_, of="out", wrt=wanted, cotangent=ct)
    except logosnb.Overwritten:
        return
    found = logosnb.grad(program, given_, of="out", wrt=wanted, cotangent=ct, backend="cpu")
    agree(found.value, expected.value, "f64", text)
    for name in wanted:
        agree(found.grads[name], expected.grads[name], "f64", f"seed {seed}: {name}\n{text}")


LOOPS = {
    "logistic map": (
        "Let x be a 1 by 50 tensor of Real.\nLet mutable v be 0.3.\n"
        "Repeat for i from 1 to 50:\n    Set v to 3.7 * v * (1.0 - v).\n    Set item i of x to v.\n"
        "Let last be v * 2.0.\n"
    ),
    "sieve": (
        "Let sieve be a 1 by 100 tensor of Int.\nLet count be 0.\n"
        "Repeat for i from 2 to 100:\n    If item i of sieve == 0:\n        count += 1.\n"
        "        Let j be i * i.\n        While j <= 100:\n            Set item j of sieve to 1.\n"
        "            j += i.\n"
    ),
    "running sum": (
        "Let x be a 3 by 4 tensor of Real.\nLet y be a 3 by 4 tensor of Real.\n"
        "Repeat for k from 1 to 12:\n    Set item k of x to sqrt(k) + sin(k) - cos(k) / tanh(k).\n"
        "Set item 1 of y to item 1 of x.\n"
        "Repeat for k from 2 to 12:\n    Set item k of y to (item k - 1 of y) + (item k of x).\n"
    ),
    "sequences": (
        "Let t be a 1 by 6 tensor of Real.\n"
        "Repeat for i from 1 to 6:\n    Let xs be a new Seq of Real.\n"
        "    Repeat for j from 1 to 40 * i:\n        Push j / 2.0 to xs.\n"
        "    Let mutable total be 0.0.\n    Repeat for x in xs:\n        total += x ** 2.\n"
        "    Set item i of t to total / length of xs.\n"
    ),
    "ints": (
        "Let t be a 1 by 20 tensor of Int.\n"
        "Repeat for i from 1 to 20:\n    Let k be i - 10.\n"
        "    Set item i of t to k / 3 * 100 + k // 3 * 10 + k % 3 + max(k, 2) - min(k, 1) + abs(k).\n"
    ),
    "branches": (
        "Let t be a 1 by 20 tensor of Real.\n"
        "Repeat for i from 1 to 20:\n    If i is even and i is divisible by 3:\n"
        "        Set item i of t to 1.0 / (i - 6).\n    Otherwise If i is between 5 and 9 or not i > 2:\n"
        "        Set item i of t to -infinity.\n    Otherwise:\n        Set item i of t to nan.\n"
        "    If i == 15: Break.\n"
    ),
    "bins": (
        "Let t be a 1 by 5 tensor of Real.\nLet i be a 1 by 9 tensor of Int.\n"
        "Repeat for k from 1 to 9:\n    Set item k of i to k * k % 5 + 1.\n"
        "Repeat for k from 1 to 9:\n    Let at be item k of i.\n"
        "    Set item at of t to (item at of t) + 1.0.\n"
    ),
    "text beside loops": (
        "Let t be a 1 by 3 tensor of Real.\n"
        "Repeat for k from 1 to 3:\n    Set item k of t to k.\nShow t.\nShow \"sum {item 3 of t}\".\n"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LOOPS)
def test_loops_agree_to_the_bit_or_nearly(name: str) -> None:
    program = logosnb.parse(LOOPS[name])
    expected, found = logosnb.run(program), logosnb.run(program, backend="cpu")
    assert found.shown == expected.shown
    for key, value in found.items():
        np.testing.assert_allclose(value, expected[key], rtol=1e-12, err_msg=key)
    assert {k for k, v in expected.items() if isinstance(v, np.ndarray)} <= set(found)


def test_loops_compile_without_notes() -> None:
    for name, text in LOOPS.items():
        plan = planned(logosnb.parse(text), "f64")
        assert plan.kernels and not plan.notes, (name, plan.notes)


def test_what_does_not_compile_runs_all_the_same_and_is_named() -> None:
    text = (
        "## To twice (a: Real) -> Real:\n    Return a * 2.\n## Main\n"
        "Let t be a 1 by 3 tensor of Real.\n"
        "Repeat for k from 1 to 3:\n    Set item k of t to twice(k).\n    Show k.\n"
        "Let y be exponential of t.\n"
    )
    program = logosnb.parse(text)
    expected, found = logosnb.run(program), logosnb.run(program, backend="cpu")
    np.testing.assert_allclose(found["y"], expected["y"])
    assert found.shown == ["1", "2", "3"]
    (note,) = planned(program, "f64").notes
    assert note.startswith("line ") and "interpreter" in note


ERRORS = [
    "Let t be a 1 by 3 tensor of Real.\nRepeat for k from 1 to 4:\n    Set item k of t to 1.0.\n",
    "Let t be a 1 by 3 tensor of Int.\nRepeat for k from 0 to 2:\n    Set item 1 of t to 1 / k.\n",
    "Let t be a 1 by 3 tensor of Int.\nLet n be 9223372036854775807.\n"
    "Repeat for k from 1 to 3:\n    Set item k of t to n + k.\n",
    "Let t be a 2 by 1 tensor of Real.\nLet i be a 2 by 1 tensor of Int.\n"
    "Set item 1 of i to 1.\nSet item 2 of i to 3.\nLet y be rows i of t.\n",
    "Let z be a 1 by 2 tensor of Real.\nLet t be a 1 by 1 tensor of Int.\n"
    "Set item 1 of z to 1.\nSet item 1 of t to 3.\nLet l be cross entropy of z with targets t.\n",
]


@pytest.mark.parametrize("text", ERRORS)
def test_an_error_is_the_interpreters_own(text: str) -> None:
    """C13, C23: the same sentence and line, whatever ran."""
    with pytest.raises(logosnb.LogosError) as expected:
        logosnb.run(text)
    with pytest.raises(logosnb.LogosError) as found:
        logosnb.run(text, backend="cpu")
    assert str(found.value) == str(expected.value) and type(found.value) is type(expected.value)


def test_ints_beyond_64_bits_are_exact_all_the_same() -> None:
    text = "Let n be 1.\nRepeat for k from 1 to 30:\n    n *= k.\nShow n.\n"
    assert logosnb.run(text, backend="cpu").shown == ["265252859812191058636308480000000"]


def test_what_was_shown_is_not_shown_twice_when_the_interpreter_takes_over() -> None:
    text = "Show 1.\n" + ERRORS[0]
    seen: list[str] = []
    with pytest.raises(logosnb.LogosRuntimeError):
        logosnb.run(text, backend="cpu", show=seen.append)
    assert seen == ["1"]


BIG = """Let x be a 700 by 300 tensor of Real.
Let w be a 1 by 300 tensor of Real.
Let y be rmsnorm of x with weight w.
Let loss be sum of y.
"""


def big() -> dict[str, np.ndarray]:
    random = np.random.default_rng(0)
    return {"x": random.normal(size=(700, 300)), "w": random.normal(size=(1, 300))}


def test_pieces_run_at_once_and_give_the_same_bits_each_time(monkeypatch) -> None:
    """C33: what every row adds to is gathered apart, and added in a fixed order."""
    monkeypatch.setattr(threads, "count", lambda: 2)
    program, given_ = logosnb.parse(BIG), big()
    expected = logosnb.grad(program, given_, of="loss")
    first = logosnb.grad(program, given_, of="loss", backend="cpu")
    agree(first.grads["w"], expected.grads["w"], "f64")
    agree(first.grads["x"], expected.grads["x"], "f64")
    for _ in range(20):
        again = logosnb.grad(program, given_, of="loss", backend="cpu")
        np.testing.assert_array_equal(again.grads["w"], first.grads["w"])
    derived = derivation(program, "loss", ("x", "w"))[0]
    assert any(k.split and k.summed for k in planned(derived.program, "f64").kernels)


def test_two_threads_may_call_at_once() -> None:
    """C34: right values and a living process."""
    program, given_ = logosnb.parse(BIG), big()
    expected = logosnb.grad(program, given_, of="loss", backend="cpu").grads["w"]
    wrong: list[str] = []

    def call() -> None:
        for _ in range(10):
            found = logosnb.grad(program, given_, of="loss", backend="cpu").grads["w"]
            if not np.array_equal(found, expected):
                wrong.append("differs")

    callers = [threading.Thread(target=call) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert not wrong


def test_another_size_is_no_new_kernel() -> None:
    def kernels(rows: int) -> list[Kernel]:
        text = f"Let x be a {rows} by 7 tensor of Real.\nLet y be softmax of x.\n"
        return logosnb.compile(text).kernels

    first, second = kernels(5), kernels(9)
    assert [k.function for k in first] == [k.function for k in second]


def test_a_compiled_program_runs_again_and_fills_what_it_is_given() -> None:
    text = "Let x be a 2 by 3 tensor of Real.\nLet y be square of x.\n"
    ready = logosnb.compile(text, dtype="f32")
    out = np.empty((2, 3), np.float32)
    result = ready({"x": np.full((2, 3), 3.0)}, out={"y": out})
    assert result["y"] is out and (out == 9).all()
    assert ready({"x": np.full((2, 3), 2.0)})["y"].tolist() == [[4.0] * 3] * 2
    (kernel,) = ready.kernels
    assert kernel.bytes == 2 * 6 * 4 and "def kernel(" in kernel.source
    with pytest.raises(logosnb.ShapeError, match="`out` for `y`"):
        ready({"x": np.ones((2, 3))}, out={"y": np.empty((2, 3))})


def test_a_long_sum_in_f32_keeps_its_digits() -> None:
    """C25: 10⁶ times 1/255 in f32 is 3921.57, where a plain f32 loop drifts to 3909."""
    text = "Let x be a 1000 by 1000 tensor of Real.\nLet y be sum of x.\n"
    x = np.full((1000, 1000), np.float32(1 / 255))
    found = logosnb.run(text, {"x": x}, backend="cpu", dtype="f32")["y"][0, 0]
    assert abs(found - 3921.5689) < 0.001


def test_the_number_of_threads_is_within_the_cpus() -> None:
    """C38: no more threads than the process may use."""
    import os

    assert 1 <= threads.count() <= len(os.sched_getaffinity(0))


def test_a_kernel_without_an_end_can_be_interrupted() -> None:
    """C37: within a second, and the next run works."""
    import signal
    import time

    text = "Let mutable i be 2.\nRepeat forever: Set i to 3 - i.\n"
    ready = logosnb.compile(text)
    assert ready.kernels
    timer = threading.Timer(0.5, signal.raise_signal, [signal.SIGINT])
    timer.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        ready({})
    assert time.monotonic() - start < 2
    assert (
        logosnb.run("Let x be 1.\nRepeat for k from 1 to 3:\n    x += k.\n", backend="cpu")["x"]
        == 7
    )
