"""The magics through a real IPython shell in this process: options, inputs, sessions, errors, Tab."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import ExecutionResult, InteractiveShell
from IPython.utils.capture import CapturedIO, capture_output
from traitlets.config import Config

import logosnb
from logosnb.notebook.building import Line, Progress
from logosnb.notebook.completion import choices
from logosnb.notebook.options import NAMES, read_options
from logosnb.notebook.reference import Reference, readable
from logosnb.notebook.session import Session
from logosnb.ops.table import TABLE

NET = """\
Let x be a 2 by 3 tensor of Real.
Let w be a 3 by 2 tensor of Real.
Let y be x matmul w.
Let loss be sum of y.
"""


@pytest.fixture(scope="module")
def kept_shell() -> Iterator[InteractiveShell]:
    InteractiveShell.clear_instance()
    config = Config(HistoryManager={"enabled": False}, InteractiveShell={"colors": "nocolor"})
    shell = InteractiveShell.instance(config=config)
    shell.run_line_magic("load_ext", "logosnb")
    yield shell
    InteractiveShell.clear_instance()


@pytest.fixture
def shell(kept_shell: InteractiveShell) -> InteractiveShell:
    kept_shell.reset(new_session=False)
    kept_shell.user_ns.update(x=np.arange(6.0).reshape(2, 3), w=np.ones((3, 2)))
    return kept_shell


def run(shell: InteractiveShell, cell: str) -> tuple[ExecutionResult, CapturedIO]:
    with capture_output() as captured:
        result = shell.run_cell(cell, store_history=True)
    return result, captured


def fails(shell: InteractiveShell, cell: str) -> str:
    """What a cell that must fail shows."""
    result, captured = run(shell, cell)
    assert isinstance(result.error_in_exec, logosnb.LogosError), f"no error in\n{cell}"
    assert not captured.outputs
    return str(captured.stdout)


def net(shell: InteractiveShell, options: str = "", body: str = NET) -> Session:
    result, _ = run(shell, f"%%logos net {options}\n{body}")
    result.raise_error()
    found = shell.user_ns["net"]
    assert isinstance(found, Session)
    return found


# ---- what a cell binds and shows ----------------------------------------------------------------


def test_values_and_gradients_are_bound(shell: InteractiveShell) -> None:
    session = net(shell, "--grad loss")
    x, w = shell.user_ns["x"], shell.user_ns["w"]
    np.testing.assert_allclose(session["y"], x @ w)
    np.testing.assert_allclose(session.grads["w"], np.repeat(x.sum(0)[:, None], 2, 1))
    np.testing.assert_allclose(session.value, [[(x @ w).sum()]])
    assert (
        session.program.first_line == 2 and session.backward.grads["w"] in session.backward.source
    )
    assert repr(session) == "Session: 2 stages, gradient of loss for x, w"


def test_every_output_carries_plain_text(shell: InteractiveShell) -> None:
    for cell in (f"%%logos\n{NET}", f"%%logos net --grad loss --check\n{NET}", "net", "%logos_ops"):
        result, captured = run(shell, cell)
        bundles = [output.data for output in captured.outputs]
        if result.result is not None:
            bundles.append(shell.display_formatter.format(result.result)[0])
        assert len(bundles) == 1, cell
        for bundle in bundles:
            assert bundle["text/plain"].strip() and bundle["text/html"].strip()


def test_without_a_name_nothing_is_bound(shell: InteractiveShell) -> None:
    before = set(shell.user_ns)
    run(shell, f"%%logos\n{NET}")
    assert {name for name in set(shell.user_ns) - before if not name.startswith("_")} == set()


def test_quiet_shows_only_what_the_program_shows(shell: InteractiveShell) -> None:
    _, captured = run(shell, f"%%logos net --grad loss --check --quiet\n{NET}Show 5.\n")
    assert captured.stdout == "5\n" and captured.outputs == []
    assert shell.user_ns["net"].report.ok


def test_graph_and_no_graph(shell: InteractiveShell) -> None:
    assert net(shell, "--no-graph").page.graph is None
    assert net(shell, "--graph").page.graph is not None


def test_wrt_names_the_gradients(shell: InteractiveShell) -> None:
    assert list(net(shell, "--grad loss --wrt w").grads) == ["w"]
    assert list(net(shell, '--grad loss --wrt "w, x"').grads) == ["w", "x"]


def test_the_check_is_kept_and_shown(shell: InteractiveShell) -> None:
    session = net(shell, "--grad loss --check")
    assert session.report is not None and session.report.ok
    assert "agrees" in session.page.text() and "agrees" in session.page.html()


@pytest.mark.parametrize("declared", [False, True])
def test_the_cotangent_is_a_variable_or_the_programs_own(
    shell: InteractiveShell, declared: bool
) -> None:
    shell.user_ns["ct"] = np.array([[1.0, 2.0], [3.0, -4.0]])
    body = ("Let ct be a 2 by 2 tensor of Real.\n" if declared else "") + NET
    session = net(shell, "--grad y --cotangent ct", body)
    assert list(session.grads) == ["x", "w"]
    np.testing.assert_allclose(session.grads["w"], shell.user_ns["x"].T @ shell.user_ns["ct"])


def test_a_scalar_program_needs_no_tensor(shell: InteractiveShell) -> None:
    result, captured = run(shell, "%%logos n\nLet a be 5.\nShow a * 2.\n")
    result.raise_error()
    assert captured.stdout == "10\n" and shell.user_ns["n"]["a"] == 5


# ---- sessions are snapshots -------------------------------------------------------------------


def test_running_the_gradient_cell_twice_gives_the_same(shell: InteractiveShell) -> None:
    first = net(shell, "--grad loss")
    second = net(shell, "--grad loss")
    assert first is not second
    for tensor in ("x", "w"):
        np.testing.assert_array_equal(first.grads[tensor], second.grads[tensor])
    assert first.page.html() == second.page.html()


def test_a_session_keeps_what_it_ran_with(shell: InteractiveShell) -> None:
    session = net(shell, "--grad loss")
    before = session.page.text()
    values = shell.user_ns["w"].copy()
    shell.user_ns["w"][:] = 99.0
    np.testing.assert_array_equal(session.inputs["w"], values)
    assert session.page.text() == before


def test_another_program_never_mixes_with_an_earlier_view(shell: InteractiveShell) -> None:
    old = net(shell, "--grad loss")
    shell.user_ns["w"] = np.ones((3, 7))
    new = net(shell, "--grad loss", NET.replace("3 by 2", "3 by 7"))
    assert old.grads["w"].shape == (3, 2) and new.grads["w"].shape == (3, 7)
    assert "3 by 2" in old.page.text() and "3 by 7" not in old.page.text()


def test_a_failing_cell_leaves_the_earlier_session(shell: InteractiveShell) -> None:
    old = net(shell)
    fails(shell, f"%%logos net\n{NET}Let z be y matmul y matmul.\n")
    assert shell.user_ns["net"] is old


def test_a_missing_name_or_gradient_is_said_in_a_sentence(shell: InteractiveShell) -> None:
    session = net(shell)
    with pytest.raises(logosnb.LogosError, match="did you mean `loss`"):
        session["los"]
    with pytest.raises(logosnb.LogosError, match="--grad"):
        _ = session.grads


# ---- inputs -----------------------------------------------------------------------------------


def test_every_missing_input_is_listed_with_its_shape(shell: InteractiveShell) -> None:
    del shell.user_ns["x"], shell.user_ns["w"]
    shown = fails(shell, f"%%logos\n{NET}")
    assert "x: 2 by 3, Real" in shown and "w: 3 by 2, Real" in shown and "Traceback" not in shown


def test_a_variable_that_is_no_array_is_named(shell: InteractiveShell) -> None:
    shell.user_ns["w"] = object()
    assert "`w`" in fails(shell, f"%%logos\n{NET}")


def test_optional_tensors_are_taken_where_they_are_arrays(shell: InteractiveShell) -> None:
    body = "Let t be a 1 by 2 tensor of Real.\nSet item 1 of t to item 1 of t + 1.\n"
    shell.user_ns["t"] = "not an array"
    np.testing.assert_array_equal(net(shell, "", body)["t"], [[1, 0]])
    shell.user_ns["t"] = [5.0, 6.0]
    np.testing.assert_array_equal(net(shell, "", body)["t"], [[6, 6]])
    assert shell.user_ns["t"] == [5.0, 6.0]


def test_a_cotangent_that_is_not_there_is_named(shell: InteractiveShell) -> None:
    shell.user_ns["seed"] = np.ones((2, 2))
    assert "did you mean `seed`" in fails(shell, f"%%logos --grad y --cotangent sed\n{NET}")
    body = "Let ct be a 2 by 2 tensor of Real.\n" + NET
    assert "ct: 2 by 2" in fails(shell, f"%%logos --grad y --cotangent ct\n{body}")


# ---- errors -----------------------------------------------------------------------------------


MISTAKE = f"%%logos net\n{NET}Let z be softmx of y.\n"


def test_a_mistake_on_line_6_is_said_to_be_on_line_6(shell: InteractiveShell) -> None:
    lines = fails(shell, MISTAKE).strip().splitlines()
    assert "line 6" in lines[0] and "softmax of y" in lines[0]
    assert lines[1].strip() == "Let z be softmx of y."
    assert set(lines[2].strip()) == {"^"}
    assert len(lines) == 3


def test_empty_lines_above_the_magic_count(kept_shell: InteractiveShell) -> None:
    kept_shell.history_manager.enabled = True
    try:
        assert "line 8" in fails(kept_shell, "\n\n" + MISTAKE)
    finally:
        kept_shell.history_manager.enabled = False


def test_a_fault_at_run_time_shows_its_line(shell: InteractiveShell) -> None:
    shown = fails(shell, f"%%logos\n{NET}Let n be item 9 of y.\n")
    assert "line 6" in shown and "Let n be item 9 of y." in shown and "Traceback" not in shown


@pytest.mark.parametrize("options", ["", "--grad loss", "--grad loss --check"])
@pytest.mark.parametrize("where", ["before", "after"])
def test_a_fault_in_a_function_shows_the_cells_own_line(
    shell: InteractiveShell, options: str, where: str
) -> None:
    function = "## To f (a: Int) -> Int:\n    Let b be 1 / a.\n    Return b.\n"
    main = f"## Main\n{NET}Show f(0).\n"
    body = function + main if where == "before" else main + function
    shown = fails(shell, f"%%logos {options}\n{body}").strip().splitlines()
    line = 3 if where == "before" else 9
    assert shown[0].startswith(f"LogosRuntimeError: line {line}:")
    assert shown[1].strip() == "Let b be 1 / a."


def test_a_refusal_is_a_sentence(shell: InteractiveShell) -> None:
    shown = fails(shell, f"%%logos --grad a\n{NET}Let a be argmax of y.\n")
    assert "no gradient" in shown and "Traceback" not in shown


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--grd loss", "did you mean `--grad`"),
        ("-q", "no option `-q`"),
        ("--grad", "--grad wants a value"),
        ("a b", "`b` is one more"),
        ("2x", "`2x` cannot be the name"),
        ("class", "`class` cannot be the name"),
        ("''", "`` cannot be the name"),
        ("x --quiet", "`x` is an input of this program"),
        ("--wrt x", "add `--grad OUTPUT`"),
        ("--check", "add `--grad OUTPUT`"),
        ("'net", "not well formed"),
        ("--backend gpu", "gpu"),
        ("--dtype f16", "f16"),
        ("--grad nothing", "nothing"),
        ("--grad y", "1 by 1"),
    ],
)
def test_a_wrong_option_is_one_sentence(shell: InteractiveShell, options: str, said: str) -> None:
    shown = fails(shell, f"%%logos {options}\n{NET}")
    assert said in shown and "Traceback" not in shown and "usage" not in shown
    assert len(shown.strip().splitlines()) == 1


def test_the_options_read() -> None:
    found = read_options(
        "net --grad y --wrt a,b --cotangent c --check --quiet --no-graph --dtype f64"
    )
    assert (found.name, found.grad, found.wrt, found.cotangent) == ("net", "y", ("a", "b"), "c")
    assert found.check and found.quiet and not found.graph and found.dtype == "f64"


def test_the_help_says_every_option(kept_shell: InteractiveShell) -> None:
    text = kept_shell.magics_manager.magics["cell"]["logos"].__doc__
    assert all(name in text for name in NAMES)


def test_an_interrupt_passes_as_one_line(
    shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*given: Any, **named: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("logosnb.notebook.cell.check", interrupted)
    result, captured = run(shell, f"%%logos net --grad loss --check\n{NET}")
    assert isinstance(result.error_in_exec, KeyboardInterrupt)
    shown = captured.stdout.strip().splitlines()
    assert shown[-1] == "Interrupted: the program was stopped before its end"
    assert "Traceback" not in captured.stdout and "get_ipython" not in captured.stdout


# ---- Tab --------------------------------------------------------------------------------------


def tab(shell: InteractiveShell, text: str) -> list[str]:
    with provisionalcompleter():
        return [c.text for c in shell.Completer.completions(text, len(text))]


HEAD = """\
%%logos net --grad loss
Let x be a 2 by 3 tensor of Real.
Let weights be a 3 by 2 tensor of Real.
"""


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("Let y be soft", "softmax of "),
        ("Let y be softmax o", "of "),
        ("Let y be softmax of w", "weights"),
        ("Let y be x mat", "matmul "),
        ("Let y be x matmul ", "weights"),
        ("Let y be silu of (x mat", "matmul "),
        ("Let y be silu of (x matmul weights) pl", None),
        ("Let y be (x matmul weights) pl", "plus "),
        ("Let y be layernorm of x w", "with weight "),
        ("Let y be layernorm of x with weight weights an", "and bias "),
        ("Let z be 5. Let y be soft", "softmax of "),
        ("Let mutable y be soft", "softmax of "),
        ("Le", "Let "),
        ("Show we", "weights"),
        ("Set ro", "rows from "),
        ("Set rows from 1 of we", "weights"),
        ("Set rows from 1 of x t", "to "),
        ("Let q be a 4 b", "by "),
        ("Let q be a 4 by 3 t", "tensor of Real."),
        ("# soft", None),
        ('Show "we', None),
    ],
)
def test_tab_in_the_body(shell: InteractiveShell, typed: str, offered: str | None) -> None:
    found = tab(shell, HEAD + typed)
    ours = choices(HEAD + typed, 3, len(typed))
    if offered is None:
        assert ours.texts == ()
    else:
        assert offered in found and found == list(ours.texts)
        assert typed.endswith(ours.fragment) and offered.startswith(ours.fragment)


def test_every_phrase_is_offered_by_its_first_word(shell: InteractiveShell) -> None:
    for op in TABLE.values():
        for phrase in op.phrases:
            start = re.split(r" ?[\[{]", phrase)[0]
            if not start:
                continue  # begins with an operand
            before = "" if start.startswith("Set ") else "Let y be "
            typed = before + start.split()[0] + (" " if before == "" else "")
            wanted = start.removeprefix("Set ").strip() if before == "" else start.strip()
            assert any(t.startswith(wanted) for t in tab(shell, HEAD + typed)) or wanted in typed


def test_tab_on_the_first_line(shell: InteractiveShell) -> None:
    assert tab(shell, "%%logos net --g") == ["--grad ", "--graph "]
    assert "--cotangent " in tab(shell, "%%logos --c")
    body = "\nLet x be a 2 by 3 tensor of Real.\nLet loss be sum of x.\n"
    assert choices("%%logos --grad lo" + body, 0, 17).texts == ("loss",)
    assert choices("%%logos --grad loss --wrt loss,x" + body, 0, 31).fragment == ""
    assert "x" in choices("%%logos --grad loss --wrt loss," + body, 0, 31).texts
    assert tab(shell, "%logos_ops Softm") == ["Softmax"]
    assert tab(shell, "%logos_ops softm") == ["softmax"]


@pytest.mark.parametrize(
    "cell", ["Le", "y = soft", "%%time\nLet y be soft", "%%logos_x\nLet y be soft", ""]
)
def test_other_cells_get_nothing(cell: str) -> None:
    lines = cell.split("\n")
    assert choices(cell, len(lines) - 1, len(lines[-1])).texts == ()


# ---- the extension ----------------------------------------------------------------------------


def test_loading_twice_adds_nothing_and_unloading_takes_all_away(shell: InteractiveShell) -> None:
    from logosnb.notebook.extension import load, unload

    def ours() -> int:
        matchers = shell.Completer.custom_matchers
        return [getattr(m, "matcher_identifier", "") for m in matchers].count("logosnb.completion")

    load(shell)
    load(shell)
    assert ours() == 1
    unload(shell)
    assert ours() == 0 and "logos" not in shell.magics_manager.magics["cell"]
    load(shell)
    assert "logos" in shell.magics_manager.magics["cell"]


# ---- %logos_ops -------------------------------------------------------------------------------


def test_the_reference_has_every_op_whole() -> None:
    text, html = str(Reference.about()), Reference.about()._repr_html_()
    for op in TABLE.values():
        assert op.name in text and f"<b>{op.name}</b>" in html
        for phrase in op.phrases:
            assert readable(phrase) in text
        for example in op.examples:
            assert example.statement in text
    assert not any("{" in readable(phrase) for op in TABLE.values() for phrase in op.phrases)


@pytest.mark.parametrize(
    ("phrase", "read"),
    [
        ("softmax of {x}", "softmax of x"),
        ("{x} scaled by {factor}", "x scaled by factor"),
        ("a of {q} across {heads} heads [sharing {key_heads} key heads]", None),
        (
            "{x} [with epsilon {epsilon}] [from position {position}]",
            "x [with epsilon e] [from position p]",
        ),
    ],
)
def test_phrases_read_without_saying_a_word_twice(phrase: str, read: str | None) -> None:
    assert readable(phrase) == (read or "a of q across H heads [sharing K key heads]")


def test_a_word_narrows_the_reference(shell: InteractiveShell) -> None:
    result, _ = run(shell, "%logos_ops softmax")
    assert [op.name for op in result.result.ops] == ["Softmax"]
    assert "worked example" in result.result._repr_html_()
    assert len(Reference.about("sums").ops) >= 2
    assert "did you mean" in fails(shell, "%logos_ops sofmax")


# ---- kernels in a cell --------------------------------------------------------------------------


def test_a_cell_on_the_cpu_backend_has_the_interpreters_values(shell: InteractiveShell) -> None:
    expected, found = net(shell, "--grad loss"), net(shell, "--grad loss --backend cpu")
    np.testing.assert_allclose(found["loss"], expected["loss"], rtol=1e-12)
    for name, gradient in expected.grads.items():
        np.testing.assert_allclose(found.grads[name], gradient, rtol=1e-12)


def test_a_check_on_the_cpu_backend_compares_both(shell: InteractiveShell) -> None:
    report = net(shell, "--grad loss --check --backend cpu").report
    assert report is not None and report.ok
    assert {row.backend for row in report.rows} == {"interpreter", "cpu"}


def test_what_is_being_compiled_is_shown_and_then_how_long_it_took() -> None:
    lines: list[str] = []

    class Handle:
        def update(self, line: Line) -> None:
            lines.append(line.text)

    def show(line: Line) -> Handle:
        lines.append(line.text)
        return Handle()

    progress = Progress(show)
    progress.kernel(1, 2, "Softmax")
    assert not lines, "nothing is said of what is quick"
    progress._start -= 10
    progress.kernel(2, 2, "Matmul")
    progress.done(2)
    assert lines[0] == "compiling kernel 2 of 2: Matmul …"
    assert lines[1].startswith("compiled 2 kernels in 10.")


def test_a_compile_that_is_interrupted_leaves_no_half_written_cache(tmp_path) -> None:
    """C37: the next run works, in the same process and in the next."""
    code = (
        "import threading, signal, numpy as np, logosnb\n"
        "text = 'Let x be a 9 by 9 tensor of Real. Let y be softmax of x. Let z be layernorm of y.'\n"
        "threading.Timer(0.9, signal.raise_signal, [signal.SIGINT]).start()\n"
        "try:\n"
        "    while True: logosnb.compile(text.replace('9', str(np.random.randint(2, 90))), "
        "dtype=np.random.choice(['f32', 'f64']))\n"
        "except KeyboardInterrupt: print('stopped')\n"
        "print(logosnb.run(text, {'x': np.ones((9, 9))}, backend='cpu')['y'].sum().round(6))\n"
    )
    import os
    import subprocess
    import sys

    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    for _ in range(2):
        found = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True
        )
        assert found.stdout.split() == ["stopped", "9.0"], found.stderr
