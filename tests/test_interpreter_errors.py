"""What goes wrong in a run: a sentence and the line, never Python's own words."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from interpreting import failure, shown, values

from logosnb.interpreter import execute
from logosnb.interpreter.shown import MOST_CHARACTERS, MOST_LINES, Output
from logosnb.language.errors import LogosError, ShapeError
from logosnb.stages.resolve import parse

T = "Let t be a 2 by 3 tensor of Real.\nLet n be a 1 by 2 tensor of Int.\n"


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("Let y be item 7 of xs.", ["item 7 of xs: xs has 3 items"]),
        ("Let y be item 0 of xs.", ["item 0 of xs: xs has 3 items"]),
        ("Let y be xs[z - 1].", ["item -1 of xs"]),
        ("Set item 4 of xs to 1.", ["item 4 of xs"]),
        ("Set item z of xs to 1.", ["item 0 of xs"]),
        ("xs[9] += 1.", ["item 9 of xs"]),
        ("Let y be item 10 ** 30 of xs.", ["item 1000000000000000000000000000000 of xs"]),
        ("Let y be xs[1] + xs[2] + xs[5] + xs[6].", ["item 5 of xs"]),
        ("Let y be item 2 of (item 2 of grid).", ["item 2 of item 2 of grid", "1 item"]),
        ('Let y be item 3 of "ab".', ["item 3 of", "2 characters"]),
        ("Let y be items 2 through 9 of xs.", ["item 9 of xs"]),
        ("Let y be item 1.5 of xs.", ["Int", "Real"]),
        ("Let y be item true of xs.", ["Int", "Bool"]),
        ("Let y be item 1 of z.", ["z", "an Int"]),
        ("Pop from none.", ["Pop", "none", "empty"]),
        ("Push 1 to z.", ["Push", "z", "an Int"]),
        ("Let y be 1 / z.", ["divided by zero"]),
        ("Let y be 1 // z.", ["divided by zero"]),
        ("Let y be 1 % z.", ["divided by zero"]),
        ("Let y be 4 is divisible by z.", ["divided by zero"]),
        ("Let y be 2 ** (z - 1).", ["negative Int -1"]),
        ("Let y be 10 ** 10 ** 9.", ["too large"]),
        ("Let y be 10 ** 400 + 0.5.", ["too large", "Real"]),
        ("Let y be sqrt(10 ** 400).", ["too large", "Real"]),
        ('Let y be "a" + "b".', ["`+` needs numbers", "a Text and a Text", "combined with"]),
        ('Let y be "a" - 1.', ["`-` needs numbers, not a Text and an Int"]),
        ("Let y be true + 1.", ["needs numbers, not a Bool and an Int"]),
        ("Let y be -[1].", ["needs a number, not a Seq"]),
        ('Let y be 1 < "a".', ["`<` needs two numbers or two Texts", "an Int and a Text"]),
        ("Let y be true < false.", ["a Bool and a Bool"]),
        ("Let y be 1.5 is even.", ["an Int", "a Real"]),
        ("Let y be floor(infinity).", ["floor", "infinity"]),
        ("Let y be round(nan).", ["round", "NaN"]),
        ('Let y be sqrt("a").', ["sqrt", "a Text"]),
        ("Let y be length of z.", ["an Int"]),
        ("Let y: Int be 2.5.", ["`y` takes an Int, not the Real 2.5"]),
        ('Let y: Bool be "a".', ["`y` takes a Bool, not a Text"]),
        ("Let y: Seq of Int be [1, 2.5].", ["`y` takes an Int, not the Real 2.5"]),
        ("Repeat for i from 1 to 2.5: Show i.", ["Repeat for", "an Int", "the Real 2.5"]),
        ("Repeat for i in 5: Show i.", ["Seq", "an Int"]),
        ("Let y be z contains 1.", ["contains", "an Int"]),
        ('Let y be "a{"b":.2}".', [".2", "number"]),
        ("Let y be 1 is between true and 3.", ["numbers"]),
    ],
)
def test_sentences(statement: str, words: list[str]) -> None:
    setup = "Let xs be [1, 2, 3].\nLet grid be [[1, 2], [3]].\nLet none be [].\nLet z be 0.\n"
    message = failure(setup + statement, 5, *words)
    for internal in ("v_", "list index", "float", "NoneType", "Traceback", "'"):
        assert internal not in message


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("Let y be item 7 of t.", ["item 7 of t", "2 by 3", "6 items"]),
        ("Set item 0 of t to 1.", ["item 0 of t", "2 by 3"]),
        ("If t: Show 1.", ["tensor", "true"]),
        ("Set item 1 of n to 2 ** 63.", ["tensor of Int", "64 bits"]),
        ("Set item 1 of n to 0.5.", ["an Int", "the Real 0.5"]),
        ('Set item 1 of t to "a".', ["item of `t`", "a Real", "a Text"]),
        ("Set t to 5.", ["`t`", "tensor", "an Int"]),
        ("n[2] += 2 ** 63.", ["64 bits"]),
    ],
)
def test_sentences_about_tensors(statement: str, words: list[str]) -> None:
    failure(T + statement, 3, *words)


def test_setting_a_tensor_to_one_of_another_shape_names_both() -> None:
    with pytest.raises(
        ShapeError, match="`t` is 2 by 3 and takes no tensor that is 3 by 2"
    ) as caught:
        values(T + "Let u be a 3 by 2 tensor of Real.\nSet t to u.")
    assert caught.value.line == 4


def test_a_name_without_a_value() -> None:
    failure("If false:\n    Let x be 1.\nShow x.", 3, "`x` has no value yet")
    failure(
        "If false:\n    Let t be a 1 by 1 tensor of Real.\nShow item 1 of t.", 3, "`t` has no value"
    )
    failure("If false:\n    Let ä be 1.\nShow ä.", 3, "`ä` has no value yet")


FUNCTIONS = """\
## To whole (n: Int) -> Int:
    If n > 0:
        Return n / 0.
    Otherwise If n < -5:
        Return 0.5.

