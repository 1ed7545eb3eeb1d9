"""How errors leave the command."""

import subprocess
import sys
from pathlib import Path

import pytest

from actors.errors.store import SessionNotFoundError, StoreOwnedError
from runtime.cli.failure import told_plainly

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("error", "status", "shown"),
    [
        (
            SessionNotFoundError("x"),
            2,
            "greenroom: no session 'x': create it with engine.create(id=...) [SESSION_NOT_FOUND]\n",
        ),
        (
            StoreOwnedError("s.db", "pid 1"),
            1,
            "greenroom: s.db is owned by pid 1; stop it, or open with take_over=True [STORE_OWNED]\n",
        ),
    ],
)
def test_an_error_is_one_line_with_its_code_and_a_status_that_says_who_must_act(
    error: Exception, status: int, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended, told_plainly():
        raise ExceptionGroup("nursery", [ExceptionGroup("inner", [error])])
    with pytest.raises(SystemExit) as lone, told_plainly():
        raise error

    assert (ended.value.code, lone.value.code) == (status, status)
    assert capsys.readouterr().err == shown * 2


def test_a_group_that_holds_a_fault_of_the_program_stays_a_traceback() -> None:
    mixed = ExceptionGroup("nursery", [SessionNotFoundError("x"), KeyError("bug")])

    with pytest.RaisesGroup(SessionNotFoundError, KeyError), told_plainly():
        raise mixed


@pytest.mark.parametrize("package", ["click", "rich"])
def test_without_the_extra_the_command_says_what_to_install(package: str, tmp_path: Path) -> None:
    run = f"import sys; sys.modules[{package!r}] = None; import runtime.cli.main as m; m.main()"

    ended = subprocess.run(
        [sys.executable, "-c", run], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert ended.returncode == 1
    assert ended.stderr == (f"greenroom: this needs {package}: pip install 'greenroom[cli]'\n")
