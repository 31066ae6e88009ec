"""From a tree to a Program: ops become stages, names and shapes are checked, inputs are recorded.

In: a `Source` tree and its text. Out: a `Program`, or LogosSyntaxError or ShapeError at the
statement that is wrong. May not know: gradients, how a program is run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from logosnb.language import tree
from logosnb.language.parser import parse_source
from logosnb.language.words import BUILTINS
from logosnb.ops.op import Shape
from logosnb.ops.table import TABLE
from logosnb.stages.lift import Lifter, is_op, words_of
from logosnb.stages.program import Program
from logosnb.stages.scope import Scope, Tensor, Text
from logosnb.stages.stage import Declaration, Stage
from logosnb.stages.walk import (
    Constant,
    bound_names,
    children,
    constant,
    everything,
    let_names,
    real,
    root_name,
)

Statements = tuple[tree.Statement, ...]
BLOCKS = (tree.If, tree.While, tree.RepeatRange, tree.RepeatEach, tree.RepeatForever)


def parse(source: str, first_line: int = 1) -> Program:
    """The program that `source` says.

    first_line: the number of its first line, for errors (a cell's body begins at line 2).
    Raises LogosSyntaxError, and ShapeError where tensors do not go together.
    """
    return resolve(parse_source(source, first_line), source, first_line)


def resolve(source: tree.Source, text: str, first_line: int = 1) -> Program:
    """The Program of a tree whose text is `text`."""
    quoted = Text(text, first_line)
    arities = {function.name: len(function.parameters) for function in source.functions}
    returning = {f.name for f in source.functions if f.result == tree.TENSOR}
    main = Section(quoted, source.main, arities, returning)
    main.read()
    functions = {
        f.name: replace(f, body=_function(quoted, f, arities, returning)) for f in source.functions
    }
    return main.program(source, functions)


def _function(
    text: Text, function: tree.Function, arities: dict[str, int], returning: set[str]
) -> Statements:
    section = Section(text, function.body, arities, returning)
    for parameter in function.parameters:
        section.scope.names.add(parameter.name)
        section.scope.once.discard(parameter.name)
        if parameter.type == tree.TENSOR:
            section.scope.tensors[parameter.name] = Tensor(None, "Real")
    section.read()
    return section.resolved


class Section:
    """One section while it is resolved: Main, or a function's body."""

    def __init__(
        self, text: Text, statements: Statements, functions: dict[str, int], returning: set[str]
    ) -> None:
        bound = Counter(bound_names(statements))
        once = {name for name, count in bound.items() if count == 1}
        self.scope = Scope(text, let_names(statements), functions, once)
        self.returning = returning
        self.statements = statements
        self.resolved: Statements = ()
        self.declared: dict[str, Declaration] = {}
        self.stages: list[Stage] = []
        self.unrecognized: list[tuple[int, str]] = []

    def read(self) -> None:
        self.resolved = self._block(self.statements, top=True)

    def _block(self, statements: Statements, top: bool = False) -> Statements:
        return tuple(done for s in statements for done in self._statement(s, top))

    def _statement(self, statement: tree.Statement, top: bool) -> Sequence[tree.Statement]:
        match statement:
            case tree.Declare():
                self._declare(statement, top)
                return [statement]
            case tree.SetPhrase():
                return self._lifted(statement, top)
            case tree.Let(value=value) if is_op(value, self.scope):
                return self._lifted(statement, top)
            case tree.Let():
                return [self._let(statement, top)]
            case tree.Show():
                self._check(statement)
                return [statement]
        if top:
            self._unrecognized(statement)
        return [self._other(statement)]

    # -- tensors

    def _declare(self, statement: tree.Declare, top: bool) -> None:
        shape = Shape(self._size(statement.rows), self._size(statement.columns))
        at = statement.position
        self.scope.bind_tensor(statement.name, Tensor(shape, statement.kind), at)
        if top:
            self.declared[statement.name] = Declaration(
                statement.name, shape, statement.kind, at.line
            )

    def _size(self, size: tree.Expression) -> int:
        value = constant(size, self.scope.constants)
        if isinstance(size, tree.Name):
            self.scope.check_name(size.id, size.position)
        if not isinstance(value, int) or value < 1:
            wrong = "a size is an Int from one up, literal or a name bound to a constant earlier"
            raise self.scope.text.error(wrong, size.position)
        return value

    def _lifted(self, statement: tree.Let | tree.SetPhrase, top: bool) -> Sequence[Stage]:
        lifter = Lifter(self.scope, statement)
        if isinstance(statement, tree.SetPhrase):
            parts = tree.Phrase(statement.parts), statement.value
            lifter.write(("Set", *words_of(parts[0]), "to", *_operand_words(parts[1])))
        else:
            lifter.bind(statement.name, words_of(statement.value))
        if top and all(stage.shape is not None for stage in lifter.stages):
            self.stages += lifter.stages
        elif top:
            self._unrecognized(statement)
        return lifter.stages

    # -- everything else

    def _let(self, statement: tree.Let, top: bool) -> tree.Let:
        self._check(statement)
        name, value = statement.name, self._constant(statement)
        if name in self.scope.tensors:
            wrong = f"`{name}` is a tensor already: a tensor is bound once"
            raise self.scope.text.error(wrong, statement.position)
        if self._gives_tensor(statement.value):
            self.scope.bind_tensor(name, Tensor(None, "Real"), statement.position)
        if value is not None and top and name in self.scope.once:
            self.scope.constants[name] = value
        elif top:
            self._unrecognized(statement)
        return statement

    def _constant(self, statement: tree.Let) -> Constant | None:
        """What the statement binds, where that is a number that its type holds."""
        value = constant(statement.value, self.scope.constants)
        if value is None or statement.type is None:
            return value
        if statement.type == tree.REAL:
            return value if isinstance(value, float) else real(value)
        return value if statement.type == tree.INT and isinstance(value, int) else None

    def _gives_tensor(self, value: tree.Expression) -> bool:
        return isinstance(value, tree.Call) and value.function in self.returning

    def _other(self, statement: tree.Statement) -> tree.Statement:
        """A statement that is no op itself; the bodies of blocks are resolved."""
        match statement:
            case tree.If(branches=branches, otherwise=otherwise):
                for condition, _ in branches:
                    self._check(condition)
                return replace(
                    statement,
                    branches=tuple((test, self._block(body)) for test, body in branches),
                    otherwise=None if otherwise is None else self._block(otherwise),
                )
            case tree.While(condition=head) | tree.RepeatEach(sequence=head):
                self._check(head)
            case tree.RepeatRange(first=first, last=last):
                self._check(first)
                self._check(last)
            case tree.RepeatForever():
                pass
            case _:
                self._check(statement)
                return statement
        return replace(statement, body=self._block(statement.body))

    def _unrecognized(self, statement: tree.Statement) -> None:
        at = statement.position
        self.unrecognized.append((at.line, self.scope.text.quote(at)))

    def _check(self, node: tree.Node) -> None:
        """Names exist, calls fit, and no op stands where a value is wanted."""
        match node:
            case tree.Phrase():
                self._refuse_phrase(node)
            case tree.Name(id=name):
                self.scope.check_name(name, node.position)
            case tree.Call(function=function, arguments=arguments):
                self._check_call(function, len(arguments), node)
        for child in children(node):
            self._check(child)

    def _refuse_phrase(self, phrase: tree.Phrase) -> None:
        """Where a value is wanted, a phrase that no op has is an error of its own."""
        Lifter(self.scope, tree.Show(phrase, position=phrase.position)).found(words_of(phrase))
        wrong = "an op is bound to a name first: `Let y be …`, then use `y`"
        raise self.scope.text.error(wrong, phrase.position)

    def _check_call(self, function: str, count: int, node: tree.Node) -> None:
        known = function in BUILTINS or function in self.scope.functions
        if not known and any(op.phrases[0].split()[0] == function for op in TABLE.values()):
            wrong = f"an op is written in words: `Let y be {function} of x.`"
            raise self.scope.text.error(wrong, node.position)
        self.scope.check_call(function, count, node.position)

    # -- the result

    def program(self, source: tree.Source, functions: dict[str, tree.Function]) -> Program:
        written = _written(self.resolved)
        read = _read(self.resolved)
        needed = [name for name in self.declared if name in read and name not in written]
        shaped = {n: t for n, t in self.scope.tensors.items() if t.shape is not None}
        return Program(
            tree=source,
            main=self.resolved,
            functions=functions,
            stages=tuple(self.stages),
            declared=self.declared,
            shapes={name: t.shape for name, t in shaped.items() if t.shape is not None},
            kinds={name: tensor.kind for name, tensor in shaped.items()},
            constants=self.scope.constants,
            inputs=tuple(needed),
            optional=tuple(name for name in self.declared if name not in needed),
            unrecognized=tuple(self.unrecognized),
            source=self.scope.text.source,
            first_line=self.scope.text.first_line,
        )


def _operand_words(value: tree.Expression) -> tuple[object, ...]:
    return (value.id,) if isinstance(value, tree.Name) else (value,)


def _written(statements: Statements) -> set[str]:
    """Names of which the statements set rows, items or the whole."""
    found = set()
    for node in everything(statements):
        if isinstance(node, Stage) and node.definition.writes is not None:
            found.add(node.out)
        elif isinstance(node, (tree.Set, tree.Update)):
            found.add(root_name(node.target) or "")
    return found


def _read(statements: Statements) -> set[str]:
    """Names that the statements read; that of a tensor whose items are set may be among them."""
    found: set[str] = set()
    for node in everything(statements):
        if isinstance(node, Stage):
            found |= {name for _, name in node.tensors}
        elif isinstance(node, tree.Name):
            found.add(node.id)
    return found
