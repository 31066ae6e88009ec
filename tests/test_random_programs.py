"""Random programs: ops chained, branched, tensors read twice, rows set; derived gradients against
central differences, and the text of every program read back."""

from __future__ import annotations

import numpy as np
from checked import check
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import logosnb

ROWS, COLUMNS = 3, 4
UNARY = [
    "sigmoid of {a}", "silu of {a}", "gelu of {a}", "tanh of {a}", "square of {a}",
    "{a} scaled by -0.5", "{a} softcapped at 3.0", "softmax of {a}", "rmsnorm of {a}",
    "layernorm of {a}", "l2norm of {a} with epsilon 0.01", "leaky square of {a}",
    "rmsnorm of {a} with residual {b}", "rmsnorm of {a} with weight row",
    "layernorm of {a} with weight row and bias row", "transpose of (transpose of {a})",
    "columns 1 through 4 of every 4 of {a}", "exponential of (tanh of {a})",
    "logarithm of (sigmoid of {a})", "square root of (sigmoid of {a})",
]  # fmt: skip
BINARY = [
    "{a} plus {b}", "{a} minus {b}", "{a} hadamard {b}", "swiglu of {a} and {b}",
    "{a} plus row", "{a} hadamard column", "{a} minus one", "{a} matmul square_weight",
    "{a} hadamard (row sums of {b})", "{a} plus (column sums of {b})", "{a} hadamard (mean of {b})",
    "full attention of {a} over {b} and {a} across 2 heads",
    "attention of {a} over {b} and {b} across 2 heads from position 1",
    "rows picks of {a}", "row 2 of {a}",
]  # fmt: skip
HEAD = f"""Let x be a {ROWS} by {COLUMNS} tensor of Real.
Let z be a {ROWS} by {COLUMNS} tensor of Real.
Let row be a 1 by {COLUMNS} tensor of Real.
Let column be a {ROWS} by 1 tensor of Real.
Let one be a 1 by 1 tensor of Real.
Let square_weight be a {COLUMNS} by {COLUMNS} tensor of Real.
Let picks be a {ROWS} by 1 tensor of Int.
"""
WRT = ["x", "z", "row", "column", "one", "square_weight"]


@st.composite
def programs(draw) -> str:
    full, lines, single = ["x", "z"], [], []
    for number in range(draw(st.integers(1, 6))):
        phrase = draw(st.sampled_from(UNARY + BINARY))
        names = {"a": draw(st.sampled_from(full)), "b": draw(st.sampled_from(full))}
        lines.append(f"Let t{number} be {phrase.format(**names)}.")
        (single if phrase.startswith("row 2") else full).append(f"t{number}")
        if single and draw(st.booleans()):
            computed = [name for name in full if name.startswith("t")]
            if computed:
                into = draw(st.sampled_from(computed))
                lines.append(f"Set row {draw(st.integers(1, ROWS))} of {into} to {single[-1]}.")
    lines.append(f"Let out be {draw(st.sampled_from(full))} plus {draw(st.sampled_from(full))}.")
    return HEAD + "\n".join(lines) + "\n"


def inputs(seed: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    shapes = {"x": (3, 4), "z": (3, 4), "row": (1, 4), "column": (3, 1), "one": (1, 1)}
    given = {name: random.uniform(0.3, 1.3, shape) for name, shape in shapes.items()}
    given["square_weight"] = random.uniform(-0.5, 0.5, (4, 4))
    return {**given, "picks": random.integers(1, 4, (3, 1))}


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs(), st.integers(0, 10_000))
def test_derived_gradients_agree_with_central_differences(text: str, seed: int) -> None:
    program = logosnb.parse(text)
    wanted = [name for name in WRT if name in program.inputs]
    if not wanted:
        return
    given = {n: v for n, v in inputs(seed).items() if n in program.declared}
    try:
        report = check(program, given, of="out", wrt=wanted, seed=seed)
    except logosnb.Overwritten:
        assert "Set row" in text  # refused, never answered wrongly
        return
    assert report.ok, f"seed {seed}\n{text}\n{report}"


@settings(max_examples=60, deadline=None)
@given(programs())
def test_a_program_is_read_back_as_it_was_printed(text: str) -> None:
    program = logosnb.parse(text)
    assert logosnb.parse(str(program)) == program


@settings(max_examples=20, deadline=None)
@given(programs())
def test_the_derived_program_is_the_same_on_every_run_and_reads_back(text: str) -> None:
    text += f"Let ct be a {ROWS} by {COLUMNS} tensor of Real.\n"
    try:
        first = logosnb.backward(text, "out", "ct", WRT)
    except logosnb.Overwritten:
        return
    assert first.source == logosnb.backward(text, "out", "ct", WRT).source
    assert len(first.origins) == len(first.source.splitlines())
    assert logosnb.parse(str(first.program)) == first.program
