"""Seqs, Texts and tensors of a running program: their items, where no direct access will do.

In: a value, indices that count from one, and the value's name for a sentence. Out: items and new
lists, or a Fault. May not know: trees.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from logosnb.interpreter.arithmetic import whole
from logosnb.interpreter.fault import Fault
from logosnb.interpreter.values import as_type, copied, equal, kind
from logosnb.language.errors import ShapeError
from logosnb.language.tree import INT, REAL

Array = np.ndarray[Any, Any]


def flat(array: Array) -> memoryview:
    """The elements in row-major order, shared with the array: Python numbers at the price of a
    list's, where items of the array itself would be NumPy scalars."""
    return array.reshape(-1).data


def zeros(rows: int, columns: int, element: str) -> Array:
    return np.zeros((rows, columns), dtype=np.int64 if element == "Int" else np.float64)


def item(sequence: Any, index: Any, name: str) -> Any:
    """`item index of sequence`, the item itself, not a copy."""
    at = position(sequence, index, name)
    return sequence.reshape(-1)[at].item() if isinstance(sequence, np.ndarray) else sequence[at]


def position(sequence: Any, index: Any, name: str) -> int:
    """The place, from zero, of item `index`."""
    size = length(sequence, f"`item` of {name}")
    if not 1 <= whole(index, "an index is") <= size:
        raise Fault(out_of_range(sequence, index, name))
    return int(index) - 1


def out_of_range(sequence: Any, index: int, name: str) -> str:
    """The sentence for an index outside 1 … size."""
    if isinstance(sequence, np.ndarray):
        rows, columns = sequence.shape
        return (
            f"item {index} of {name}: {name} is {rows} by {columns} and has {sequence.size} items"
        )
    word = "character" if isinstance(sequence, str) else "item"
    size = len(sequence)
    return f"item {index} of {name}: {name} has {size} {word}{'s' * (size != 1)}"


def set_item(sequence: Any, index: Any, value: Any, name: str) -> None:
    """`Set item index of sequence to value.`"""
    if isinstance(sequence, str):
        raise Fault(f"{name} is a Text, and the characters of a Text cannot be set")
    at = position(sequence, index, name)
    if isinstance(sequence, np.ndarray):
        element = INT if sequence.dtype.kind == "i" else REAL
        flat(sequence)[at] = as_type(value, element, f"an item of {name} takes")
    else:
        sequence[at] = value


def length(sequence: Any, what: str = "`length of`") -> int:
    """Items of a Seq, characters of a Text, elements of a tensor."""
    if isinstance(sequence, np.ndarray):
        return int(sequence.size)
    if not isinstance(sequence, list | str):
        raise Fault(f"{what} needs a Seq, a Text or a tensor, not {kind(sequence)}")
    return len(sequence)


def items(sequence: Any, first: Any, last: Any, name: str) -> Any:
    """`items first through last of sequence`, both ends included; empty where first > last."""
    size = length(sequence, f"`items` of {name}")
    low, high = whole(first, "an index is"), whole(last, "an index is")
    if low <= high and (low < 1 or high > size):
        outside = low if not 1 <= low <= size else high
        raise Fault(out_of_range(sequence, outside, name))
    flattened = sequence.reshape(-1).tolist() if isinstance(sequence, np.ndarray) else sequence
    return copied(flattened[low - 1 : high]) if low <= high else flattened[:0]


def push(value: Any, sequence: Any, name: str) -> None:
    _require_seq("Push", sequence, name)
    sequence.append(value)


def pop(sequence: Any, name: str) -> Any:
    _require_seq("Pop", sequence, name)
    if not sequence:
        raise Fault(f"`Pop` from {name}, which is empty")
    return sequence.pop()


def _require_seq(word: str, sequence: Any, name: str) -> None:
    if not isinstance(sequence, list):
        raise Fault(f"`{word}` needs a Seq, and {name} is {kind(sequence)}")


def contains(sequence: Any, value: Any) -> bool:
    """`sequence contains value`: an equal item of a Seq or tensor, a part of a Text."""
    if isinstance(sequence, str):
        if not isinstance(value, str):
            raise Fault(f"a Text contains Texts, not {kind(value)}")
        return value in sequence
    if not isinstance(sequence, list | np.ndarray):
        raise Fault(f"`contains` needs a Seq, a Text or a tensor, not {kind(sequence)}")
    flattened = sequence.reshape(-1).tolist() if isinstance(sequence, np.ndarray) else sequence
    return any(equal(inside, value) for inside in flattened)


def has(sequence: Any, value: Any) -> bool:
    """`contains` where items and value are known to be numbers, or Texts; NaN is in nothing."""
    return value == value and value in sequence


def each(sequence: Any) -> Iterable[Any]:
    """What `Repeat for x in sequence` runs over: the values of now, whatever the loop does to it."""
    if isinstance(sequence, np.ndarray):
        values: list[Any] = sequence.reshape(-1).tolist()
        return values
    if not isinstance(sequence, list | str):
        raise Fault(f"`Repeat for … in` needs a Seq, a Text or a tensor, not {kind(sequence)}")
    return copied(sequence)  # type: ignore[no-any-return]  # a list or str, as checked above


def overwrite(target: Array, value: Any, name: str) -> None:
    """`Set target to value.` of tensors: the contents are copied; the shapes must agree."""
    if not isinstance(value, np.ndarray):
        raise Fault(f"{name} is a tensor and takes a tensor, not {kind(value)}")
    if target.shape != value.shape:
        said = [f"{rows} by {columns}" for rows, columns in (target.shape, value.shape)]
        raise Fault(f"{name} is {said[0]} and takes no tensor that is {said[1]}", ShapeError)
    if target.dtype.kind == "i" and value.dtype.kind != "i":
        raise Fault(f"{name} is a tensor of Int and takes no tensor of Real")
    target[...] = value
