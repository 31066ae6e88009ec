"""From the words of one op to stages: the phrase is looked up, operands bound, the shape checked.

In: a Phrase (or a sum that stands for one) and the section's scope. Out: the stages that compute
it, operands in parentheses first. May not know: the program around it.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

from logosnb.language import tree
from logosnb.language.printer import print_expression
from logosnb.ops.op import KINDS, Mismatch, Op, Shape, kind_of
from logosnb.ops.phrase import holes
from logosnb.ops.table import Found, find, nearest
from logosnb.stages.scope import Scope, Tensor
from logosnb.stages.stage import Operand, Stage
from logosnb.stages.walk import constant, real

NUMBERS = {"count": "a whole number", "whole": "a whole number", "number": "a number"}


def is_op(value: tree.Expression, scope: Scope) -> bool:
    """Whether a value is computed by an op: a phrase, or tensors added, subtracted or copied."""
    match value:
        case tree.Phrase():
            return True
        case tree.Name(id=name) | tree.Copy(value=tree.Name(id=name)):
            return name in scope.tensors
        case tree.Binary(operator=operator, left=left, right=right):
            if not (is_op(left, scope) or is_op(right, scope)):
                return False
            if operator not in ("+", "-"):
                advice = "`x hadamard w`, `x matmul w` or `x scaled by 0.5`"
                wrong = f"`{operator}` does not work on tensors: write {advice}"
                raise scope.text.error(wrong, value.position)
            return True
    return False


def words_of(value: tree.Expression) -> tuple[object, ...]:
    """The words of a value for which `is_op` holds."""
    match value:
        case tree.Phrase(parts=parts):
            return tuple(_word(part) for part in parts)
        case tree.Binary(operator=operator, left=left, right=right):
            return (_word(left), "plus" if operator == "+" else "minus", _word(right))
        case tree.Copy(value=inner):
            return ("copy", "of", _word(inner))
    return ("copy", "of", _word(value))


def _word(part: tree.Node) -> object:
    """Names and bare words as `str`, as the phrase table wants them."""
    match part:
        case tree.Word(text=text) | tree.Name(id=text):
            return text
    return part


# Said of a name that an op reads and nothing binds: often it is a variable of the notebook.
DECLARED = "; an input is declared first: `Let {} be a 4 by 3 tensor of Real.`"


class Lifter:
    """Lifts the ops of one statement; the stages come out in `stages`, in order."""

    def __init__(self, scope: Scope, statement: tree.Statement) -> None:
        self.scope = scope
        self.statement = statement
        self.place = (statement.value if isinstance(statement, tree.Let) else statement).position
        self.stages: list[Stage] = []

    def bind(self, name: str, words: Sequence[object], fresh: bool = False) -> None:
        """Lift the op that the words say into a stage whose result is `name`."""
        stage = self._stage(name, self.found(words), fresh)
        at = self.statement.position
        self.scope.bind_tensor(name, Tensor(stage.shape, stage.kind), at)
        self.stages.append(stage)

    def write(self, words: Sequence[object]) -> None:
        """Lift a `Set …` op, whose result is one of its operands."""
        found = self.found(words)
        written = found.bindings[found.op.writes or ""]
        stage = self._stage(str(written), found, False)
        if stage.kind == "Real" and self.scope.tensors[stage.out].kind == "Int":
            raise self._error(f"`{stage.out}` is a tensor of Int and takes no Real rows")
        self.stages.append(stage)

    def found(self, words: Sequence[object]) -> Found:
        """The op whose phrase the words are; an error with the nearest phrase where there is none."""
        found = find(words)
        if found is None:
            said = " ".join(_said(word) for word in words)
            near = nearest([word if isinstance(word, str) else _said(word) for word in words])
            hint = f"; did you mean `{near}`?" if near and near != said else ""
            raise self._error(f"no op reads `{said}`{self._in_parentheses(words) or hint}")
        if found.op.writes is not None and words[0] != "Set":
            raise self._error(f"`{found.phrase}` is a statement of its own")
        return found

    def _in_parentheses(self, words: Sequence[object]) -> str:
        """The hint for an op that stands inside another without them."""
        for place in range(1, len(words) - 1):
            if find(words[place:]) is not None and find([*words[:place], "x"]) is not None:
                outer, inner = (
                    " ".join(map(_said, part)) for part in (words[:place], words[place:])
                )
                return f"; an op inside an op stands in parentheses: `{outer} ({inner})`"
        return ""

    def _stage(self, out: str, found: Found, fresh: bool) -> Stage:
        op = found.op
        operands = {
            hole: self._operand(hole, found.bindings[hole], op)
            for hole in holes(found.phrase)
            if hole in found.bindings
        }
        return Stage(
            op=op.name,
            definition=op,
            out=out,
            operands=operands,
            shape=self._shape(op, operands),
            kind=self._kind(op, operands),
            text=self.scope.text.quote(self.statement.position),
            fresh=fresh,
            position=self.statement.position,
        )

    # -- operands

    def _operand(self, hole: str, part: object, op: Op) -> Operand:
        kind = kind_of(hole)
        if kind in ("tensor", "ints"):
            return self._tensor(hole, part, op)
        if kind == "row" and isinstance(part, str):
            return self._row_name(part)
        return self._number(kind if kind != "row" else "count", part, hole)

    def _tensor(self, hole: str, part: object, op: Op) -> str:
        name = part if isinstance(part, str) else self._nested(part)
        if name not in self.scope.tensors:
            self._no_tensor(name)
        whole = kind_of(hole) == "ints" or hole in op.integers
        if whole and self.scope.tensors[name].kind != "Int":
            raise self._error(f"`{name}` must be a tensor of Int here, and is one of Real")
        return name

    def _no_tensor(self, name: str) -> None:
        if name in self.scope.names:
            raise self._error(f"`{name}` is not a tensor here")
        raise self.scope.unknown(name, self.place, DECLARED.format(name))

    def _nested(self, part: object) -> str:
        if not isinstance(part, tree.Expression) or not is_op(part, self.scope):
            raise self._error(f"`{_said(part)}` is not a tensor")
        words = words_of(part)
        found = self.found(words)
        name = self.scope.fresh(found.op.name.lower())
        self.bind(name, words, fresh=True)
        return name

    def _row_name(self, name: str) -> str:
        self.scope.check_name(name, self.statement.position)
        if name in self.scope.tensors:
            raise self._error(f"`{name}` is a tensor, and a row number is an Int")
        if isinstance(self.scope.constants.get(name), float):
            raise self._error(f"`{name}` is a Real, and a row number is an Int")
        return name

    def _number(self, kind: str, part: object, hole: str) -> int | float:
        value = self._value(part)
        if value is None or (kind != "number" and not isinstance(value, int)):
            raise self._error(f"`{_said(part)}` is not {NUMBERS[kind]}, literal or constant")
        if kind == "count" and value < (0 if hole == "shift" else 1):
            raise self._error(f"`{_said(part)}` is out of range: it counts from one")
        if kind == "number" and real(value) is None:
            raise self._error(f"`{_said(part)}` is too large for a Real, and a number here is one")
        return value

    def _value(self, part: object) -> int | float | None:
        if isinstance(part, str):
            self.scope.check_name(part, self.statement.position)
            return self.scope.constants.get(part)
        return constant(part, self.scope.constants) if isinstance(part, tree.Expression) else None

    # -- results

    def _shape(self, op: Op, operands: dict[str, Operand]) -> Shape | None:
        known = {hole: self._known(hole, value) for hole, value in operands.items()}
        for hole, value in known.items():
            if value is None and kind_of(hole) in ("tensor", "ints"):
                return None
        try:
            return Shape(*op.shape(shape_operands(op, known)))
        except Mismatch as mismatch:
            raise self.scope.text.shape_error(
                mismatch_sentence(mismatch, self._said_statement(), operands, known),
                self.statement.position,
            ) from None

    def _known(self, hole: str, value: Operand) -> object:
        if kind_of(hole) in ("tensor", "ints"):
            return self.scope.tensors[str(value)].shape
        return self.scope.constants.get(value) if isinstance(value, str) else value

    def _kind(self, op: Op, operands: dict[str, Operand]) -> str:
        if isinstance(op.kind, str):
            return op.kind
        kinds = {self.scope.tensors[str(operands[hole])].kind for hole in op.kind}
        return "Int" if kinds == {"Int"} else "Real"

    def _said_statement(self) -> str:
        return self.scope.text.quote(self.statement.position)

    def _error(self, message: str) -> Exception:
        return self.scope.text.error(message, self.place)


def shape_operands(op: Op, known: dict[str, object]) -> SimpleNamespace:
    """What a shape rule reads: every hole of the op, None where left out, defaults filled in."""
    every = {hole: None for phrase in op.phrases for hole in holes(phrase)}
    return SimpleNamespace(**{**every, **op.defaults, **known})


def mismatch_sentence(
    mismatch: Mismatch, statement: str, operands: dict[str, Operand], known: dict[str, object]
) -> str:
    """The statement, the reason, and the tensors with their shapes."""
    names = {hole: f"`{name}`" for hole, name in operands.items()}
    reason = mismatch.reason.format_map({hole: hole for hole in KINDS} | names)
    shapes = [f"{names[hole]} is {known[hole]}" for hole in mismatch.holes if hole in operands]
    return f"in `{statement}` {reason}: {', '.join(shapes)}" if shapes else f"{statement}: {reason}"


def _said(part: object) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, tree.Phrase | tree.Binary):
        return f"({print_expression(part)})"
    return print_expression(part) if isinstance(part, tree.Expression) else str(part)
