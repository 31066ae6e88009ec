"""The tree of a LOGOS program: plain, frozen dataclasses.

In: nothing. Out: the node types that the parser builds, the printer writes back and every later
folder reads. May not know: any op, NumPy, how a program runs.

Two trees are equal when they say the same thing: positions and the spelling of an operator
(`plus` or `+`) are left out of comparisons.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Position:
    """Where a node stands in the source: lines and columns count from one, `end_column` is exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


NOWHERE = Position(0, 0, 0, 0)


@dataclass(frozen=True)
class Node:
    position: Position = field(default=NOWHERE, compare=False, repr=False, kw_only=True)


# ---- types ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Type(Node):
    """`Int`, `Real`, `Bool`, `Text`, `Tensor`, or `Seq` with the type of its elements."""

    name: str
    element: Type | None = None

    def __str__(self) -> str:
        return f"Seq of {self.element}" if self.element else self.name


INT, REAL, BOOL, TEXT, TENSOR = (Type(name) for name in ("Int", "Real", "Bool", "Text", "Tensor"))


# ---- expressions ------------------------------------------------------------------------------


class Expression(Node):
    pass


@dataclass(frozen=True)
class IntLiteral(Expression):
    value: int


@dataclass(frozen=True)
class RealLiteral(Expression):
    """A decimal literal; `infinity` and `nan` are `Special`."""

    value: float


@dataclass(frozen=True)
class Special(Expression):
    name: str  # "infinity" or "nan"


@dataclass(frozen=True)
class BoolLiteral(Expression):
    value: bool


@dataclass(frozen=True)
class Interpolation(Node):
    """`{value:form}` inside a Text; `form` is "" or like ".6" or ">10"."""

    value: Expression
    form: str = ""


@dataclass(frozen=True)
class TextLiteral(Expression):
    parts: tuple[str | Interpolation, ...]


@dataclass(frozen=True)
class Name(Expression):
    id: str


@dataclass(frozen=True)
class Unary(Expression):
    operator: str  # "-" or "not"
    operand: Expression


@dataclass(frozen=True)
class Binary(Expression):
    """operator: `+ - * / // % **` or `combined with` (Text)."""

    operator: str
    left: Expression
    right: Expression
    spelling: str = field(default="", compare=False)  # as typed, e.g. "plus"; "" means `operator`


@dataclass(frozen=True)
class Logic(Expression):
    operator: str  # "and" or "or"
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Comparison(Expression):
    """A chain: `operands[0] operators[0] operands[1] …`; operators are `== != < <= > >=`."""

    operands: tuple[Expression, ...]
    operators: tuple[str, ...]


@dataclass(frozen=True)
class Between(Expression):
    value: Expression
    low: Expression
    high: Expression


@dataclass(frozen=True)
class Parity(Expression):
    value: Expression
    kind: str  # "even" or "odd"


@dataclass(frozen=True)
class Divisible(Expression):
    value: Expression
    divisor: Expression


@dataclass(frozen=True)
class Contains(Expression):
    sequence: Expression
    value: Expression


@dataclass(frozen=True)
class Call(Expression):
    """A call of a builtin (`sqrt`, …, `length`) or of a function of the program."""

    function: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True)
class Item(Expression):
    """`item index of sequence` and `sequence[index]`, counting from one; sequence may be a tensor."""

    index: Expression
    sequence: Expression


@dataclass(frozen=True)
class Items(Expression):
    """`items first through last of sequence`."""

    first: Expression
    last: Expression
    sequence: Expression


@dataclass(frozen=True)
class Length(Expression):
    sequence: Expression


@dataclass(frozen=True)
class Copy(Expression):
    value: Expression


@dataclass(frozen=True)
class SeqLiteral(Expression):
    items: tuple[Expression, ...]


@dataclass(frozen=True)
class NewSeq(Expression):
    element: Type


@dataclass(frozen=True)
class Word(Node):
    """A bare word of a phrase: part of its wording or the name of an operand; the op table tells."""

    text: str


@dataclass(frozen=True)
class Phrase(Expression):
    """The words of an op, unresolved: `softmax of x` is Word, Word, Word.

    A part is a Word, an IntLiteral or RealLiteral (a minus sign folded in), or, for an operand in
    parentheses, a Phrase or any other Expression.
    """

    parts: tuple[Word | Expression, ...]


# ---- statements -------------------------------------------------------------------------------


class Statement(Node):
    pass


@dataclass(frozen=True)
class Let(Statement):
    """`Let [mutable] name [: type] be value.`, also `name = value.`; value may be a Phrase."""

    name: str
    value: Expression
    type: Type | None = None
    mutable: bool = False


@dataclass(frozen=True)
class Declare(Statement):
    """`Let name be a rows by columns tensor of kind.`; a size is an Int literal or a Name."""

    name: str
    rows: IntLiteral | Name
    columns: IntLiteral | Name
    kind: str  # "Real" or "Int"


@dataclass(frozen=True)
class Set(Statement):
    """`Set target to value.`; target is a Name or an Item (whose sequence is again a Name or Item)."""

    target: Expression
    value: Expression


@dataclass(frozen=True)
class SetPhrase(Statement):
    """`Set <words> to value.`, e.g. `Set rows from p of t to x.`; parts as in Phrase, without `Set`."""

    parts: tuple[Word | Expression, ...]
    value: Expression


@dataclass(frozen=True)
class Update(Statement):
    """`target += value.` and the like; operator is one of `+ - * / %`."""

    target: Expression
    operator: str
    value: Expression


@dataclass(frozen=True)
class CallStatement(Statement):
    call: Call


@dataclass(frozen=True)
class Show(Statement):
    value: Expression


@dataclass(frozen=True)
class Push(Statement):
    value: Expression
    target: Expression


@dataclass(frozen=True)
class Pop(Statement):
    target: Expression
    into: str | None = None


@dataclass(frozen=True)
class If(Statement):
    """branches: (condition, body) of If and each Otherwise If, in order; otherwise: None if absent."""

    branches: tuple[tuple[Expression, tuple[Statement, ...]], ...]
    otherwise: tuple[Statement, ...] | None = None


@dataclass(frozen=True)
class While(Statement):
    """`While c:` and `Repeat while c:`."""

    condition: Expression
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class RepeatRange(Statement):
    """`Repeat for name from first to last:`, both ends included."""

    name: str
    first: Expression
    last: Expression
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class RepeatEach(Statement):
    """`Repeat for name in sequence:`."""

    name: str
    sequence: Expression
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class RepeatForever(Statement):
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class Break(Statement):
    pass


@dataclass(frozen=True)
class Return(Statement):
    value: Expression | None = None
    condition: Expression | None = None


# ---- sections ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Parameter(Node):
    name: str
    type: Type
    mutable: bool = False


@dataclass(frozen=True)
class Function(Node):
    """`## To name (a: Int) and (b: Real) -> result:`."""

    name: str
    parameters: tuple[Parameter, ...]
    result: Type | None
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class Source(Node):
    """A whole program: the statements of Main and the functions in their order."""

    main: tuple[Statement, ...]
    functions: tuple[Function, ...] = ()
