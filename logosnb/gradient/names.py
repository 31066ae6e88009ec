"""Fresh names for a derived program, that say what they hold and are the same on every run.

In: the names that the forward has. Out: names that it has not. May not know: rules.
"""

from __future__ import annotations

from collections.abc import Iterable


class Names:
    """Hands out names; a tensor's is given once, a rule's own scalar may serve again in the next."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = set(taken)
        self._scalars: dict[str, str] = {}

    def tensor(self, stem: str) -> str:
        """`g_w`, then `g_w_2`, `g_w_3`, … : the first that is free."""
        name, number = stem, 2
        while name in self._taken:
            name, number = f"{stem}_{number}", number + 1
        self._taken.add(name)
        return name

    def scalar(self, stem: str) -> str:
        """The name for a rule's own loop variable or number: one for each stem."""
        if stem not in self._scalars:
            self._scalars[stem] = self.tensor(stem)
        return self._scalars[stem]

    def own(self, stem: str, is_tensor: bool) -> str:
        """What `template.render` asks for."""
        return self.tensor(stem) if is_tensor else self.scalar(stem)
