"""The shell of this machine: commands as processes in a process session of their own.

Source: D-280..D-295, C-102, K-14.
"""

import math
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import trio

from actors.errors.rules import SettingError
from actors.errors.workspace import ShellFailedError
from actors.ports.shell import (
    ProcessStatus,
    Shell,
    ShellOutcome,
    ShellProcess,
    ShellRead,
    ShellRequest,
    ShellSpec,
    StopCause,
    Stream,
)
from actors.ports.world import IdSource
from actors.rules.approval import narrower
from actors.rules.policy import Mode
from runtime.config import environment
from runtime.tools.decoding import begun, decoded
from runtime.tools.local_command import GRACE_S, LocalCommand, running, start_command
from runtime.tools.process_family import KILL_S
from runtime.tools.sandbox import Sandbox, confined_by
from runtime.tools.shell_text import (
    DEFAULT_TIMEOUT_MS,
    MAX_TIMEOUT_MS,
    STDOUT_BUDGET_BYTES,
    background_outcome,
    child_environment,
    clamp_timeout,
    output_budget,
)
from runtime.world import SystemIds

_MS: Final = 1000
_THREADS: Final = 4


class LocalShell(Shell):
    """Runs commands with bash, or with sh where there is no bash.

    Args:
        roots: what ``workspace-write`` may change, one folder or several; commands run in the first
            unless they say otherwise.
        mode: what commands may do (L-151); ``danger`` is everything that the engine may.
        network: whether a confined command has the network.
        env: variables for every command; even secrets pass.
        inherit: hand on all of the engine's environment but what looks like a secret, instead of a
            short list of names (K-14).
        ids: names commands.
    """

    def __init__(
        self,
        roots: str | Path | Sequence[str | Path],
        *,
        mode: Mode = "workspace-write",
        network: bool = False,
        env: Mapping[str, str] | None = None,
        inherit: bool = False,
        ids: IdSource | None = None,
    ) -> None:
        given = [roots] if isinstance(roots, str | Path) else roots
        folders = tuple(str(Path(root).resolve()) for root in given)
        self._root = folders[0]
        self._mode, self._sandbox = mode, Sandbox(folders, network)
        self._env, self._inherit = dict(env or {}), inherit
        self._ids = ids or SystemIds()
        self._threads = trio.CapacityLimiter(_THREADS)

    @property
    def longest_s(self) -> float:
        """See the port."""
        return MAX_TIMEOUT_MS / _MS + 4 * GRACE_S + 2 * KILL_S

    def resolve(self, request: ShellRequest) -> ShellSpec:
        """See the port."""
        if "\0" in request.command or not request.command.strip():
            raise SettingError("command", request.command, "text without NUL")
        asked_ms = None if request.timeout_s is None else request.timeout_s * _MS
        return ShellSpec(
            command=request.command,
            cwd=str(Path(self._root, request.cwd or ".")),
            timeout_s=clamp_timeout(asked_ms, DEFAULT_TIMEOUT_MS, MAX_TIMEOUT_MS) / _MS,
            stdout_bytes=output_budget(request.output_bytes),
            stderr_bytes=STDOUT_BUDGET_BYTES,
            stdin=request.stdin,
            env=child_environment(
                environment(), {**self._env, **request.env}, inherit=self._inherit
            ),
            mode=narrower(self._mode, request.mode),
        )

    async def run(self, spec: ShellSpec, stop: trio.Event) -> ShellOutcome:
        """See the port."""
        began_s = trio.current_time()
        deadline_s = began_s + spec.timeout_s
        cause: StopCause | None = "cancelled" if stop.is_set() else "timed-out"
        command: LocalCommand | None = None
        if not stop.is_set():
            with trio.move_on_at(deadline_s):
                command = await self._started(spec)
        if command is None:
            await trio.lowlevel.checkpoint()
            return self._outcome(spec, None, cause, began_s)
        async with running(command, spec.stdin):
            cause = await command.until(stop, deadline_s)
            left = await command.finish(stop, hurry=cause is not None)
        behind = left if cause is None else 0
        return self._outcome(spec, command, cause, began_s, left_behind=behind)

    async def start(self, spec: ShellSpec, started: Callable[[ShellProcess], None]) -> None:
        """See the port."""
        began_s = trio.current_time()
        command = await self._started(spec)
        handle = _Background(command)
        cause: StopCause | None = "cancelled"
        try:
            async with running(command, spec.stdin):
                started(handle)
                cause = await command.until(handle.stop, math.inf)
                await command.finish(handle.stop, hurry=cause is not None)
        except ShellFailedError:
            cause = "cancelled"  # its handle tells: killed (D-291)
        finally:
            handle.settle(self._outcome(spec, command, cause, began_s))

    async def _started(self, spec: ShellSpec) -> LocalCommand:
        shell = shutil.which("bash") or "/bin/sh"
        bare = [shell, "-c", spec.command]
        line = await self._sandbox.command_line(bare, spec.mode, spec.cwd)
        return await start_command(line, spec, self._ids.new("command"), self._threads)

    def _outcome(
        self,
        spec: ShellSpec,
        command: LocalCommand | None,
        cause: StopCause | None,
        began_s: float,
        *,
        left_behind: int = 0,
    ) -> ShellOutcome:
        return ShellOutcome(
            exit_code=command.exit_code if command is not None else None,
            signal=command.signal if command is not None else None,
            timed_out=cause == "timed-out",
            cancelled=cause == "cancelled",
            timeout_s=spec.timeout_s,
            duration_s=trio.current_time() - began_s,
            left_behind=left_behind,
            stdout=command.stdout.stream() if command is not None else Stream(),
            stderr=command.stderr.stream() if command is not None else Stream(),
            mode=spec.mode,
            confined_by=confined_by(spec.mode),
        )


