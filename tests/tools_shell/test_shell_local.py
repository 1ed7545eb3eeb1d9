"""Commands on this machine: what they give, how they end, and that nothing of them stays."""

import resource
import secrets
import threading
from pathlib import Path

import pytest
import trio
import trio.testing

from actors.errors.rules import SettingError
from actors.errors.workspace import SandboxUnavailableError, ShellFailedError
from actors.ports.shell import ShellOutcome, ShellRequest, Stream
from runtime.tools import local_command
from runtime.tools.local_shell import LocalShell
from tests.tools_shell.shell_processes import appears, is_made, living

IGNORES_TERM = "trap '' TERM; echo up; while :; do sleep 0.05; done"


@pytest.fixture
def shell(tmp_path: Path) -> LocalShell:
    return LocalShell(tmp_path, mode="danger")


@pytest.fixture
def word() -> str:
    """Something that stands in no other command line."""
    return f"word{secrets.token_hex(8)}"


@pytest.fixture
def short_grace(monkeypatch) -> None:
    monkeypatch.setattr(local_command, "GRACE_S", 0.2)


async def ran(shell: LocalShell, command: str, **request) -> ShellOutcome:
    spec = shell.resolve(ShellRequest(command=command, **request))
    with trio.fail_after(60):
        return await shell.run(spec, trio.Event())


async def text_of(stream: Stream) -> str:
    assert stream.whole is not None
    return b"".join([piece async for piece in stream.whole()]).decode()


async def test_both_streams_and_the_exit_code_come_back(shell, tmp_path):
    outcome = await ran(shell, "pwd; echo bad >&2; exit 3")

    assert (outcome.stdout.tail.decode().strip(), outcome.stderr.tail) == (str(tmp_path), b"bad\n")
    assert (outcome.exit_code, outcome.signal, outcome.timed_out, outcome.cancelled) == (
        3,
        None,
        False,
        False,
    )
    assert (outcome.mode, outcome.confined_by, outcome.left_behind) == ("danger", None, 0)


async def test_a_signal_that_ends_a_command_has_its_name(shell):
    outcome = await ran(shell, "kill -USR1 $$")
    assert (outcome.exit_code, outcome.signal) == (None, "SIGUSR1")


async def test_a_deadline_ends_the_command_and_its_output_is_kept(shell, word):
    outcome = await ran(shell, f"echo before; sleep 600 # {word}", timeout_s=1)

    assert (outcome.timed_out, outcome.cancelled, outcome.signal) == (True, False, "SIGTERM")
    assert outcome.stdout.tail == b"before\n"
    assert living(word) == []


async def test_a_command_may_time_out_and_still_exit_with_zero(shell):
    outcome = await ran(shell, "trap 'exit 0' TERM; sleep 600 & wait", timeout_s=1)
    assert (outcome.timed_out, outcome.exit_code) == (True, 0)


async def test_a_command_that_takes_no_notice_of_term_is_killed(shell, word, short_grace):
    outcome = await ran(shell, f"{IGNORES_TERM} # {word}", timeout_s=1)

    assert (outcome.timed_out, outcome.signal) == (True, "SIGKILL")
    assert living(word) == []


async def test_what_was_forked_ends_with_the_command(shell, word, short_grace):
    command = (
        f"bash -c 'trap \"\" TERM; echo $$; while :; do sleep 0.05; done # {word}' &"
        f" setsid sleep 600 {word} 2>/dev/null >&2 & set -m; sleep 601 & echo done"
    ).replace("sleep 600 " + word, f"bash -c 'sleep 600; : {word}'")
    outcome = await ran(shell, command)

    assert b"done" in outcome.stdout.tail
    assert (outcome.exit_code, outcome.timed_out) == (0, False)
    assert outcome.left_behind >= 2
    assert living(word) == []


async def test_a_signal_to_stop_ends_the_command_in_its_grace(shell, tmp_path, word):
    stop = trio.Event()
    outcomes: list[ShellOutcome] = []

    async def run() -> None:
        spec = shell.resolve(ShellRequest(command=f"echo a; touch up; sleep 600; : {word}"))
        outcomes.append(await shell.run(spec, stop))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(run)
        await is_made(tmp_path / "up")
        stop.set()

    (outcome,) = outcomes
    assert (outcome.cancelled, outcome.timed_out, outcome.signal) == (True, False, "SIGTERM")
    assert outcome.stdout.tail == b"a\n"
    assert living(word) == []


async def test_a_cancelled_call_leaves_no_process(shell, word, short_grace):
    async with trio.open_nursery() as nursery:
        nursery.start_soon(ran, shell, f"{IGNORES_TERM} # {word}")
        await appears(word)
        nursery.cancel_scope.cancel()

    assert living(word) == []


@pytest.mark.parametrize("delay_ms", [0, 1, 3, 6, 10, 20])
async def test_a_call_that_is_cancelled_at_any_moment_leaves_no_process(shell, word, delay_ms):
    with trio.move_on_after(delay_ms / 1000):
        await ran(shell, f"sleep 600 & sleep 600; : {word}")
    assert living(word) == []


async def test_an_end_waits_for_no_other_work_in_threads(shell, tmp_path, word, monkeypatch):
    release, limiter = threading.Event(), trio.to_thread.current_default_thread_limiter()
    monkeypatch.setattr(limiter, "total_tokens", 1)
    async with trio.open_nursery() as nursery, trio.open_nursery() as running:
        running.start_soon(ran, shell, f"touch up; sleep 600; : {word}")
        await is_made(tmp_path / "up")
        nursery.start_soon(trio.to_thread.run_sync, release.wait)
        await trio.testing.wait_all_tasks_blocked()
        running.cancel_scope.cancel()
        with trio.move_on_after(5, shield=True):
            while living(word):  # noqa: ASYNC110 - the end of a process tells nobody
                await trio.sleep(0.02)
        left = living(word)
        release.set()
    assert left == []


