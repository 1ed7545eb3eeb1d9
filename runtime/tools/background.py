"""The background commands of all sessions: who started which, and how many there may be.

Source: D-290, D-291, D-295, P9.
"""

from functools import partial
from typing import Final

import attrs
import trio

from actors.errors import GreenroomError
from actors.errors.workspace import (
    BackgroundLimitError,
    BackgroundUnknownError,
    ShellFailedError,
)
from actors.ports.shell import Shell, ShellProcess, ShellSpec
from actors.ports.tool import ToolContext

LIVE_LIMIT: Final = 8
"""Commands of one session that run at once."""
FINISHED_KEPT: Final = 16
"""Commands of all sessions that have ended and can still be read: each may hold two large files."""


@attrs.define
class _Starting:
    """A command on its way."""

    ready: trio.Event = attrs.field(factory=trio.Event)
    scope: trio.CancelScope = attrs.field(factory=trio.CancelScope)
    process: ShellProcess | None = None
    error: GreenroomError | None = None

    def started(self, process: ShellProcess) -> None:
        """It runs."""
        self.process = process
        self.ready.set()


class BackgroundCommands:
    """Starts commands that go on after their call, and finds them for the session that started them."""

    def __init__(self, shell: Shell) -> None:
        self._shell = shell
        self._commands: dict[tuple[str, str], ShellProcess] = {}
        """By session and id, the oldest first."""
        self._coming: list[str] = []
        """The sessions of those that are being started."""

    async def start(self, spec: ShellSpec, context: ToolContext) -> str:
        """Start a command in the session of a call; returns its id.

        Raises:
            BackgroundLimitError: as many run as may.
            SandboxUnavailableError, ShellFailedError: it was not started.

        Cancellation:
            Nothing is left running.
        """
        session_id = context.session_id
        if self._live(session_id) + self._coming.count(session_id) >= LIVE_LIMIT:
            raise BackgroundLimitError(LIVE_LIMIT)
        starting = _Starting()
        self._coming.append(session_id)
        try:
            context.keep(partial(self._serve, spec, starting))
            await starting.ready.wait()
        except trio.Cancelled:
            starting.scope.cancel()
            raise
        finally:
            self._coming.remove(session_id)
        if starting.error is not None:
            raise starting.error
        if starting.process is None:
            raise ShellFailedError("the session is ending")
        return self._known_as(context, starting.process)

    def find(self, session_id: str, command_id: str) -> ShellProcess:
        """Return a command of a session.

        Raises:
            BackgroundUnknownError: the session has none of that id, or its output was let go of.
        """
        process = self._commands.get((session_id, command_id))
        if process is None:
            known = tuple(name for owner, name in self._commands if owner == session_id)
            raise BackgroundUnknownError(command_id, known)
        return process

    async def _serve(self, spec: ShellSpec, starting: _Starting) -> None:
        try:
            with starting.scope:
                await self._shell.start(spec, starting.started)
        except GreenroomError as failed:
            starting.error = failed
        finally:
            starting.ready.set()
            self._forget()

    def _live(self, session_id: str) -> int:
        mine = [p for (owner, _), p in self._commands.items() if owner == session_id]
        return sum(process.status == "running" for process in mine)

    def _known_as(self, context: ToolContext, process: ShellProcess) -> str:
        """Keep a command under an id that the session never had: turns and steps are counted in its log."""
        number = 1
        while (key := (context.session_id, f"bg-{context.turn}-{context.step}-{number}")) in (
            self._commands
        ):
            number += 1
        self._commands[key] = process
        return key[1]

    def _forget(self) -> None:
        """Let go of the oldest that have ended."""
        ended = [key for key, process in self._commands.items() if process.status != "running"]
        for key in ended[:-FINISHED_KEPT]:
            del self._commands[key]
