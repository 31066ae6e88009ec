"""From a text with holes (see op.py) to lines of LOGOS.

In: a text of an op block, what fills its holes, which guards hold, and how to name what the text
binds for itself. Out: lines. May not know: trees, which op the text belongs to.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Collection, Mapping
from functools import cache
from typing import Any

GUARD = re.compile(r"\[(!?)(\w+(?: or \w+)*)\|")
HOLE = re.compile(r"\{(\w+(?:\.\w+)?)\}")
BINDING = re.compile(r"^( *)(?:Let (?:mutable )?([\w{}.]+) be|Repeat for ([\w{}.]+) (?:from|in))\b")
Naming = Callable[[str, bool], str]  # (the text's own name, is it a tensor) to the name to use


def render(
    text: str, values: Mapping[str, Any], present: Collection[str], naming: Naming
) -> list[str]:
    """The lines of `text`: guards decided by `present`, own names by `naming`, holes by `values`."""
    kept = guarded(_dedented(text), present)
    renamed = _with_own_names(kept, values, naming)
    filled = HOLE.sub(lambda hole: written(values[hole[1]]), renamed)
    return [line.rstrip() for line in filled.splitlines() if line.strip()]


@cache
def _dedented(text: str) -> str:
    return textwrap.dedent(text).strip("\n")


def written(value: Any) -> str:
    """A value as it stands in LOGOS text; a negative number in an expression keeps its sign."""
    return repr(value) if isinstance(value, float) else str(value)


def guarded(text: str, present: Collection[str]) -> str:
    """The text without its guards: what they hold stays where the guard is met."""
    while guard := GUARD.search(text):
        end = _closing(text, guard.end())
        before, inside, after = text[: guard.start()], text[guard.end() : end], text[end + 1 :]
        met = any(name in present for name in guard[2].split(" or ")) != (guard[1] == "!")
        whole_line = not before.rpartition("\n")[2].strip() and after[:1] in ("", "\n")
        kept = inside.lstrip(" ") if whole_line else inside
        text = before + (kept if met else "") + after
    return text


def _closing(text: str, start: int) -> int:
    depth = 1
    for place in range(start, len(text)):
        depth += {"[": 1, "]": -1}.get(text[place], 0)
        if depth == 0:
            return place
    raise ValueError(f"a guard is not closed: {text[start - 10 : start + 40]!r}")


def _with_own_names(text: str, values: Mapping[str, Any], naming: Naming) -> str:
    """Each name that the text itself binds, replaced by the name that `naming` gives it."""
    for own, is_tensor in _own_names(text).items():
        stem = HOLE.sub(lambda hole: written(values[hole[1]]), own)
        name = naming(stem, is_tensor)
        if name != own:
            text = re.sub(rf"(?<![\w{{.]){re.escape(own)}(?![\w}}]|\.\w)", name, text)
    return text


def _own_names(text: str) -> dict[str, bool]:
    """Own name to whether it is a tensor: what is bound outside every loop is one."""
    found: dict[str, bool] = {}
    for line in text.splitlines():
        binding = BINDING.match(line)
        if binding:
            own = binding[2] or binding[3]
            if not HOLE.fullmatch(own):
                found.setdefault(own, binding[2] is not None and not binding[1])
    return found


def hole_names(text: str) -> set[str]:
    """Every hole of the text, `x.rows` counted as such."""
    return set(HOLE.findall(text))
