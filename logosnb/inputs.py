"""What a caller passes in, made into the tensors that a program declares.

In: any array-like by name and the program. Out: 2-D, C-contiguous float64 or int64 arrays, or an
error that names the tensor. Nothing is written to what was passed in. May not know: backends.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from logosnb.language.errors import InputError, LogosError, ShapeError
from logosnb.language.words import closest
from logosnb.stages.program import Program
from logosnb.stages.stage import Declaration

Array = np.ndarray[Any, Any]


def prepared(
    program: Program, inputs: Mapping[str, Any] | None, dtype: str = "f64"
) -> dict[str, Array]:
    """Every supplied tensor as an array of its declared shape and kind, Reals in the dtype.

    Raises InputError for what is missing, unknown or unusable, and ShapeError for a wrong shape.
    """
    if _all_ready(program, inputs, dtype):
        return inputs  # type: ignore[return-value]
    given = named(inputs)
    for name in given:
        if name not in program.declared:
            raise InputError(_not_declared(program, name))
    missing = [program.declared[name] for name in program.inputs if name not in given]
    if missing:
        raise InputError(missing_sentence(missing))
    return {n: as_tensor(value, program.declared[n], dtype) for n, value in given.items()}


def named(inputs: Mapping[str, Any] | None) -> dict[str, Any]:
    """What was passed in, by name; InputError where it is no mapping from names."""
    if inputs is None:
        return {}
    if not isinstance(inputs, Mapping):
        kind = type(inputs).__name__
        raise InputError(
            f"inputs are arrays by name, {{'x': …}}, and a value of type {kind} is none"
        )
    for name in inputs:
        if not isinstance(name, str):
            raise InputError(f"inputs are arrays by name, and {name!r} is no name of a tensor")
    return dict(inputs)


def missing_sentence(missing: list[Declaration]) -> str:
    """What is missing and which shapes are wanted."""
    listed = "\n".join(f"    {d.name}: {d.shape}, {d.kind}" for d in missing)
    return f"these inputs are missing; give each an array of its shape:\n{listed}"


def _not_declared(program: Program, name: str) -> str:
    if name in program.shapes:
        return f"`{name}` is computed by the program, so it cannot be supplied"
    near = closest(name, list(program.declared))
    hint = f"; did you mean `{near}`?" if near else ""
    return f"the program declares no tensor `{name}`{hint}"


def as_tensor(value: Any, wanted: Declaration, dtype: str = "f64") -> Array:
    """`value` as a 2-D C-contiguous array, int64 for Int, else in the dtype; a 1-D one is one row."""
    array = _real_array(value, wanted.name)
    if array.ndim < 2:
        array = array.reshape(1, -1)
    if array.shape != wanted.shape:
        raise ShapeError(_shape_sentence(array, wanted))
    if wanted.kind == "Int":
        _require_whole(array, wanted.name)
    with np.errstate(over="ignore"):  # beyond f32 is infinite in f32
        return np.ascontiguousarray(array, dtype=dtype_of(wanted.kind, dtype))


DTYPES: dict[str, np.dtype[Any]] = {"f64": np.dtype(np.float64), "f32": np.dtype(np.float32)}
WHOLE: np.dtype[Any] = np.dtype(np.int64)


def dtype_of(kind: str, dtype: str) -> np.dtype[Any]:
    """What a tensor of a kind holds where Reals are of the dtype."""
    return WHOLE if kind == "Int" else DTYPES[dtype]


def _all_ready(program: Program, inputs: Mapping[str, Any] | None, dtype: str) -> bool:
    """Whether the inputs are already what `prepared` makes: in a loop of small steps, looking counts."""
    if type(inputs) is not dict or len(inputs) != len(program.inputs):
        return False
    for name, shape, wanted in _wanted(program, dtype):
        value = inputs.get(name)
        if type(value) is not np.ndarray or value.dtype != wanted or value.shape != shape:
            return False
        if not value.flags.c_contiguous:
            return False
    return True


def _wanted(program: Program, dtype: str) -> list[tuple[str, tuple[int, int], np.dtype[Any]]]:
    """Name, shape and dtype of each input, kept with the program."""
    key = ("wanted inputs", dtype)
    if key not in program.memo:
        found = [program.declared[name] for name in program.inputs]
        program.memo[key] = [(d.name, tuple(d.shape), dtype_of(d.kind, dtype)) for d in found]
    kept: list[tuple[str, tuple[int, int], np.dtype[Any]]] = program.memo[key]
    return kept


def _real_array(value: Any, name: str) -> Array:
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise InputError(f"`{name}` has masked elements: fill them first, {name}.filled(…)")
    try:
        array = np.asarray(value)
    except Exception as error:  # NumPy's own, or whatever the object's conversion raises
        raise InputError(_no_array(value, name, error)) from None
    if array.dtype.kind not in "fiub":
        raise InputError(f"`{name}` holds {_contents(array)}, and a tensor holds real numbers")
    return array


def _no_array(value: Any, name: str, error: Exception) -> str:
    if isinstance(value, list | tuple):
        return f"`{name}` is not an array: its rows differ in length"
    return f"`{name}`, a {type(value).__name__}, does not become an array: {error}"


def _contents(array: Array) -> str:
    names = {"c": "complex numbers", "O": "Python objects", "U": "text", "S": "bytes"}
    return names.get(array.dtype.kind, str(array.dtype))


def _shape_sentence(array: Array, wanted: Declaration) -> str:
    given = " by ".join(map(str, array.shape))
    sentence = f"`{wanted.name}` is declared {wanted.shape}, and the array given is {given}"
    if array.shape == wanted.shape[::-1]:
        sentence += f"; pass its transpose, {wanted.name}.T"
    return sentence


def _require_whole(array: Array, name: str) -> None:
    """Whole numbers that 64 bits hold."""
    if array.dtype.kind == "f":
        if np.isnan(array).any():
            raise InputError(f"`{name}` is a tensor of Int, and the array given has NaN in it")
        wide = array.astype(np.longdouble)
        whole = (wide == np.floor(wide)) & (wide >= -(2.0**63)) & (wide < 2.0**63)
    else:
        whole = array <= np.uint64(2**63 - 1) if array.dtype.kind == "u" else np.array([True])
    if not whole.all():
        raise InputError(
            f"`{name}` is a tensor of Int, and the array given has numbers in it that are not whole"
            " or need more than 64 bits"
        )


def cotangent_for(program: Program, of: str, cotangent: Any, dtype: str = "f64") -> Array:
    """The cotangent of output `of`: as given, or one where the output is 1 by 1."""
    shape = program.shapes[of]
    if cotangent is None:
        if shape != (1, 1):
            raise LogosError(
                f"`{of}` is {shape}: give a cotangent of that shape, or a program that ends in a "
                f"1 by 1 loss; only a 1 by 1 output has a cotangent of itself, 1"
            )
        return np.ones((1, 1))
    return as_tensor(cotangent, Declaration("cotangent", shape, "Real", 0), dtype)
