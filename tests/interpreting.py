"""Running a LOGOS text in the tests of the interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from logosnb.interpreter import execute
from logosnb.language.errors import LogosRuntimeError
from logosnb.stages.resolve import parse


def values(source: str, **inputs: Any) -> dict[str, Any]:
    """What Main bound."""
    return execute(parse(source), inputs, lambda text: None)


def shown(source: str, **inputs: Any) -> list[str]:
    """What Show printed."""
    texts: list[str] = []
    execute(parse(source), inputs, texts.append)
    return texts


def value(expression: str, setup: str = "") -> Any:
    """The value of one expression."""
    return values(f"{setup}\nLet result be {expression}.\n")["result"]


def failure(source: str, line: int, *words: str, **inputs: Any) -> str:
    """The sentence of the error that the program ends in, at that line, with those words in it."""
    with pytest.raises(LogosRuntimeError) as caught:
        values(source, **inputs)
    assert caught.value.line == line, str(caught.value)
    for word in words:
        assert word in caught.value.message, caught.value.message
    return caught.value.message


def same(left: Any, right: Any) -> bool:
    """Equal and of the same type, NaN equal to NaN, -0.0 not to 0.0."""
    if type(left) is not type(right):
        return False
    if isinstance(left, float):
        return bool(np.array_equal(left, right, equal_nan=True)) and (
            np.signbit(left) == np.signbit(right) or left != left
        )
    return bool(left == right)
