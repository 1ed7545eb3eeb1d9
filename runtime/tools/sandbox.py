"""The sandbox of a command: how each mode is enforced, and the proof that it can be.

``danger`` needs nothing. The other two need bubblewrap: the whole file system is read-only, in
``workspace-write`` but for the roots and a private /tmp; no network unless it was granted, no
sockets of other services under /run, no capabilities, and its own process table.

The command is not tied to the thread that started it (``--die-with-parent`` would be: the thread is a
pooled one, which ends when it was idle for a while).

Source: K-14, L-151.
"""

import shutil
import subprocess
from collections.abc import Sequence
from typing import Final

import attrs
import trio

from actors.errors.workspace import SandboxUnavailableError
from actors.rules.policy import Mode

BUBBLEWRAP: Final = "bwrap"
PROBE_S: Final = 10.0
_ALWAYS: Final = (
    *("--unshare-user", "--disable-userns", "--unshare-pid", "--unshare-ipc", "--cap-drop", "ALL"),
    *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/run"),
)


def confined(
    command: Sequence[str],
    mode: Mode,
    *,
    roots: Sequence[str],
    cwd: str,
    network: bool,
    program: str,
) -> list[str]:
    """Return the command line that runs ``command`` under ``mode``; ``danger`` changes nothing."""
    if mode == "danger":
        return [*command]
    writable: list[str] = []
    if mode == "workspace-write":
        writable = ["--tmpfs", "/tmp"]  # noqa: S108 - its own, inside
        writable += [part for root in roots for part in ("--bind", root, root)]
    offline = [] if network else ["--unshare-net"]
    return [program, *_ALWAYS, *offline, *writable, "--chdir", cwd, "--", *command]


@attrs.define
class Sandbox:
    """Confines commands to a mode, or refuses them."""

    mode: Mode
    roots: tuple[str, ...]
    network: bool = False
    _proved: str | None = attrs.field(default=None, init=False)
    """The program that was seen to work."""

    @property
    def confined_by(self) -> str | None:
        """What enforces the mode."""
        return None if self.mode == "danger" else "bubblewrap"

    async def command_line(self, command: Sequence[str], cwd: str) -> list[str]:
        """Return the command line that runs ``command``.

        Raises:
            SandboxUnavailableError: this machine cannot enforce the mode.
        """
        program = "" if self.mode == "danger" else await self._program()
        return self._line(command, cwd, program)

    def _line(self, command: Sequence[str], cwd: str, program: str) -> list[str]:
        return confined(
            command, self.mode, roots=self.roots, cwd=cwd, network=self.network, program=program
        )

    async def _program(self) -> str:
        """Return bubblewrap, once it was seen to enforce the mode."""
        if self._proved is None:
            found = shutil.which(BUBBLEWRAP)
            if found is None:
                raise SandboxUnavailableError(self.mode, "bubblewrap is not installed")
            await self._prove(found)
            self._proved = found
        return self._proved

    async def _prove(self, program: str) -> None:
        line = self._line(["true"], self.roots[0], program)
        with trio.move_on_after(PROBE_S):
            try:
                tried = await trio.run_process(
                    line, check=False, capture_stdout=True, capture_stderr=True
                )
            except OSError as failed:
                raise SandboxUnavailableError(self.mode, str(failed)) from failed
            if tried.returncode == 0:
                return
            raise SandboxUnavailableError(self.mode, _last_line(tried))
        raise SandboxUnavailableError(self.mode, f"bubblewrap did not answer in {PROBE_S:g} s")


def _last_line(tried: "subprocess.CompletedProcess[bytes]") -> str:
    lines = tried.stderr.decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else f"bubblewrap ended with {tried.returncode}"
