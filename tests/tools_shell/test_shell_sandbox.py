"""What a confined command can do, seen on the disk and not in what it says."""

import socket
from pathlib import Path

import pytest
import trio

from actors.ports.shell import ShellOutcome, ShellRequest
from runtime.tools.local_shell import LocalShell
from runtime.tools.sandbox import confined
from tests.tools_shell.shell_processes import living, needs_bubblewrap

pytestmark = needs_bubblewrap


async def ran(shell: LocalShell, command: str, **request) -> ShellOutcome:
    with trio.fail_after(60):
        return await shell.run(
            shell.resolve(ShellRequest(command=command, **request)), trio.Event()
        )


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


async def test_read_only_lets_nothing_be_written(root):
    (root / "there").write_text("old")
    outcome = await ran(LocalShell(root, mode="read-only"), "cat there; echo new > there; touch x")

    assert outcome.stdout.tail == b"old"
    assert (outcome.exit_code, outcome.mode, outcome.confined_by) == (1, "read-only", "bubblewrap")
    assert [path.read_text() for path in root.iterdir()] == ["old"]


async def test_the_workspace_can_be_written_and_nothing_beside_it(root):
    beside = root.parent / "beside"
    outcome = await ran(
        LocalShell(root), f"echo in > here; echo out > {beside}; echo t > /tmp/private; ls /tmp"
    )

    assert (root / "here").read_text() == "in\n"
    assert not beside.exists()
    assert b"private" in outcome.stdout.tail
    assert not Path("/tmp/private").exists()  # noqa: ASYNC240


async def test_a_private_folder_for_temporary_files_is_there_in_every_confined_mode(root):
    command = "echo t > /tmp/private && cat /tmp/private"
    assert (await ran(LocalShell(root, mode="read-only"), command)).stdout.tail == b"t\n"
    assert not Path("/tmp/private").exists()  # noqa: ASYNC240


async def test_a_request_narrows_the_mode_of_the_shell_and_never_widens_it(root):
    narrowed = await ran(LocalShell(root, mode="danger"), "touch a", mode="read-only")
    kept = await ran(LocalShell(root, mode="read-only"), "touch b", mode="danger")

    assert (narrowed.mode, kept.mode) == ("read-only", "read-only")
    assert list(root.iterdir()) == []


async def test_every_root_can_be_written(root):
    other = root.parent / "other"
    other.mkdir()
    await ran(LocalShell([root, other]), f"touch here; touch {other}/there")
    assert [p.name for p in (*root.iterdir(), *other.iterdir())] == ["here", "there"]


async def test_a_confined_command_has_no_network_unless_it_was_granted(root):
    with socket.create_server(("127.0.0.1", 0)) as server:
        command = f"echo > /dev/tcp/127.0.0.1/{server.getsockname()[1]}"
        assert (await ran(LocalShell(root), command)).exit_code != 0
        assert (await ran(LocalShell(root, network=True), command)).exit_code == 0


async def test_what_left_its_process_group_ends_with_a_confined_command(root):
    word = "confined-straggler"
    command = f"env -i setsid bash -c 'sleep 600; : {word}' >/dev/null 2>&1 & sleep 600"
    outcome = await ran(LocalShell(root), command, timeout_s=0.5)

    assert outcome.timed_out
    assert living(word) == []
    assert not [p for p in _command_lines() if word in p]


async def test_a_confined_command_outlives_the_thread_that_started_it(root):
    """A command that was tied to a pooled thread would end when that thread does."""
    line = confined(["true"], "read-only", roots=["/"], cwd="/", network=False, program="bwrap")
    assert "--die-with-parent" not in line


def _command_lines() -> list[str]:
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                found.append((folder / "cmdline").read_bytes().decode("utf-8", "replace"))
            except OSError:
                continue
    return found
