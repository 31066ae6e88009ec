"""From the parse tree of one sentence to the nodes of tree.py.

In: lark's parse tree of a sentence, a section's line or an expression. Out: the node, with its
position; the head of a block comes with an empty body, and `Otherwise` as `Otherwise`.
LogosSyntaxError for what the grammar lets through: a reserved name, a number too large, a tensor's
declaration that is not quite one. May not know: how sentences nest, any op.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from lark import Token
from lark.tree import Meta
from lark.visitors import Transformer_NonRecursive, v_args

from logosnb.language import tree
from logosnb.language.errors import LogosSyntaxError
from logosnb.language.sentences import SourceText
from logosnb.language.texts import Braces, TextFault, pieces
from logosnb.language.tree import Expression, Position
from logosnb.language.words import CONSTANTS, RESERVED, STATEMENT_WORDS, TYPES, closest

MOST_DIGITS = 4000  # Python refuses to write an int of more than 4300
OPERATORS = {"plus": "+", "minus": "-", "times": "*", "divided by": "/"}
COMPARISONS = {
    "equals": "==",
    "is": "==",
    "is equal to": "==",
    "is not": "!=",
    "is not equal to": "!=",
    "is greater than": ">",
    "is less than": "<",
    "is at least": ">=",
    "is greater than or equal to": ">=",
    "is at most": "<=",
    "is less than or equal to": "<=",
}
DECLARATION = "a tensor is declared as `a 4 by 8 tensor of Real` (or `of Int`)"


@dataclass(frozen=True)
class Otherwise(tree.Node):
    """The head `Otherwise If condition:`, or with None `Otherwise:`."""

    condition: Expression | None


@v_args(inline=True, meta=True)
class Builder(Transformer_NonRecursive[Token, Any]):
    """One method a rule of grammar.lark.

    `expression` parses the part of the source between two offsets, for the braces in a Text.
    """

    def __init__(self, source: SourceText, expression: Callable[[int, int], Expression]) -> None:
        super().__init__()
        self.source = source
        self.expression = expression

    # ---- places, names, errors

    def _at(self, meta: Meta | Token) -> Position:
        return self.source.position(int(meta.start_pos or 0), int(meta.end_pos or 0))

    def _error(self, message: str, where: Meta | Token) -> LogosSyntaxError:
        return self.source.error_at(message, self._at(where))

    def _name(self, token: Token) -> str:
        if token in RESERVED:
            raise self._error(f"`{token}` is a word of the language and cannot be a name", token)
        return str(token)

    def _function_name(self, token: Token) -> str:
        if token.capitalize() in STATEMENT_WORDS or token in ("item", "items"):
            message = f"`{token}` is a word of the language and cannot name a function"
            raise self._error(message, token)
        return self._name(token)

    # ---- statements

    def let(
        self,
        meta: Meta,
        mutable: Token | None,
        name: Token,
        kind: tree.Type | None,
        value: Expression,
    ) -> tree.Statement:
        at = self._at(meta)
        if isinstance(value, tree.Phrase) and _declares(value):
            if kind is not None:
                raise self._error(f"{DECLARATION}, with no type before `be`", meta)
            return self._declaration(at, self._name(name), value)
        return tree.Let(self._name(name), value, kind, mutable is not None, position=at)

    def let_typed(
        self, meta: Meta, name: Token, kind: tree.Type, value: Expression
    ) -> tree.Statement:
        return self.let(meta, None, name, kind, value)

    def _declaration(self, at: Position, name: str, phrase: tree.Phrase) -> tree.Declare:
        match [part.text if isinstance(part, tree.Word) else part for part in phrase.parts]:
            case [_, rows, "by", columns, "tensor", "of", ("Real" | "Float" | "Int") as kind]:
                kind = "Int" if kind == "Int" else "Real"
                sizes = self._size(rows, phrase.parts[1]), self._size(columns, phrase.parts[3])
                return tree.Declare(name, *sizes, kind, position=at)
        raise self.source.error_at(DECLARATION, phrase.position)

    def _size(self, size: object, part: tree.Node) -> tree.IntLiteral | tree.Name:
        if isinstance(size, str):
            return tree.Name(size, position=part.position)
        if isinstance(size, tree.IntLiteral) and size.value > 0:
            return size
        message = "the size of a tensor is a whole number from one up, or the name of one"
        raise self.source.error_at(message, part.position)

    def assign(self, meta: Meta, target: Expression, value: Expression) -> tree.Statement:
        if not isinstance(target, tree.Name):
            return tree.Set(target, value, position=self._at(meta))
        name = Token("NAME", target.id)
        return self.let(meta, None, name, None, value)

    def set(self, meta: Meta, target: Expression, value: Expression) -> tree.Set:
        return tree.Set(target, value, position=self._at(meta))

    def set_phrase(self, meta: Meta, first: Token, *rest: Any) -> tree.SetPhrase:
        *parts, value = rest
        return tree.SetPhrase((self._word(first), *parts), value, position=self._at(meta))

    def update(self, meta: Meta, target: Expression, sign: Token, value: Expression) -> tree.Update:
        return tree.Update(target, sign[0], value, position=self._at(meta))

    def call_statement(self, meta: Meta, call: tree.Call) -> tree.CallStatement:
        return tree.CallStatement(call, position=self._at(meta))

    def call_with(self, meta: Meta, name: Token, *given: Expression | None) -> tree.CallStatement:
        arguments = tuple(argument for argument in given if argument is not None)
        call = tree.Call(self._function_name(name), arguments, position=self._at(meta))
        return tree.CallStatement(call, position=self._at(meta))

    def show(self, meta: Meta, value: Expression) -> tree.Show:
        return tree.Show(value, position=self._at(meta))

    def push(self, meta: Meta, value: Expression, target: Expression) -> tree.Push:
        return tree.Push(value, target, position=self._at(meta))

    def pop(self, meta: Meta, target: Expression, into: Token | None) -> tree.Pop:
        name = None if into is None else self._name(into)
        return tree.Pop(target, name, position=self._at(meta))

    def break_(self, meta: Meta) -> tree.Break:
        return tree.Break(position=self._at(meta))

    def return_(
        self, meta: Meta, value: Expression | None, condition: Expression | None
    ) -> tree.Return:
        return tree.Return(value, condition, position=self._at(meta))

    # ---- heads of blocks

    def if_(self, meta: Meta, condition: Expression) -> tree.If:
        return tree.If(((condition, ()),), position=self._at(meta))

    def otherwise(self, meta: Meta, condition: Expression | None = None) -> Otherwise:
        return Otherwise(condition, position=self._at(meta))

    def while_(self, meta: Meta, condition: Expression) -> tree.While:
        return tree.While(condition, (), position=self._at(meta))

    def repeat_range(
        self, meta: Meta, name: Token, first: Expression, last: Expression
    ) -> tree.RepeatRange:
        return tree.RepeatRange(self._name(name), first, last, (), position=self._at(meta))

    def repeat_each(self, meta: Meta, name: Token, sequence: Expression) -> tree.RepeatEach:
        return tree.RepeatEach(self._name(name), sequence, (), position=self._at(meta))

    def repeat_forever(self, meta: Meta) -> tree.RepeatForever:
        return tree.RepeatForever((), position=self._at(meta))

    # ---- sections

    def main(self, meta: Meta) -> None:
        return None

    def function(
        self,
        meta: Meta,
        name: Token,
        parameters: tuple[tree.Parameter, ...] | None,
        result: tree.Type | None,
    ) -> tree.Function:
        given = parameters or ()
        seen: set[str] = set()
        for parameter in given:
            if parameter.name in seen:
                message = f"`{name}` has two parameters named `{parameter.name}`"
                raise self.source.error_at(message, parameter.position)
            seen.add(parameter.name)
        return tree.Function(self._function_name(name), given, result, (), position=self._at(meta))

    def parameters(self, meta: Meta, *given: tree.Parameter | None) -> tuple[tree.Parameter, ...]:
        return tuple(parameter for parameter in given if parameter is not None)

    def parameter(
        self, meta: Meta, name: Token, mutable: Token | None, kind: tree.Type
    ) -> tree.Parameter:
        return tree.Parameter(self._name(name), kind, mutable is not None, position=self._at(meta))

    def type(self, meta: Meta, name: Token) -> tree.Type:
        if name == "Seq":
            raise self._error("a `Seq` says of what: `Seq of Real`", name)
        if name not in TYPES:
            near = closest(name, TYPES)
            hint = f"; did you mean `{near}`?" if near else f": there are {', '.join(TYPES)}"
            raise self._error(f"`{name}` is not a type{hint}", name)
        return tree.Type("Real" if name == "Float" else str(name), position=self._at(meta))

    def seq_type(self, meta: Meta, element: tree.Type) -> tree.Type:
        return tree.Type("Seq", element, position=self._at(meta))

    # ---- phrases

    def word(self, meta: Meta, token: Token) -> tree.Word:
        return self._word(token)

    def _word(self, token: Token) -> tree.Word:
        return tree.Word(str(token), position=self._at(token))

    def phrase(self, meta: Meta, head: Token, *parts: Any) -> tree.Phrase:
        return tree.Phrase((self._word(head), *parts), position=self._at(meta))

    def phrase_from_value(self, meta: Meta, *parts: Any) -> tree.Phrase:
        return tree.Phrase(parts, position=self._at(meta))

    def phrase_from_call(self, meta: Meta, head: Token, *parts: Any) -> tree.Phrase:
        return self.phrase(meta, head, *parts)

    def negative(self, meta: Meta, sign: Token, figure: Any) -> Expression:
        kind: type[tree.IntLiteral | tree.RealLiteral] = type(figure)
        return kind(-figure.value, position=self._at(meta))

    # ---- expressions

    def or_(self, meta: Meta, left: Expression, right: Expression) -> tree.Logic:
        return tree.Logic("or", left, right, position=self._at(meta))

    def and_(self, meta: Meta, left: Expression, right: Expression) -> tree.Logic:
        return tree.Logic("and", left, right, position=self._at(meta))

    def not_(self, meta: Meta, operand: Expression) -> tree.Unary:
        return tree.Unary("not", operand, position=self._at(meta))

    def chain(self, meta: Meta, *given: Any) -> tree.Comparison:
        operators = tuple(COMPARISONS.get(_spaced(sign), _spaced(sign)) for sign in given[1::2])
        return tree.Comparison(given[::2], operators, position=self._at(meta))

    def between(
        self, meta: Meta, value: Expression, sign: Token, low: Expression, high: Expression
    ) -> Expression:
        return _negated(sign, tree.Between(value, low, high, position=self._at(meta)))

    def parity(self, meta: Meta, value: Expression, sign: Token) -> Expression:
        return _negated(sign, tree.Parity(value, sign.split()[-1], position=self._at(meta)))

    def divisible(
        self, meta: Meta, value: Expression, sign: Token, divisor: Expression
    ) -> Expression:
        return _negated(sign, tree.Divisible(value, divisor, position=self._at(meta)))

    def contains(self, meta: Meta, sequence: Expression, value: Expression) -> tree.Contains:
        return tree.Contains(sequence, value, position=self._at(meta))

    def binary(self, meta: Meta, left: Expression, sign: Token, right: Expression) -> tree.Binary:
        typed = _spaced(sign)
        spelling = typed if typed in OPERATORS else ""
        operator = OPERATORS.get(typed, typed)
        return tree.Binary(operator, left, right, spelling, position=self._at(meta))

    def minus(self, meta: Meta, sign: Token, operand: Expression) -> tree.Unary:
        return tree.Unary("-", operand, position=self._at(meta))

    def call(self, meta: Meta, function: Token, *arguments: Expression) -> tree.Call:
        return tree.Call(self._name(function), arguments, position=self._at(meta))

    def item(self, meta: Meta, index: Expression, sequence: Expression) -> tree.Item:
        return tree.Item(index, sequence, position=self._at(meta))

    def index(self, meta: Meta, sequence: Expression, index: Expression) -> tree.Item:
        return tree.Item(index, sequence, position=self._at(meta))

    def items(
        self, meta: Meta, first: Expression, last: Expression, sequence: Expression
    ) -> tree.Items:
        return tree.Items(first, last, sequence, position=self._at(meta))

    def length(self, meta: Meta, sequence: Expression) -> tree.Length:
        return tree.Length(sequence, position=self._at(meta))

    def copy(self, meta: Meta, value: Expression) -> tree.Copy:
        return tree.Copy(value, position=self._at(meta))

    def seq_literal(self, meta: Meta, *given: Expression | None) -> tree.SeqLiteral:
        items = tuple(item for item in given if item is not None)
        return tree.SeqLiteral(items, position=self._at(meta))

    def new_seq(self, meta: Meta, element: tree.Type) -> tree.NewSeq:
        return tree.NewSeq(element, position=self._at(meta))

    # ---- atoms

    def name(self, meta: Meta, token: Token) -> Expression:
        at = self._at(meta)
        if token in ("true", "false"):
            return tree.BoolLiteral(token == "true", position=at)
        if token in CONSTANTS:
            return tree.Special(str(token), position=at)
        return tree.Name(self._name(token), position=at)

    def int_literal(self, meta: Meta, typed: Token) -> tree.IntLiteral:
        if len(typed) > MOST_DIGITS:
            raise self._error(f"a number is written in at most {MOST_DIGITS} digits", meta)
        digits = typed.replace("_", "")
        base = {"x": 16, "b": 2, "o": 8}.get(digits[1:2].lower(), 10)
        try:
            return tree.IntLiteral(int(digits, base), position=self._at(meta))
        except ValueError:
            raise self._error(f"`{typed}` is not a number", meta) from None

    def real_literal(self, meta: Meta, typed: Token) -> tree.RealLiteral:
        value = float(typed.replace("_", ""))
        if math.isinf(value):
            raise self._error(f"`{typed}` is too large for a Real; there is `infinity`", meta)
        return tree.RealLiteral(value, position=self._at(meta))

    def text(self, meta: Meta, typed: Token) -> tree.TextLiteral:
        start = int(meta.start_pos)
        try:
            found = tuple(pieces(typed))
        except TextFault as fault:
            raise self.source.error(fault.reason, start + fault.start, start + fault.end) from None
        parts = tuple(self._piece(start, part) for part in found)
        return tree.TextLiteral(parts, position=self._at(meta))

    def _piece(self, start: int, braces: str | Braces) -> str | tree.Interpolation:
        if isinstance(braces, str):
            return braces
        first, end = start + braces.start, start + braces.end
        value = self.expression(first, end)
        return tree.Interpolation(value, braces.form, position=self.source.position(first, end))


def _spaced(sign: str) -> str:
    return " ".join(sign.split())


def _negated(sign: Token, test: Expression) -> Expression:
    negative = re.search(r"\bnot\b", sign) is not None
    return tree.Unary("not", test, position=test.position) if negative else test


def _declares(phrase: tree.Phrase) -> bool:
    """Is this meant as `a 4 by 8 tensor of Real`, be it not quite right?"""
    words = [part.text if isinstance(part, tree.Word) else None for part in phrase.parts]
    if words[0] not in ("a", "an"):
        return False
    before_of = [word for word, following in pairwise(words) if following == "of"]
    meant = any(word is not None and closest(word, ["tensor"]) for word in before_of)
    return meant or not isinstance(phrase.parts[1], tree.Word)
