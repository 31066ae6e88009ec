"""What is passed in: any real dtype, order and strides; what cannot serve is named."""

from __future__ import annotations

import numpy as np
import pytest

import logosnb

SQUARE = "Let x be a 4 by 2 tensor of Real.\nLet y be square of x.\n"
BASE = np.arange(16.0).reshape(8, 2)

VIEWS = {
    "fortran": np.asfortranarray(BASE[:4]),
    "transposed": np.ascontiguousarray(BASE[:4].T).T,
    "strided": BASE[::2],
    "reversed": BASE[3::-1],
    "stride 0": np.broadcast_to(1.5, (4, 2)),
    "big endian": BASE[:4].astype(">f8"),
    "float16": BASE[:4].astype(np.float16),
    "float32": BASE[:4].astype(np.float32),
    "long double": BASE[:4].astype(np.longdouble),
    "int8": BASE[:4].astype(np.int8),
    "uint64": BASE[:4].astype(np.uint64),
    "bool": BASE[:4] > 2,
    "list": BASE[:4].tolist(),
}


@pytest.mark.parametrize("name", VIEWS)
def test_an_array_is_read_as_what_it_says(name: str) -> None:
    """C27, C28, C29: as input and as cotangent, the same as its contiguous f64 copy."""
    value = VIEWS[name]
    plain = np.ascontiguousarray(np.asarray(value), dtype=np.float64)
    found = logosnb.grad(SQUARE, {"x": value}, of="y", cotangent=value)
    np.testing.assert_array_equal(found.value, plain**2)
    np.testing.assert_array_equal(found.grads["x"], 2 * plain * plain)


def test_unsigned_numbers_do_not_wrap() -> None:
    """C28: uint8 [5, 4]: x₂ − x₁ is −1, not 255."""
    text = """Let x be a 1 by 2 tensor of Real.
Let a be columns 1 through 1 of every 2 of x.
Let b be columns 2 through 2 of every 2 of x.
Let d be b minus a.
"""
    assert logosnb.run(text, {"x": np.array([5, 4], dtype=np.uint8)})["d"] == [[-1.0]]
    assert logosnb.grad(
        "Let x be a 1 by 1 tensor of Real.\nLet y be square of x.\n", {"x": 8}, of="y"
    ).grads["x"] == [[16.0]]


def test_inputs_are_never_written_to() -> None:
    text = """Let t be a 2 by 2 tensor of Real.
Let x be a 1 by 2 tensor of Real.
Set row 1 of t to x.
Set item 4 of t to 9.0.
"""
    t, x = np.zeros((2, 2)), np.ones((1, 2))
    t.flags.writeable = False
    result = logosnb.run(text, {"t": t, "x": x})
    np.testing.assert_array_equal(result["t"], [[1.0, 1.0], [0.0, 9.0]])
    assert not t.any() and not np.shares_memory(result["x"], x)


def test_missing_inputs_are_all_listed_with_their_shapes() -> None:
    text = """Let x be a 2 by 3 tensor of Real.
Let t be a 2 by 1 tensor of Int.
Let loss be cross entropy of x with targets t.
"""
    with pytest.raises(logosnb.InputError) as error:
        logosnb.run(text)
    assert "x: 2 by 3, Real" in str(error.value) and "t: 2 by 1, Int" in str(error.value)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (np.ones((2, 4)), ["`x`", "declared 4 by 2", "2 by 4", "x.T"]),
        (np.ones(8), ["`x`", "1 by 8"]),
        (np.ones((4, 2)) * 1j, ["`x`", "complex"]),
        (np.array([[None, 1]] * 4), ["`x`", "objects"]),
        ([[1.0], [1.0, 2.0]], ["`x`"]),
        ("text", ["`x`", "text"]),
    ],
)
def test_what_cannot_serve_is_named(value, words) -> None:
    with pytest.raises(logosnb.LogosError) as error:
        logosnb.run(SQUARE, {"x": value})
    assert all(word in str(error.value) for word in words), str(error.value)


