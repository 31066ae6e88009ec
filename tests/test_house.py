"""The house rules: what an import loads, how long files and functions are, headers."""

from __future__ import annotations

import ast
import statistics
import subprocess
import sys
from pathlib import Path

import logosnb

ROOT = Path(logosnb.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))


def test_importing_loads_nothing_heavy() -> None:
    code = (
        "import sys, logosnb; "
        "print([m for m in ('numba', 'IPython', 'matplotlib', 'lark', 'ipywidgets') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_every_public_name_is_there_and_described() -> None:
    for name in logosnb.__all__:
        assert (getattr(logosnb, name).__doc__ or "").strip(), name


def test_every_file_has_a_header_and_under_500_lines() -> None:
    for path in FILES:
        text = path.read_text()
        if path.name == "__init__.py" and not text.strip():
            continue
        assert (ast.get_docstring(ast.parse(text)) or "").strip(), f"{path.name} has no header"
        assert len(text.splitlines()) <= 500, path.name


def test_functions_are_short() -> None:
    lengths = [
        node.end_lineno - node.lineno + 1
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef)
    ]
    assert statistics.median(lengths) <= 9
    assert sorted(lengths)[int(0.9 * len(lengths))] <= 25
