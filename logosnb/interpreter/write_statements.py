"""How statements are written in Python, one or more lines each.

In: statements. Out: lines in the section's `Lines`. May not know: sections, how they are run.
"""

from __future__ import annotations

from functools import singledispatch

from logosnb.interpreter.lines import variable
from logosnb.interpreter.section import (
    ATOM,
    SUM,
    Code,
    Section,
    converted,
    copy_of,
    emit,
    fitted,
    flat_name,
    is_pure,
    owned,
    said,
    stored_as,
)
from logosnb.interpreter.stages import runner
from logosnb.interpreter.write_arithmetic import HELPERS
from logosnb.interpreter.write_calls import called, returned
from logosnb.interpreter.write_items import element_type, place
from logosnb.interpreter.write_values import shown, truth
from logosnb.language import tree
from logosnb.language.tree import INT, Expression, Position, Statement
from logosnb.language.words import BUILTINS
from logosnb.stages.stage import Stage
from logosnb.stages.typing import ANY, NUMBER, NUMERIC, element_of, tensor

AUGMENTED = ("+", "-", "*")


@singledispatch
def write(statement: Statement, section: Section) -> None:
    """Add the Python lines of a statement."""
    raise TypeError(type(statement).__name__)


def write_block(statements: tuple[Statement, ...], section: Section, at: Position) -> None:
    """The lines of a block, one level in."""
    section.lines.depth += 1
    for statement in statements:
        write(statement, section)
    if not statements:
        section.add("pass", at)
    section.lines.depth -= 1


# ---- binding ----------------------------------------------------------------------------------


def bind(name: str, text: str, section: Section, at: Position) -> None:
    """`name` becomes the value of the Python text, and its flat view that of the new tensor."""
    section.add(f"{variable(name)} = {text}", at)
    if name in section.flat:
        section.add(f"{flat_name(name)} = _flat({variable(name)})", at)


@write.register
def _(let: tree.Let, section: Section) -> None:
    code = stored_as(let.name, let.value, section)
    if let.type is not None and let.name not in section.types.fixed:
        code = converted(code, let.type, f"`{let.name}` takes", section)
    bind(let.name, code.text, section, let.position)


@write.register
def _(declare: tree.Declare, section: Section) -> None:
    rows, columns = (emit(size, section).text for size in (declare.rows, declare.columns))
    zeros = f"_zeros({rows}, {columns}, {ascii(declare.kind)})"
    if declare.name in section.declared:
        supplied = f"_inputs.get({ascii(declare.name)})"
        zeros = f"{zeros} if (t_0 := {supplied}) is None else t_0.copy()"
    bind(declare.name, zeros, section, declare.position)


@write.register
def _(stage: Stage, section: Section) -> None:
    names = [str(value) for value in stage.operands.values() if isinstance(value, str)]
    run = section.object(runner(stage))
    text = f"{run}({', '.join(map(variable, names))})"
    if stage.definition.writes is not None:
        section.add(text, stage.position)
    else:
        bind(stage.out, text, section, stage.position)


# ---- setting ----------------------------------------------------------------------------------


@write.register
def _(set_: tree.Set, section: Section) -> None:
    if isinstance(set_.target, tree.Name):
        _set_name(set_.target.id, set_.value, section, set_.position)
    elif isinstance(set_.target, tree.Item):
        _set_item(set_.target, owned(set_.value, section), section, set_.position)


def _set_name(name: str, value: Expression, section: Section, at: Position) -> None:
    kind, quoted = section.type_of(tree.Name(name)), ascii(f"`{name}`")
    if kind.name == "Tensor":
        section.add(f"_overwrite({variable(name)}, {emit(value, section).text}, {quoted})", at)
    else:
        bind(name, stored_as(name, value, section).text, section, at)


def _set_item(item: tree.Item, value: Code, section: Section, at: Position) -> None:
    whole = section.type_of(item.sequence)
    target = None if whole.name == "Text" else place(item, section)
    if target is None or (whole.name == "Tensor" and element_of(whole) == NUMBER):
        holder, index = emit(item.sequence, section).text, emit(item.index, section).text
        fitting = _for_item(item, value, section).text
        section.add(f"_set_item({holder}, {index}, {fitting}, {said(item.sequence)})", at)
    else:
        section.add(f"{target.text} = {_for_item(item, value, section).text}", at)