@pytest.mark.parametrize(
    "value",
    [[[np.nan], [1]], [[1.5], [1]], [[np.inf], [1]], np.array([[2**64 - 1], [1]], np.uint64)],
)
def test_a_tensor_of_int_takes_whole_numbers_alone(value) -> None:
    text = "Let t be a 2 by 1 tensor of Int.\nLet y be relu of t.\n"
    with pytest.raises(logosnb.InputError, match="`t` is a tensor of Int"):
        logosnb.run(text, {"t": value})
    assert logosnb.run(text, {"t": [[2.0], [-1.0]]})["y"].tolist() == [[2], [0]]


def test_a_name_that_is_not_declared_is_an_error_with_the_likely_one() -> None:
    with pytest.raises(logosnb.InputError, match="did you mean `x`"):
        logosnb.run(SQUARE, {"X": np.ones((4, 2))})
    with pytest.raises(logosnb.InputError, match="computed by the program"):
        logosnb.run(SQUARE, {"x": np.ones((4, 2)), "y": np.ones((4, 2))})


def test_a_cotangent_is_needed_unless_the_output_is_one_number() -> None:
    with pytest.raises(logosnb.LogosError, match="give a cotangent"):
        logosnb.grad(SQUARE, {"x": np.ones((4, 2))}, of="y")
    with pytest.raises(logosnb.ShapeError, match="cotangent"):
        logosnb.grad(SQUARE, {"x": np.ones((4, 2))}, of="y", cotangent=np.ones((3, 3)))


def test_unknown_backend_and_dtype_are_sentences() -> None:
    with pytest.raises(logosnb.LogosError, match='no backend "gpu"'):
        logosnb.run(SQUARE, {"x": np.ones((4, 2))}, backend="gpu")
    with pytest.raises(logosnb.LogosError, match="f64"):
        logosnb.run(SQUARE, {"x": np.ones((4, 2))}, dtype="f32")


class Unwilling:
    """Stands for an object whose own conversion fails, a tensor on another device for one."""

    def __array__(self, *_: object, **__: object) -> np.ndarray:
        raise RuntimeError("copy it to the host first")


HOLED = np.ma.masked_array([[1.0, 2.0]], [[False, True]])
TWO_BY_ONE = "Let x be a 1 by 2 tensor of Real.\nLet y be x scaled by 2.\n"


@pytest.mark.parametrize(
    ("value", "words"), [(HOLED, "masked elements"), (Unwilling(), "copy it to the host first")]
)
def test_an_array_whose_elements_cannot_be_had_is_named_with_the_reason(value, words) -> None:
    with pytest.raises(logosnb.InputError, match=words) as error:
        logosnb.run(TWO_BY_ONE, {"x": value})
    assert "`x`" in str(error.value)


def test_a_masked_array_without_a_masked_element_is_an_array() -> None:
    given = np.ma.masked_array([[1.0, 2.0]])
    np.testing.assert_array_equal(logosnb.run(TWO_BY_ONE, {"x": given})["y"], [[2.0, 4.0]])


@pytest.mark.parametrize("inputs", [[1.0], "x", np.eye(2), {1: [1.0, 2.0]}, {None: 1.0}])
def test_inputs_that_are_no_arrays_by_name_are_an_error_in_words(inputs) -> None:
    for call in (logosnb.run, lambda *given: logosnb.grad(*given, of="y", cotangent=[1.0, 1.0])):
        with pytest.raises(logosnb.InputError, match="arrays by name"):
            call(TWO_BY_ONE, inputs)


@pytest.mark.parametrize("program", [3, None, b"Show 1."])
def test_what_is_no_program_is_an_error_in_words(program) -> None:
    with pytest.raises(logosnb.LogosError, match="a program is"):
        logosnb.run(program)
    with pytest.raises(logosnb.LogosError, match="a program is"):
        logosnb.backward(program, "y", "ct", ["x"])


def test_the_ends_of_64_bits_go_into_a_tensor_of_int() -> None:
    text = "Let n be a 1 by 1 tensor of Int.\nLet m be copy of n.\n"
    for value in (np.array([[-(2.0**63)]]), np.array([[2**63 - 1]]), np.float16([[60000]])):
        assert int(logosnb.run(text, {"n": value})["m"][0, 0]) == int(value[0, 0])
