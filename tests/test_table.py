"""The op table walked: every op has all its parts, and its parts agree with one another."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from checked import check
from examples import CASES, IDS, arrays, expansion_text, output_name, program_text

import logosnb
from logosnb.ops.op import NOT_DERIVED, NoGradient
from logosnb.ops.phrase import elements, holes, required_holes
from logosnb.ops.table import TABLE
from logosnb.ops.template import guarded, hole_names

OPS = list(TABLE.values())
EVERY = """Matmul Plus Minus Hadamard Scale Transpose Softmax RmsNorm LayerNorm Sigmoid Silu Gelu Relu
SwiGlu LeakySquare Softcap L2Norm Tanh Exp Log Sqrt Square Sum Mean RowSums ColumnSums RowGather
RowsGather ArgMax CrossEntropy SquaredError Rope Attention FullAttention SetRow HeadSlice Join
HeadMatmul Decay CausalConv GatedDelta Moe Mlp IntRequant IntClamp LutAttention""".split()


def test_every_op_of_the_language_is_there() -> None:
    assert set(EVERY) <= set(TABLE)


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_an_op_has_all_its_parts(op) -> None:
    assert op.about.strip() and op.formula.strip() and op.examples
    assert op.expansion.strip()
    adjoint = op.adjoint
    assert isinstance(adjoint, NoGradient) or adjoint == NOT_DERIVED or dict(adjoint)
    every = {hole for phrase in op.phrases for hole in holes(phrase)}
    texts = [op.expansion, *(adjoint.values() if hasattr(adjoint, "values") else [])]
    present = every | {f"d{hole}" for hole in every}
    kept = [guarded(text, present) for text in texts]
    for name in {n.split(".")[0] for text in kept for n in hole_names(text)}:
        base = name[1:] if name.startswith("d") and name[1:] in every | {"y"} else name
        assert base in every | {"y"} or name in _sizes(op), f"{op.name}: hole {name}"


def _sizes(op) -> set[str]:
    """The names that `sizes` supplies, read off by giving it the first example's stage."""
    from logosnb.gradient.sweep import stage_values

    program = logosnb.parse(program_text(op, op.examples[0]))
    return set(stage_values(program.stages[-1], program.shapes, program.kinds))


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_every_clause_has_a_worked_example(op) -> None:
    for phrase in op.phrases:
        for hole in set(holes(phrase)) - set(required_holes(phrase)):
            words = [re.sub(r"[{}]", "", w) for w in _clause_words(phrase, hole)]
            used = any(all(w in e.statement.split() for w in words) for e in op.examples)
            assert used, f"no example of {op.name} uses [{' '.join(words)} {{{hole}}}]"


def _clause_words(phrase: str, hole: str) -> list[str]:
    for element in elements(phrase):
        for choice in getattr(element, "choices", ()):
            if any(getattr(e, "name", None) == hole for e in choice):
                fixed = [e.word for e in choice if hasattr(e, "word")]
                return [w for w in fixed if w not in ("with", "and", "heads")]
    return []


@pytest.mark.parametrize(("op", "example"), [c[1:] for c in CASES], ids=IDS)
def test_worked_example_forward(op, example) -> None:
    result = logosnb.run(program_text(op, example), arrays(op, example))
    np.testing.assert_allclose(
        result[output_name(op, example)], np.array(example.value), rtol=1e-6, atol=1e-9
    )