def _for_item(item: tree.Item, value: Code, section: Section) -> Code:
    """A value as the type that items of a tensor, or of a Seq whose type is given, have."""
    whole = section.type_of(item.sequence)
    wanted = element_type(item.sequence, section)
    if whole.name == "Tensor":
        wanted = element_of(whole)
        if wanted == NUMBER or (wanted == tree.REAL and value.type in NUMERIC):
            return value  # the flat view makes a Real of an Int, `_set_item` knows the kind
    name = said(item.sequence)[1:-1]
    return converted(value, wanted, f"an item of `{name}` takes", section)


@write.register
def _(update: tree.Update, section: Section) -> None:
    target, at = update.target, update.position
    if isinstance(target, tree.Item) and not is_pure(target):
        _update_once(target, update, section, at)
        return
    computed = tree.Binary(update.operator, target, update.value, position=at)
    if _augment(target, update, section):
        return
    if isinstance(target, tree.Item):
        _set_item(target, emit(computed, section), section, at)
    elif isinstance(target, tree.Name):
        _update_name(target, emit(computed, section), section, at)


def _update_name(target: tree.Name, computed: Code, section: Section, at: Position) -> None:
    bind(target.id, fitted(target.id, computed, section).text, section, at)


def _augment(target: Expression, update: tree.Update, section: Section) -> bool:
    """Write `target += value` as it is in Python, where types allow it; whether that was done."""
    kinds = section.type_of(target), section.type_of(update.value)
    if update.operator not in AUGMENTED or not all(kind in NUMERIC for kind in kinds):
        return False
    widened = section.type_of(tree.Binary(update.operator, target, update.value))
    if isinstance(target, tree.Name):
        if section.types.fixed.get(target.id, widened) != widened:
            return False
        text = variable(target.id)
    else:
        direct = _settable(target, widened, section)
        if direct is None:
            return False
        text = direct
    value = emit(update.value, section).text
    section.add(f"{text} {update.operator}= {value}", update.position)
    return True


def _settable(target: Expression, value: tree.Type, section: Section) -> str | None:
    """The Python text of an item that takes values of a type as they are."""
    if not isinstance(target, tree.Item):
        return None
    whole = section.type_of(target.sequence)
    wanted = element_of(whole) if whole.name == "Tensor" else element_type(target.sequence, section)
    if whole.name == "Text" or wanted not in (value, ANY) or whole == tensor("Number"):
        return None
    direct = place(target, section)
    return None if direct is None else direct.text


def _update_once(item: tree.Item, update: tree.Update, section: Section, at: Position) -> None:
    """An update of an item whose place calls functions: the place is computed once."""
    holder, index, name = section.temporary(), section.temporary(), said(item.sequence)
    section.add(f"{holder} = {emit(item.sequence, section).text}", at)
    section.add(f"{index} = {emit(item.index, section).text}", at)
    value = emit(update.value, section).text
    computed = f"{HELPERS[update.operator]}(_item({holder}, {index}, {name}), {value})"
    fitting = _for_item(item, Code(computed, NUMBER), section).text
    section.add(f"_set_item({holder}, {index}, {fitting}, {name})", at)


# ---- sequences --------------------------------------------------------------------------------


@write.register
def _(push: tree.Push, section: Section) -> None:
    name = said(push.target)
    value = owned(push.value, section)
    wanted = element_type(push.target, section)
    value = converted(value, wanted, f"an item of `{name[1:-1]}` takes", section)
    target = emit(push.target, section)
    if target.type.name == "Seq":
        section.add(f"{target.within(ATOM)}.append({value.text})", push.position)
    else:
        section.add(f"_push({value.text}, {target.text}, {name})", push.position)


@write.register
def _(pop: tree.Pop, section: Section) -> None:
    target = emit(pop.target, section)
    text = f"_pop({target.text}, {said(pop.target)})"
    if pop.into is None:
        section.add(text, pop.position)
        return
    found = element_of(target.type)
    code = fitted(pop.into, Code(text, found), section)
    bind(pop.into, code.text, section, pop.position)


# ---- control ----------------------------------------------------------------------------------


