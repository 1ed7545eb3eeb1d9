"""The formatter, the linter and the type checker bite, each on one planted file."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PYPROJECT = str(ROOT / "pyproject.toml")

BANNED = {
    "asyncio": "import asyncio",
    "time.time": "import time\n\nSTARTED = time.time()",
    "time.sleep": "import time\n\ntime.sleep(1)",
    "datetime.datetime.now": "import datetime\n\nNOW = datetime.datetime.now(datetime.UTC)",
    "random": "import random",
    "uuid.uuid4": "import uuid\n\nNAME = uuid.uuid4()",
    "os.environ": "import os\n\nHOME = os.environ['HOME']",
    "os.getenv": "import os\n\nHOME = os.getenv('HOME')",
}

ILL_TYPED = """\
from collections.abc import Awaitable
from enum import Enum


class Colour(Enum):
    RED = 1
    BLUE = 2


def exhaustive(colour: Colour) -> int:  # exhaustive-match
    match colour:
        case Colour.RED:
            return 1
    return 2


def ignored() -> int:
    return "one"  # type: ignore


class Base:
    value: float = 1.0


class Narrower(Base):
    value: int = 1  # mutable-override


def undefined(flag: bool) -> int:
    if flag:
        found = 1
    return found  # possibly-undefined


def redundant(flag: bool) -> bool:
    return isinstance(flag, bool) and flag  # redundant-expr


def truthy(colour: Base) -> int:
    return 1 if colour else 2  # truthy-bool


async def number() -> int:
    return 1


async def unawaited(later: Awaitable[int]) -> None:
    number()  # unused-coroutine
    later  # unused-awaitable


def unreachable(flag: bool) -> int:
    if isinstance(flag, bool):
        return 1
    return 2  # unreachable


def wrong() -> int:
    return "one"  # return-value


def untyped(value):  # no-untyped-def
    return value
"""


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run one tool of this interpreter on a planted file."""
    return subprocess.run(
        [sys.executable, "-m", *arguments], capture_output=True, text=True, check=False, cwd=ROOT
    )


def test_a_line_out_of_format_is_reported(tmp_path: Path) -> None:
    planted = tmp_path / "planted.py"
    planted.write_text("x = {  'a':1 }\n")

    ended = run("ruff", "format", "--check", "--config", PYPROJECT, str(planted))

    assert ended.returncode == 1
    assert "1 file would be reformatted" in ended.stdout


@pytest.mark.parametrize("name", BANNED)
def test_a_banned_name_is_reported_with_its_reason(name: str, tmp_path: Path) -> None:
    planted = tmp_path / "planted.py"
    planted.write_text(BANNED[name] + "\n")

    ended = run("ruff", "check", "--config", PYPROJECT, "--select", "TID251", str(planted))

    assert ended.returncode == 1
    assert f"`{name}` is banned: " in ended.stdout


def test_a_long_function_with_many_branches_is_reported(tmp_path: Path) -> None:
    planted = tmp_path / "planted.py"
    branches = "\n".join(f"    if a == {i}:\n        return {i}" for i in range(11))
    planted.write_text(
        f"def f(a: int, b: int, c: int, d: int, e: int, f: int, g: int) -> int:\n{branches}\n    return 0\n"
    )

    ended = run("ruff", "check", "--config", PYPROJECT, "--output-format", "concise", str(planted))

    assert {"C901", "PLR0913", "D103"} <= set(re.findall(r"\b[A-Z]+\d+\b", ended.stdout))


def test_every_selected_type_error_is_reported(tmp_path: Path) -> None:
    planted = tmp_path / "planted.py"
    planted.write_text(ILL_TYPED)

    ended = run(
        "mypy", "--config-file", PYPROJECT, "--cache-dir", str(tmp_path / "cache"), str(planted)
    )

    assert ended.returncode == 1
    assert set(re.findall(r"\[([a-z-]+)\]$", ended.stdout, re.MULTILINE)) == {
        "exhaustive-match",
        "ignore-without-code",
        "mutable-override",
        "possibly-undefined",
        "redundant-expr",
        "truthy-bool",
        "unused-coroutine",
        "unused-awaitable",
        "return-value",
        "no-untyped-def",
        "unreachable",
    }
