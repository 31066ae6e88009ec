"""From an exception in a compiled program to the error that a person sees.

In: the exception, the Compiled, the Program. Out: LogosRuntimeError (or ShapeError) with the
innermost line of the program that was running. May not know: how the text was written, beyond what
`Lines` noted.
"""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from logosnb.interpreter.compile import Compiled
from logosnb.interpreter.fault import Fault
from logosnb.interpreter.lines import Access, Place, original
from logosnb.interpreter.sequences import out_of_range
from logosnb.language.errors import LogosRuntimeError
from logosnb.stages.program import Program

HERE = str(Path(__file__).parent)
OURS = re.compile(r"'((?:[mf]_)?[uv]_\w+)'")

SENTENCES: dict[type[BaseException], str] = {
    ZeroDivisionError: "an Int is divided by zero",
    OverflowError: "an Int is too large to become a Real",
    MemoryError: "the computer has not enough memory for this",
    ValueError: "an Int is too large for a tensor of Int, which holds 64 bits",
}


def located(failure: Exception, compiled: Compiled, program: Program) -> Exception:
    """The error for a person; the failure itself where it came from outside the interpreter."""
    trace = _innermost(failure.__traceback__, compiled.filename)
    if trace is None or not (isinstance(failure, Fault) or _inside(failure, compiled.filename)):
        return failure
    place = compiled.places[trace.tb_lineno - 1]
    error = failure.error if isinstance(failure, Fault) else LogosRuntimeError
    line = compiled.text.splitlines()[trace.tb_lineno - 1]
    sentence = _sentence(failure, trace, place, line)
    return error(sentence, place.position, program.source, program.first_line)


def _innermost(trace: TracebackType | None, filename: str) -> TracebackType | None:
    """The last entry that stands in the compiled program."""
    found = None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == filename:
            found = trace
        trace = trace.tb_next
    return found


def _inside(failure: Exception, filename: str) -> bool:
    """Whether it was raised by the program or by a helper: not by what shows the output."""
    trace = failure.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    raised = trace.tb_frame.f_code.co_filename if trace is not None else ""
    return raised == filename or raised.startswith(HERE)


def _sentence(failure: Exception, trace: TracebackType, place: Place, line: str) -> str:
    match failure:
        case Fault(sentence=sentence):
            return sentence
        case IndexError():
            return _outside(trace, place.accesses, line)
        case NameError():
            found = OURS.search(str(failure))
            name = original(found[1]) if found else None
            return f"`{name}` has no value yet" if name else "a name has no value yet"
        case RecursionError():
            name = original(trace.tb_frame.f_code.co_name)
            return f"`{name}` calls itself too deeply" if name else "this is nested too deeply"
    kinds = (sentence for kind, sentence in SENTENCES.items() if isinstance(failure, kind))
    return next(kinds, f"the interpreter cannot do this ({type(failure).__name__})")


# ---- an index out of range --------------------------------------------------------------------


def _outside(trace: TracebackType, accesses: tuple[Access, ...], line: str) -> str:
    """The sentence for the access that failed: found by its text, else the first that fails."""
    failed = _failed_text(trace, line)
    for access in accesses:
        if failed in (None, access.text):
            sentence = _tried(access, trace.tb_frame)
            if sentence is not None:
                return sentence
    return "an index is out of range"


def _failed_text(trace: TracebackType, line: str) -> str | None:
    """The text of the instruction that failed, which Python keeps (unless told not to)."""
    positions = trace.tb_frame.f_code.co_positions()
    _, _, start, end = next(islice(positions, trace.tb_lasti // 2, None))
    return None if start is None or end is None else line[start:end]


def _tried(access: Access, frame: FrameType) -> str | None:
    """The sentence if the access fails when it is run again: it has no effects."""
    scope: dict[str, Any] = dict(frame.f_locals)
    holder, index = (eval(text, frame.f_globals, scope) for text in (access.holder, access.place))
    if 1 <= index <= len(holder):
        return None
    view = frame.f_locals.get(access.holder.removeprefix("m_"))
    return out_of_range(view if isinstance(holder, memoryview) else holder, index, access.name)