## To deep (n: Int) -> Int:
    Return deep(n + 1) + 1.

## To grow (xs: mutable Seq of Int):
    Push 1 to xs.

## To scaled (x: Real) -> Real:
    Return x.

## Main
"""


@pytest.mark.parametrize(
    ("statement", "line", "words"),
    [
        ("Let y be whole(1).", 3, ["divided by zero"]),
        ("Let y be whole(0).", 1, ["`whole` ends without the Int"]),
        ("Let y be whole(-6).", 5, ["`whole` returns an Int, not the Real 0.5"]),
        ("Let y be whole(1.5).", 17, ["`n` of `whole` takes an Int, not the Real 1.5"]),
        ('Let y be scaled("a").', 17, ["`x` of `scaled` takes a Real, not a Text"]),
        ("Let y be deep(1).", 8, ["`deep` calls itself too deeply"]),
        ("grow([1, 2]).", 17, ["name of a Seq"]),
        ("Let y be grow(xs).", 17, ["`grow` gives no value"]),
    ],
)
def test_functions_and_the_innermost_line(statement: str, line: int, words: list[str]) -> None:
    setup = "Let xs be [1]. "
    failure(FUNCTIONS + setup + statement, line, *words)


def test_the_index_that_failed_is_named_and_not_one_that_was_not_reached() -> None:
    source = (
        "Let xs be [1].\nLet i be 5.\nIf (i < 2 and item i of xs > 0) or item 3 of xs > 0: Show 1."
    )
    assert failure(source, 3) == "item 3 of xs: xs has 1 item"


def test_an_error_shows_the_line_of_the_cell_and_a_caret() -> None:
    program = parse("Let x be 0.\nShow 1 / x.", first_line=2)
    with pytest.raises(LogosError) as caught:
        execute(program, {}, print)
    lines = str(caught.value).splitlines()
    assert lines[0].startswith("line 3: ") and lines[1].strip() == "Show 1 / x." and "^" in lines[2]


def test_too_deep_a_program_is_refused_in_a_sentence() -> None:
    loops = "".join("    " * k + f"Repeat for i{k} from 1 to 1:\n" for k in range(25))
    with pytest.raises(LogosError, match="nested more deeply"):
        values(loops + "    " * 25 + "Show 1.\n")


def test_what_shows_the_output_fails_as_itself() -> None:
    def broken(text: str) -> None:
        raise IndexError("a fault of the caller")

    with pytest.raises(IndexError, match="of the caller"):
        execute(parse("Show 1."), {}, broken)


def test_the_usual_recursion_limit_comes_back() -> None:
    before = sys.getrecursionlimit()
    with pytest.raises(LogosError):
        values(FUNCTIONS + "Let y be deep(1).")
    assert sys.getrecursionlimit() == before


# ---- interruption and the cap -----------------------------------------------------------------

LOOPS = {
    "forever": "Repeat forever:\n    Let x be 1.",
    "range": "Repeat for i from 1 to 10 ** 12:\n    Let x be i.",
    "while": "Let x be 1.0.\nWhile x > 0:\n    x = x + 1.0.",
    "show": "Repeat forever: Show 1.",
    "tensor": "Let t be a 2 by 2 tensor of Real.\nRepeat forever:\n    Set item 1 of t to 1.",
}
INTERRUPTED = """
import signal, sys, time
from logosnb.interpreter import execute
from logosnb.interpreter.shown import Output
from logosnb.stages.resolve import parse

