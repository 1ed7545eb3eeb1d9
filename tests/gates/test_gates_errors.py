"""What the codes of errors promise: each is one word, and has one meaning."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
CODE = [path for name in ("actors", "runtime") for path in (ROOT / name).rglob("*.py")]


def test_a_code_belongs_to_one_error_alone() -> None:
    found: dict[str, list[str]] = {}
    for name, code in _codes():
        found.setdefault(code, []).append(name)

    assert len(found) > 100
    assert {code: names for code, names in found.items() if len(names) > 1} == {}


def test_a_code_is_a_word_in_capitals() -> None:
    assert [
        code for _, code in _codes() if not re.fullmatch(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)*", code)
    ] == []


def _codes() -> Iterator[tuple[str, str]]:
    """Yield the name of every class of an error that has a code of its own, and the code."""
    for path in CODE:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and node.name.endswith("Error"):
                yield from ((node.name, code) for code in map(_code, node.body) if code)


def _code(statement: ast.stmt) -> str | None:
    """Return what a statement sets ``code`` to; None when it does not."""
    match statement:
        case (
            ast.Assign(targets=[ast.Name("code")], value=ast.Constant(str(code)))
            | ast.AnnAssign(target=ast.Name("code"), value=ast.Constant(str(code)))
        ):
            return code
        case _:
            return None
