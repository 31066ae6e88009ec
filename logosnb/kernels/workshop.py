"""What the passes share about one program: its tensors, types, and fresh names.

In: a Program, a dtype. Out: `Workshop`. May not know: the passes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from logosnb.inputs import dtype_of
from logosnb.kernels.nest import Nest, nest
from logosnb.language import tree
from logosnb.language.tree import Statement
from logosnb.ops.op import Shape
from logosnb.stages.program import Program
from logosnb.stages.typing import Types, program_types, section_types
from logosnb.stages.walk import bound_names, everything

ONE = tree.IntLiteral(1)


class Workshop:
    """shapes, kinds: of every tensor, those that the passes add among them;
    general: whether no kernel may be used that is right for finite numbers alone."""

    def __init__(self, program: Program, dtype: str, general: bool = False) -> None:
        self.program = program
        self.general = general
        self.dtype = dtype
        self.shapes: dict[str, Shape] = dict(program.shapes)
        self.kinds: dict[str, str] = dict(program.kinds)
        self.types, _ = program_types(program)
        self._taken = {*program.shapes, *bound_names(program.main), *self.types.names}
        self._numbers: dict[str, int] = {}

    def fresh(self, stem: str) -> str:
        """A name that nothing has yet."""
        while True:
            self._numbers[stem] = self._numbers.get(stem, 0) + 1
            name = f"{stem}_{self._numbers[stem]}"
            if name not in self._taken:
                self._taken.add(name)
                return name

    def tensor(self, stem: str, shape: Shape, kind: str) -> str:
        """A new tensor that the program has no name for."""
        name = self.fresh(stem)
        self.shapes[name], self.kinds[name] = shape, kind
        return name

    def bytes(self, tensor: str) -> int:
        return self.items(tensor) * self.dtype_of(tensor).itemsize

    def items(self, tensor: str) -> int:
        return self.shapes[tensor].rows * self.shapes[tensor].columns

    def dtype_of(self, tensor: str) -> np.dtype[Any]:
        return dtype_of(self.kinds[tensor], self.dtype)

    def nest(self, statements: tuple[Statement, ...], wanted: frozenset[str] = frozenset()) -> Nest:
        """The nest of statements; raises NotCompiled."""
        read = {node.id for node in everything(statements) if isinstance(node, tree.Name)}
        types = self._types(statements, read | set(bound_names(statements)))
        constants = self.program.constants
        return nest(statements, types, self.shapes, self.kinds, constants, wanted)

    def _types(self, statements: tuple[Statement, ...], used: set[str]) -> Types:
        """The types inside a nest: its own names by what it binds, others as Main has them."""
        tensors = [name for name in used if name in self.shapes]
        declared = tuple(tree.Declare(name, ONE, ONE, self.kinds[name]) for name in tensors)
        functions = self.program.functions
        own = section_types((*declared, *statements), (), functions)
        main = {name: self.types.names[name] for name in used if name in self.types.names}
        outside = {name: type_ for name, type_ in main.items() if name not in own.names}
        parameters = tuple(tree.Parameter(n, t) for n, t in outside.items() if t.element is None)
        known = section_types((*declared, *statements), parameters, functions)
        return Types({**main, **known.names}, known.fixed, functions)
