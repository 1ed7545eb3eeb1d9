"""How errors leave the command."""

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from actors.errors.store import SessionNotFoundError, StoreOwnedError
from runtime.cli.failure import Commands, told_plainly

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("error", "status", "shown"),
    [
        (
            SessionNotFoundError("x"),
            2,
            "greenroom: no session 'x': greenroom sessions STORE lists them [SESSION_NOT_FOUND]\n",
        ),
        (
            StoreOwnedError("s.db", "pid 1"),
            1,
            (
                "greenroom: s.db is owned by pid 1: stop it first; chat and serve take it over with "
                "--take-over [STORE_OWNED]\n"
            ),
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


def test_ctrl_c_while_the_command_is_imported_leaves_without_a_traceback() -> None:
    run = (
        "import sys, types, runtime.cli.main as m\n"
        "class Importing(types.ModuleType):\n"
        "    def __getattr__(self, name): raise KeyboardInterrupt\n"
        "sys.modules['runtime.cli.app'] = Importing('app')\n"
        "m.main()"
    )

    ended = subprocess.run(
        [sys.executable, "-c", run], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert (ended.returncode, ended.stderr) == (130, "")


@pytest.mark.parametrize(
    "raised", [KeyboardInterrupt(), BaseExceptionGroup("nursery", [KeyboardInterrupt()])]
)
def test_ctrl_c_ends_any_command_with_its_own_status(raised: BaseException) -> None:
    group = Commands()

    @group.command()
    def wait() -> None:
        raise raised

    ended = CliRunner().invoke(group, ["wait"])

    assert (ended.exit_code, ended.output) == (130, "")
