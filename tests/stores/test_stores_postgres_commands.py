"""The commands on a PostgreSQL store: driven, verified, listed, and no secret shown."""

import pytest
from click.testing import CliRunner

from runtime.cli.app import app

pytestmark = pytest.mark.postgres


def greenroom(*arguments: str) -> tuple[int, str]:
    """Run a command; return its exit status and all that it said."""
    ended = CliRunner().invoke(app, list(arguments))
    return ended.exit_code, ended.output


def test_a_drive_leaves_a_store_that_the_other_commands_read(database):
    assert greenroom("check", database)[0] == 2  # there is none yet, and none is made
    status, told = greenroom("run", "--sessions", "20", "--speed", "max", "--store", database)
    assert status == 0, told
    status, told = greenroom("check", database)
    assert status == 0, told
    assert "logs are as promised" in told
    status, told = greenroom("sessions", database)
    assert status == 0
    session_id = told.splitlines()[1].split()[0]
    status, told = greenroom("inspect", session_id, "--store", database)
    assert status == 0
    assert "events" in told


@pytest.mark.parametrize("command", [("run", "--store"), ("check",), ("sessions",)])
def test_no_command_shows_the_password_of_a_store(command):
    for place in ("127.0.0.1:1/db", "127.0.0.1:1/db?options=x&nonsense=1", "127.0.0.1:1:1/db"):
        status, told = greenroom(*command, f"postgresql://user:topsecret@{place}")
        assert status != 0
        assert "greenroom: " in told
        assert "topsecret" not in told