async def test_a_signal_before_the_start_starts_nothing(shell, tmp_path):
    stop = trio.Event()
    stop.set()
    outcome = await shell.run(shell.resolve(ShellRequest(command="touch there")), stop)

    assert (outcome.cancelled, outcome.exit_code, outcome.signal) == (True, None, None)
    assert not (tmp_path / "there").exists()


async def test_a_flood_stays_out_of_memory_and_its_end_is_exact(shell):
    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    outcome = await ran(shell, "head -c 100000000 /dev/zero | tr '\\0' x; echo; printf 'the end'")
    grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib

    assert outcome.stdout.total_bytes == 100_000_008
    assert outcome.stdout.tail == b"x" * (64_000 - 8) + b"\nthe end"
    assert outcome.stdout.whole is None  # more than may be kept
    assert grown_kib < 30_000


async def test_what_fell_out_of_memory_is_there_as_a_whole(shell):
    outcome = await ran(shell, "seq 300000; echo ü >&2")

    assert outcome.stdout.truncated
    assert await text_of(outcome.stdout) == "".join(f"{n}\n" for n in range(1, 300_001))
    assert await text_of(outcome.stderr) == "ü\n"


async def test_a_full_disk_costs_the_whole_and_not_the_command(shell, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("runtime.tools.capture.Spill.append", full)
    outcome = await ran(shell, "seq 300000")

    assert (outcome.exit_code, outcome.stdout.whole) == (0, None)
    assert outcome.stdout.tail.endswith(b"\n299999\n300000\n")


async def test_half_a_character_becomes_a_replacement_and_harms_nothing(shell):
    outcome = await ran(shell, r"printf 'a\xf0\x9f\x98'; printf '\0' >&2")

    assert outcome.stdout.tail == b"a\xf0\x9f\x98"
    assert await text_of(outcome.stdout) == "a\ufffd"
    assert await text_of(outcome.stderr) == "\ufffd"


async def test_a_command_may_close_its_streams_early(shell):
    outcome = await ran(shell, "echo a; exec >&- 2>&-; exit 4")
    assert (outcome.stdout.tail, outcome.exit_code) == (b"a\n", 4)


async def test_stdin_is_empty_or_what_was_given(shell):
    assert (await ran(shell, "cat; echo end")).stdout.tail == b"end\n"
    assert (await ran(shell, "cat", stdin=b"x" * 200_000)).stdout.total_bytes == 200_000
    assert (await ran(shell, "exit 5", stdin=b"x" * 2_000_000)).exit_code == 5


async def test_a_child_inherits_no_secret_and_gets_what_was_handed_over(tmp_path, monkeypatch):
    monkeypatch.setenv("MY_API_KEY", "secret-1")
    monkeypatch.setenv("HARMLESS", "1")
    listed = await ran(LocalShell(tmp_path, mode="danger"), "env", env={"GIVEN_TOKEN": "t"})
    scrubbed = await ran(LocalShell(tmp_path, mode="danger", inherit=True), "env")

    assert b"GIVEN_TOKEN=t\n" in listed.stdout.tail
    assert b"PAGER=cat\n" in listed.stdout.tail
    assert b"HARMLESS" not in listed.stdout.tail
    assert b"HARMLESS=1\n" in scrubbed.stdout.tail
    assert b"secret-1" not in listed.stdout.tail + scrubbed.stdout.tail


async def test_a_deadline_that_passes_before_the_start_starts_nothing(shell, tmp_path, monkeypatch):
    async def slowly(*_):
        await trio.sleep_forever()

    monkeypatch.setattr("runtime.tools.sandbox.Sandbox.command_line", slowly)
    outcome = await ran(shell, "touch there", timeout_s=0.05)

    assert (outcome.timed_out, outcome.exit_code, outcome.signal) == (True, None, None)
    assert not (tmp_path / "there").exists()


async def test_a_cancellation_in_the_grace_does_not_begin_it_anew(shell, word, monkeypatch):
    monkeypatch.setattr(local_command, "GRACE_S", 1.0)
    stop, spec = trio.Event(), shell.resolve(ShellRequest(command=f"{IGNORES_TERM} # {word}"))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(shell.run, spec, stop)
        await appears(word)
        stop.set()
        began_s = trio.current_time()
        await trio.sleep(0.7)
        nursery.cancel_scope.cancel()

    assert trio.current_time() - began_s < 1.6
    assert living(word) == []


async def test_a_folder_that_is_not_there_is_a_failure_of_the_shell(shell):
    with pytest.raises(ShellFailedError, match="nowhere"):
        await ran(shell, "true", cwd="nowhere")


@pytest.mark.parametrize("command", ["", "  ", "a\0b"])
def test_a_command_that_is_no_text_is_refused(shell, command):
    with pytest.raises(SettingError):
        shell.resolve(ShellRequest(command=command))


async def test_a_mode_that_cannot_be_enforced_is_refused_and_nothing_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    shell = LocalShell(tmp_path, mode="read-only")
    with pytest.raises(SandboxUnavailableError, match="bubblewrap is not installed"):
        await ran(shell, "echo a > there")
    assert not (tmp_path / "there").exists()


async def test_a_bubblewrap_that_does_not_work_is_no_reason_to_run_without(tmp_path, monkeypatch):
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\necho 'no namespaces here' >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SandboxUnavailableError, match="no namespaces here"):
        await ran(LocalShell(tmp_path, mode="workspace-write"), "touch there")
    assert not (tmp_path / "there").exists()