program = parse(sys.argv[1])
signal.setitimer(signal.ITIMER_REAL, 0.3)
signal.signal(signal.SIGALRM, signal.default_int_handler)
start = time.perf_counter()
try:
    execute(program, {}, Output())
except KeyboardInterrupt:
    print("stopped" if time.perf_counter() - start < 1.3 else "late")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="timers that interrupt are POSIX")
@pytest.mark.parametrize("name", LOOPS)
def test_an_interrupt_stops_any_loop_within_a_second(name: str) -> None:
    command = [sys.executable, "-c", INTERRUPTED, LOOPS[name]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "stopped", done.stderr


def test_output_is_capped_and_says_so_once() -> None:
    output = Output()
    execute(parse(f"Repeat for i from 1 to {MOST_LINES + 500}: Show i."), {}, output)
    assert len(output.lines) == MOST_LINES + 1 and output.capped
    assert output.lines[MOST_LINES - 1] == str(MOST_LINES) and "left out" in output.lines[-1]


def test_output_is_capped_by_characters_and_kept_whole_below() -> None:
    seen: list[str] = []
    output = Output(seen.append)
    output("x" * (MOST_CHARACTERS - 10))
    output("a\nb")
    assert not output.capped and output.lines[1:] == ["a", "b"]
    output("y" * 20)
    output("z")
    assert output.lines == seen and len(seen) == 4 and "left out" in seen[-1]


# ---- tensors given and given back --------------------------------------------------------------


@contextmanager
def untouched(array: np.ndarray) -> Iterator[np.ndarray]:
    before = array.copy()
    yield array
    assert np.array_equal(array, before, equal_nan=True)


def test_inputs_are_never_written_and_results_are_the_programs_own() -> None:
    source = T + "Set item 2 of t to 9.\nLet k be 1.\n"
    with untouched(np.arange(6.0).reshape(2, 3)) as given:
        given.setflags(write=False)
        found = values(source, t=given)
        assert found["t"][0, 1] == 9 and not np.shares_memory(found["t"], given)
        found["t"][:] = 7
    assert set(found) == {"t", "n", "k"} and found["n"].dtype == np.int64
    assert values(source, t=given)["t"][0, 0] == 0


def test_items_of_tensors_are_plain_numbers() -> None:
    found = values(T + "Let x be item 2 of t.\nLet y be item 1 of n.\nLet s be length of t.")
    assert type(found["x"]) is float and type(found["y"]) is int and found["s"] == 6
    assert values(T + "Set item 1 of t to 3.\nLet x be item 1 of t / 2.")["x"] == 1.5


def test_tensors_are_values_too() -> None:
    source = """
## To doubled (x: Tensor) -> Tensor:
    Repeat for k from 1 to length of x:
        x[k] *= 2.
    Return x.

## Main
Let t be a 1 by 2 tensor of Real.
Set item 1 of t to 3.
Let u be doubled(t).
Let v be a 1 by 2 tensor of Real.
Set v to u.
Set item 1 of u to 1.
Let total be 0.
Repeat for x in v:
    total += x.
"""
    found = values(source)
    assert found["t"][0, 0] == 3 and found["u"][0, 0] == 1 and found["v"][0, 0] == 6
    assert found["total"] == 6.0


def test_a_declaration_in_a_loop_makes_zeros_each_time() -> None:
    source = "Repeat for i from 1 to 3:\n    Let t be a 1 by 2 tensor of Real.\n    t[1] += i.\n    Show t."
    assert shown(source) == ["[1, 0]", "[2, 0]", "[3, 0]"]


def test_one_program_runs_in_several_threads_at_once() -> None:
    program = parse("Let total be 0.\nRepeat for i from 1 to 20000:\n    total += i.\nShow total.")
    seen: list[list[str]] = [[] for _ in range(4)]
    threads = [threading.Thread(target=execute, args=(program, {}, s.append)) for s in seen]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [["200010000"]] * 4
