"""Every import contract bites: each is broken once, in a copy of the tree, and must say so."""

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
    "contracts"
]
PURE_FILES = next(contract for contract in CONTRACTS if contract["id"] == "pure-files")
PURE = next(contract for contract in CONTRACTS if contract["id"] == "pure")

PLANTED = {
    "actors/log/planted.py": "".join(f"import {name}\n" for name in PURE["forbidden_modules"]),
    "actors/rules/planted.py": "import trio\n\nimport actors.log.events\n",
    "actors/kernel/planted.py": "import actors.session.messages\n",
    "actors/session/planted.py": "import runtime.engine\n",
    "actors/stray.py": "",
    "runtime/stores/planted.py": "import ray\n\nimport runtime.models\n",
    "runtime/engine/planted.py": "import apsw\nimport click\nimport openai\nimport psycopg\n\nimport runtime.cli\n",
    "runtime/stray.py": "",
}

REPORTED = {
    "actors-layers": [
        "actors.rules is not allowed to import actors.log",
        "actors.kernel is not allowed to import actors.session",
        "actors.stray",
    ],
    "runtime-layers": [
        "runtime.stores is not allowed to import runtime.models",
        "runtime.engine is not allowed to import runtime.cli",
        "runtime.stray",
    ],
    "actors-not-runtime": ["actors is not allowed to import runtime"],
    "pure": [
        *(f"actors.log is not allowed to import {name}" for name in PURE["forbidden_modules"]),
        "actors.rules is not allowed to import trio",
    ],
    "pure-files": ["runtime.cli.plan is not allowed to import random"],
    "ray": ["runtime is not allowed to import ray"],
    "apsw": ["runtime is not allowed to import apsw"],
    "psycopg": ["runtime is not allowed to import psycopg"],
    "providers": ["runtime is not allowed to import openai"],
    "terminal": ["runtime is not allowed to import click"],
}


def lint_imports(tree: Path) -> subprocess.CompletedProcess[str]:
    """Run import-linter as the gate does, in ``tree``."""
    run = "from importlinter.cli import lint_imports_command as main; main(['--no-logo', '--no-cache'])"
    return subprocess.run(
        [sys.executable, "-P", "-c", f"import sys; sys.path.insert(0, {str(tree)!r}); {run}"],
        cwd=tree,
        capture_output=True,
        text=True,
        check=False,
        env={"COLUMNS": "400", "PATH": "/usr/bin:/bin"},
    )


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the code and its contracts."""
    for name in ("actors", "runtime"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_every_contract_is_broken_by_what_it_forbids(tree: Path) -> None:
    for path, text in PLANTED.items():
        (tree / path).write_text(text)
    plan = tree / "runtime/cli/plan.py"
    plan.write_text(f"{plan.read_text()}\nimport random\n")

    ended = lint_imports(tree)

    assert ended.returncode == 1, ended.stderr
    assert {contract["id"] for contract in CONTRACTS} == set(REPORTED), (
        "a contract has no violation"
    )
    for contract in CONTRACTS:
        assert f"{contract['name']} BROKEN" in ended.stdout
        for line in REPORTED[contract["id"]]:
            assert line in ended.stdout


def test_the_cluster_alone_may_import_ray(tree: Path) -> None:
    (tree / "runtime/cluster").mkdir(exist_ok=True)
    (tree / "runtime/cluster/__init__.py").touch()
    (tree / "runtime/cluster/planted.py").write_text("import ray\n")

    assert "Only runtime.cluster imports ray KEPT" in lint_imports(tree).stdout


def test_a_file_that_says_it_is_pure_is_held_to_it() -> None:
    saying = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for package in ("actors", "runtime")
        for path in (ROOT / package).rglob("*.py")
        if re.search(r"\bPure[.:]", (ast.get_docstring(ast.parse(path.read_text())) or ""))
    }
    held = ("actors.log.", "actors.rules.")

    assert sorted(name for name in saying if not f"{name}.".startswith(held)) == sorted(
        PURE_FILES["source_modules"]
    )