@write.register
def _(if_: tree.If, section: Section) -> None:
    for number, (condition, body) in enumerate(if_.branches):
        word, at = ("elif", condition.position) if number else ("if", if_.position)
        section.add(f"{word} {truth(condition, section).text}:", at)
        write_block(body, section, at)
    if if_.otherwise is not None:
        section.add("else:", if_.position)
        write_block(if_.otherwise, section, if_.position)


def _loop(head: str, body: tuple[Statement, ...], section: Section, at: Position) -> None:
    section.add(head, at)
    section.loops += 1
    write_block(body, section, at)
    section.loops -= 1


@write.register
def _(loop: tree.While, section: Section) -> None:
    _loop(f"while {truth(loop.condition, section).text}:", loop.body, section, loop.position)


@write.register
def _(loop: tree.RepeatForever, section: Section) -> None:
    _loop("while True:", loop.body, section, loop.position)


@write.register
def _(loop: tree.RepeatRange, section: Section) -> None:
    first, last = _end(loop.first, "from", section), _end(loop.last, "to", section)
    beyond = f"{last.within(SUM)} + 1"
    if isinstance(loop.last, tree.IntLiteral):
        beyond = str(loop.last.value + 1)
    head = f"for {variable(loop.name)} in range({first.text}, {beyond}):"
    _run_over(loop.name, INT, head, loop, section)


def _end(expression: Expression, word: str, section: Section) -> Code:
    code = emit(expression, section)
    return converted(code, INT, f"`Repeat for … {word}` needs", section)


@write.register
def _(loop: tree.RepeatEach, section: Section) -> None:
    whole = emit(loop.sequence, section)
    if whole.type.name in ("Seq", "Text"):
        text = (
            copy_of(whole).text if isinstance(loop.sequence, tree.Name | tree.Item) else whole.text
        )
    else:
        text = f"_each({whole.text})"
    head = f"for {variable(loop.name)} in {text}:"
    _run_over(loop.name, element_of(whole.type), head, loop, section)


def _run_over(
    name: str,
    element: tree.Type,
    head: str,
    loop: tree.RepeatRange | tree.RepeatEach,
    section: Section,
) -> None:
    """A loop whose name has each value in turn, as the type that the program may give to it."""
    given = fitted(name, Code(variable(name), element), section).text
    section.add(head, loop.position)
    section.loops += 1
    section.lines.depth += 1
    if given != variable(name):
        section.add(f"{variable(name)} = {given}", loop.position)
    if name in section.flat:
        section.add(f"{flat_name(name)} = _flat({variable(name)})", loop.position)
    section.lines.depth -= 1
    write_block(loop.body, section, loop.position)
    section.loops -= 1


@write.register
def _(break_: tree.Break, section: Section) -> None:
    refusal = "_refuse('`Break` stands in no loop')"
    section.add("break" if section.loops else refusal, break_.position)


@write.register
def _(return_: tree.Return, section: Section) -> None:
    at = return_.position
    if return_.condition is not None:
        section.add(f"if {truth(return_.condition, section).text}:", at)
        section.lines.depth += 1
    _leave(return_.value, section, at)
    if return_.condition is not None:
        section.lines.depth -= 1


def _leave(value: Expression | None, section: Section, at: Position) -> None:
    if section.name is None:
        if value is not None:
            section.add(emit(value, section).text, at)
        section.add("return locals()", at)
    elif value is not None:
        section.add(f"return {returned(value, section).text}", at)
    elif section.types.functions[section.name].result is not None:
        section.add(f"_refuse({ascii(missing_result(section))})", at)
    else:
        section.add("return None", at)


def missing_result(section: Section) -> str:
    """The sentence for a function that owes a result."""
    result = section.types.functions[section.name or ""].result
    return f"`{section.name}` ends without the {result} that it returns"


# ---- the rest ---------------------------------------------------------------------------------


@write.register
def _(show: tree.Show, section: Section) -> None:
    section.add(f"_out({shown(show.value, section)})", show.position)


@write.register
def _(statement: tree.CallStatement, section: Section) -> None:
    call = statement.call
    code = emit(call, section) if call.function in BUILTINS else called(call, section)
    section.add(code.text, statement.position)