class _Background(ShellProcess):
    """The handle of a background command."""

    def __init__(self, command: LocalCommand) -> None:
        self._command = command
        self.stop = trio.Event()
        self._ended = trio.Event()
        self._outcome: ShellOutcome | None = None
        self._read = [0, 0]
        """How much of stdout and stderr was read."""

    @property
    def status(self) -> ProcessStatus:
        """See the port."""
        outcome = self._outcome
        if outcome is None:
            return "running"
        killed = outcome.cancelled
        return background_outcome(outcome.exit_code, outcome.signal, killed=killed)[0]

    @property
    def outcome(self) -> ShellOutcome | None:
        """See the port."""
        return self._outcome

    def settle(self, outcome: ShellOutcome) -> None:
        """It has ended."""
        self._outcome = outcome
        self._ended.set()

    def read(self) -> ShellRead:
        """See the port."""
        tails = [self._command.stdout.tail, self._command.stderr.tail]
        reads = [tail.read(at) for tail, at in zip(tails, self._read, strict=True)]
        lossy = any(read.lossy for read in reads)
        texts: list[str] = []
        for place, (read, tail) in enumerate(zip(reads, tails, strict=True)):
            data = tail.data if lossy else read.data
            held = 0 if self._ended.is_set() else begun(data)
            self._read[place] = read.next_offset - held
            texts.append(decoded(data[: len(data) - held], cut=lossy))
        return ShellRead(stdout=texts[0], stderr=texts[1], lossy=lossy)

    async def output(self) -> tuple[Stream, Stream]:
        """See the port."""
        await self._command.stdout.flush()
        await self._command.stderr.flush()
        return self._command.stdout.stream(), self._command.stderr.stream()

    def kill(self) -> bool:
        """See the port."""
        first = self._outcome is None and not self.stop.is_set()
        self.stop.set()
        return first

    async def stirred(self) -> None:
        """See the port."""
        command = self._command
        await trio.lowlevel.checkpoint()
        if self._ended.is_set() or self._has_news():
            return
        async with trio.open_nursery() as nursery:
            for event in (command.stdout.news, command.stderr.news, self._ended):
                nursery.start_soon(_end_with, event, nursery.cancel_scope)

    def _has_news(self) -> bool:
        tails = (self._command.stdout.tail, self._command.stderr.tail)
        return any(tail.total > at for tail, at in zip(tails, self._read, strict=True))

    async def ended(self) -> ShellOutcome:
        """See the port."""
        await self._ended.wait()
        assert self._outcome is not None
        return self._outcome


async def _end_with(event: trio.Event, scope: trio.CancelScope) -> None:
    await event.wait()
    scope.cancel()