@pytest.mark.parametrize(("op", "example"), [c[1:] for c in CASES], ids=IDS)
def test_worked_example_backward(op, example) -> None:
    text, of = program_text(op, example), output_name(op, example)
    if isinstance(op.adjoint, NoGradient):
        wrt = list(example.inputs)
        with pytest.raises(logosnb.NoGradient) as refusal:
            logosnb.grad(
                text, arrays(op, example), of=of, wrt=wrt, cotangent=np.array(example.value)
            )
        assert refusal.value.op == op.name and refusal.value.why
        return
    if op.adjoint == NOT_DERIVED:
        with pytest.raises(logosnb.NotDerived) as refused:
            logosnb.grad(
                text, arrays(op, example), of=of, cotangent=np.ones_like(np.array(example.value))
            )
        assert refused.value.op == op.name
        return
    if op.name == "Relu" and not example.grads:
        return  # the integer op, refused in test_gradient
    assert example.grads, "an op with a rule shows its gradient"
    found = logosnb.grad(
        text, arrays(op, example), of=of, wrt=list(example.grads), cotangent=example.cotangent
    )
    for name, expected in example.grads.items():
        np.testing.assert_allclose(
            found.grads[name], np.array(expected), rtol=1e-6, atol=1e-9, err_msg=name
        )


@pytest.mark.parametrize(("op", "example"), [c[1:] for c in CASES], ids=IDS)
def test_expansion_agrees_with_meaning(op, example) -> None:
    of, seed = output_name(op, example), 11
    given = arrays(op, example)
    for inputs in (given, nearby(given, seed)):
        meant = logosnb.run(program_text(op, example), inputs)[of]
        expanded = logosnb.run(expansion_text(op, example), inputs)[of]
        np.testing.assert_allclose(expanded, meant, rtol=1e-10, atol=1e-12, err_msg=f"seed {seed}")


@pytest.mark.parametrize(
    ("op", "example"),
    [c[1:] for c in CASES if c[2].grads],
    ids=[i for i, c in zip(IDS, CASES) if c[2].grads],
)
def test_derived_gradient_agrees_with_central_differences(op, example) -> None:
    seed = 5
    inputs = nearby(arrays(op, example), seed)
    wrt = [name for name in example.grads if name in example.inputs]
    report = check(
        program_text(op, example), inputs, of=output_name(op, example), wrt=wrt, seed=seed
    )
    assert report.ok, f"seed {seed}\n{report}"


@pytest.mark.parametrize(
    ("op", "example"),
    [c[1:] for c in CASES if c[2].grads],
    ids=[i for i, c in zip(IDS, CASES) if c[2].grads],
)
def test_a_rule_is_right_whatever_the_program_calls_its_tensors(op, example) -> None:
    """The program uses every name that the op's texts bind for themselves."""
    own = sorted(set(re.findall(r"(?:Let(?: mutable)?|Repeat for) (\w+) ", _texts(op))))
    clash = "\n".join(f"Let {name} be 7." for name in own if name not in example.inputs)
    inputs = arrays(op, example)
    text, of = program_text(op, example), output_name(op, example)
    wrt = list(example.grads)
    plain = logosnb.grad(text, inputs, of=of, wrt=wrt, cotangent=example.cotangent)
    clashing = logosnb.grad(f"{text}{clash}\n", inputs, of=of, wrt=wrt, cotangent=example.cotangent)
    for name in wrt:
        np.testing.assert_array_equal(plain.grads[name], clashing.grads[name], err_msg=name)
    assert {clashing.result[name] for name in own if name in clashing.result} <= {7}


def _texts(op) -> str:
    return "\n".join(op.adjoint.values())


def nearby(given: dict[str, np.ndarray], seed: int) -> dict[str, np.ndarray]:
    """The Real tensors moved to generic positive points, so that no kink or tie is met."""
    random = np.random.default_rng(seed)
    return {
        name: value if value.dtype.kind == "i" else random.uniform(0.2, 1.2, value.shape)
        for name, value in given.items()
    }


def test_adding_an_elementwise_op_touches_one_file() -> None:
    """No file but the op's own names the op (tests and prose aside)."""
    root = Path(logosnb.__file__).parent
    naming = [
        path.relative_to(root)
        for path in root.rglob("*.py")
        if re.search(r"\b(Softcap|Gelu|LeakySquare)\b", path.read_text())
    ]
    assert [str(path) for path in naming] == ["ops/elementwise.py"]
