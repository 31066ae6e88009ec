"""`%load_ext logosnb`: what it adds to a shell, and takes away again.

In: an IPython shell. Out: the magics and the completion, once each however often it is loaded. May not
know: what they do.
"""

from __future__ import annotations

from typing import Any

from logosnb.notebook.completion import IDENTIFIER, matcher
from logosnb.notebook.magic import LogosMagics


def load(shell: Any) -> None:
    """Add `%%logos`, `%logos_ops` and their completion."""
    shell.register_magics(LogosMagics(shell))
    if shell.Completer is not None:
        _remove_matcher(shell.Completer)
        shell.Completer.custom_matchers.append(matcher)


def unload(shell: Any) -> None:
    """Take them away."""
    for kind, name in (("cell", "logos"), ("line", "logos_ops")):
        shell.magics_manager.magics[kind].pop(name, None)
    if shell.Completer is not None:
        _remove_matcher(shell.Completer)


def _remove_matcher(completer: Any) -> None:
    completer.custom_matchers[:] = [
        other
        for other in completer.custom_matchers
        if getattr(other, "matcher_identifier", None) != IDENTIFIER
    ]
