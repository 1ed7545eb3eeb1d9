"""What the README shows works as pasted, and its tables are true."""

import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import attrs

import actors.errors.base
from actors.errors import GreenroomError
from actors.session.limits import Limits
from runtime.engine.engine import Engine
from runtime.engine.session import Session

README = (Path(__file__).parents[2] / "README.md").read_text()

NOT_SHOWN = {"send", "result"}
"""The two ways below the verbs; their docstrings say it all."""


def test_the_program_runs_as_pasted_and_does_what_it_says(tmp_path: Path) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    (tmp_path / "program.py").write_text(program)

    ended = subprocess.run(
        [sys.executable, "program.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    shown = ended.stdout.splitlines()
    assert ended.stderr == ""
    assert ended.returncode == 0
    words = [line.split()[1] for line in shown if line[0].isdigit()]
    assert words[:2] == ["user/message", "turn/start"]
    assert {"tool/call", "approval/asked", "gate/decision", "tool/result"} <= set(words)
    assert [line for line in shown if not line[0].isdigit()] == [
        'may it run add {"a":2,"b":3} ?',
        "It is 5.",
        "aborted",
    ]


def test_the_table_of_calls_names_what_an_embedder_can_call() -> None:
    rows = re.findall(r"^\| (`.*`) \| ", README.partition("\n## Reliability")[0], re.MULTILINE)
    named = re.findall(r"(engine|session)\.(\w+)", " ".join(rows))
    owners = {"engine": Engine, "session": Session}

    assert len(named) >= 20
    assert [name for owner, name in named if not hasattr(owners[owner], name)] == []
    assert sorted(name for owner, name in named if owner == "session") == sorted(
        name for name in dir(Session) if not name.startswith("_") and name not in NOT_SHOWN
    )


def test_the_table_of_limits_names_every_limit_with_its_default() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (\S+) \| ", README, re.MULTILINE)

    assert rows == [
        (field.name, "none" if field.default is None else str(field.default))
        for field in attrs.fields(Limits)
    ]


def test_the_table_of_errors_names_families_and_codes_that_exist() -> None:
    codes = {code: _family(error) for error in _errors() for code in [error.code]}
    rows = re.findall(r"^\| `(\w+Error)` \| .* \| `(\w+)` \|$", README, re.MULTILINE)

    assert len(rows) >= 6
    assert [(family, code) for family, code in rows if codes.get(code) != family] == []


def _errors() -> list[type[GreenroomError]]:
    for module in pkgutil.iter_modules(actors.errors.__path__, "actors.errors."):
        importlib.import_module(module.name)
    found, seen = [GreenroomError], 0
    while seen < len(found):
        found += found[seen].__subclasses__()
        seen += 1
    return found


def _family(error: type[GreenroomError]) -> str:
    families = [c for c in error.__mro__ if c.__module__ == actors.errors.base.__name__]
    return families[0].__name__
