"""Nests sentences: which stand in which block, which `Otherwise` goes with which `If`.

In: sentences in their order, and a way to parse each. Out: the whole `Source`. LogosSyntaxError
where indentation, an empty block or a section does not fit. May not know: the grammar.

The body of a block is what stands further in on the lines below its head; or, where a sentence
follows on the head's own line, what follows on that line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from logosnb.language import tree
from logosnb.language.builder import Otherwise
from logosnb.language.errors import LogosSyntaxError
from logosnb.language.sentences import Sentence, SourceText
from logosnb.language.words import BUILTINS

MOST_NESTED = 50  # Python's own limit for blocks is 100
Body = tuple[tree.Statement, ...]


class Outline:
    """Reads sentences from the front; `parse` gives the node of one, a head with an empty body."""

    def __init__(
        self, source: SourceText, sentences: Iterable[Sentence], parse: Callable[[Sentence], Any]
    ) -> None:
        self.source = source
        self.parse = parse
        self.sentences = iter(sentences)
        self.next: Sentence | None = None
        self.node: Any = None
        self.previous: Sentence | None = None
        self.depth = 0
        self._advance()

    def _advance(self) -> None:
        """On to the next sentence: parsed now, so that errors come in the order of the text."""
        self.previous = self.next
        self.next = next(self.sentences, None)
        self.node = self.parse(self.next) if self.next else None

    def _error(self, message: str, sentence: Sentence) -> LogosSyntaxError:
        return self.source.error(message, sentence.start, sentence.end)

    # ---- sections

    def read(self) -> tree.Source:
        """The whole program: what stands before any section is Main's too."""
        main = self._section()
        functions: dict[str, tree.Function] = {}
        has_main = False
        while self.next is not None:
            sentence, header = self.next, self.node
            self._advance()
            if header is None:
                if has_main:
                    raise self._error("there is a `## Main` already, above", sentence)
                has_main, main = True, main + self._section()
            else:
                self._check_new(header, functions, sentence)
                functions[header.name] = replace(header, body=self._section())
        return tree.Source(main, tuple(functions.values()))

    def _check_new(
        self, header: tree.Function, functions: dict[str, tree.Function], sentence: Sentence
    ) -> None:
        if header.name in functions:
            raise self._error(f"there is a function `{header.name}` already, above", sentence)
        if header.name in BUILTINS:
            message = f"`{header.name}` is built in: give the function another name"
            raise self._error(message, sentence)

    def _section(self) -> Body:
        if self.next is None or self.next.mark == "##":
            return ()
        body = self._block(self.next.indent)
        if self.next is not None and self.next.mark != "##":
            raise self._misplaced(self.next)
        return body

    # ---- blocks

    def _block(self, indent: int) -> Body:
        """The sentences from here on whose lines are indented by `indent`."""
        body: list[tree.Statement] = []
        while (sentence := self.next) is not None and sentence.mark != "##":
            if sentence.begins_line and sentence.indent < indent:
                break
            if sentence.begins_line and sentence.indent > indent:
                raise self._misplaced(sentence)
            body.append(self._statement(inline=False))
        return tuple(body)

    def _inline(self, line: int) -> Body:
        """The sentences from here on that stand on `line`, up to an `Otherwise`."""
        body: list[tree.Statement] = []
        while self.next is not None and self._follows_on(line):
            if isinstance(self.node, Otherwise):
                break
            body.append(self._statement(inline=True))
        return tuple(body)

    def _follows_on(self, line: int) -> bool:
        sentence = self.next
        return sentence is not None and sentence.line == line and not sentence.begins_line

    def _misplaced(self, sentence: Sentence) -> LogosSyntaxError:
        if self.previous is not None and sentence.indent < self.previous.indent:
            return self._error("this line is indented like no block that is open here", sentence)
        if self.previous is None:
            return self._error("this line is indented less than the first one", sentence)
        return self._error("this line is indented, but no block begins above it", sentence)

    # ---- one statement, with what stands under it

    def _statement(self, inline: bool) -> tree.Statement:
        sentence, node = self.next, self.node
        assert sentence is not None
        if isinstance(node, Otherwise):
            word = self.source.text[sentence.start : sentence.end].split()[0].rstrip(":")
            raise self._error(f"this `{word}` has no `If` before it", sentence)
        self._advance()
        if sentence.mark != ":":
            return node  # type: ignore[no-any-return]  # a parsed sentence without a colon is one
        if isinstance(node, tree.If):
            return self._if(node, sentence, inline)
        return replace(node, body=self._body(sentence))  # type: ignore[no-any-return]  # likewise

    def _if(self, head: tree.If, sentence: Sentence, inline: bool) -> tree.If:
        branches = [(head.branches[0][0], self._body(sentence))]
        while isinstance(self.node, Otherwise) and self._belongs(sentence, inline):
            condition, head_sentence = self.node.condition, self.next
            assert head_sentence is not None
            self._advance()
            body = self._body(head_sentence)
            if condition is None:
                return replace(head, branches=tuple(branches), otherwise=body)
            branches.append((condition, body))
        return replace(head, branches=tuple(branches))

    def _belongs(self, head: Sentence, inline: bool) -> bool:
        """Does the `Otherwise` that comes next go with the If of `head`?"""
        assert self.next is not None
        if not self.next.begins_line:
            return True
        return self.next.indent == head.indent and not inline

    def _body(self, head: Sentence) -> Body:
        self.depth += 1
        if self.depth > MOST_NESTED:
            raise self._error(f"blocks are nested more than {MOST_NESTED} deep here", head)
        body = self._inline(head.end_line) if self._follows_on(head.end_line) else self._below(head)
        self.depth -= 1
        return body

    def _below(self, head: Sentence) -> Body:
        following = self.next
        inside = following is not None and following.mark != "##" and following.indent > head.indent
        if following is None or not inside:
            raise self._error(
                "this block is empty: indent the sentences that belong to it below", head
            )
        return self._block(following.indent)
