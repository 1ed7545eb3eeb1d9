"""The sandbox of a command: how each mode is enforced, and the proof that it can be.

``danger`` needs nothing. The other two need bubblewrap: the whole file system is read-only, in
``workspace-write`` but for the roots; /tmp is private and vanishes; no network unless it was granted, no
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
    *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
    *("--tmpfs", "/run", "--tmpfs", "/tmp"),  # noqa: S108 - its own, inside
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
    bind = "--bind" if mode == "workspace-write" else "--ro-bind"
    places = [part for root in roots for part in (bind, root, root)]  # a root may lie below /tmp
    offline = [] if network else ["--unshare-net"]
    return [program, *_ALWAYS, *offline, *places, "--chdir", cwd, "--", *command]


def confined_by(mode: Mode) -> str | None:
    """Return what enforces a mode."""
    return None if mode == "danger" else "bubblewrap"


@attrs.define
class Sandbox:
    """Confines commands to a mode, or refuses them."""

    roots: tuple[str, ...]
    network: bool = False
    _proved: dict[Mode, str] = attrs.field(factory=dict, init=False)
    """The program that was seen to enforce a mode."""

    async def command_line(self, command: Sequence[str], mode: Mode, cwd: str) -> list[str]:
        """Return the command line that runs ``command``.

        Raises:
            SandboxUnavailableError: this machine cannot enforce the mode.
        """
        program = "" if mode == "danger" else await self._program(mode)
        return self._line(command, mode, cwd, program)

    def _line(self, command: Sequence[str], mode: Mode, cwd: str, program: str) -> list[str]:
        return confined(
            command, mode, roots=self.roots, cwd=cwd, network=self.network, program=program
        )

    async def _program(self, mode: Mode) -> str:
        """Return bubblewrap, once it was seen to enforce the mode."""
        if mode not in self._proved:
            found = shutil.which(BUBBLEWRAP)
            if found is None:
                raise SandboxUnavailableError(mode, "bubblewrap is not installed")
            await self._prove(mode, found)
            self._proved[mode] = found
        return self._proved[mode]

    async def _prove(self, mode: Mode, program: str) -> None:
        line = self._line(["true"], mode, self.roots[0], program)
        with trio.move_on_after(PROBE_S):
            try:
                tried = await trio.run_process(
                    line, check=False, capture_stdout=True, capture_stderr=True
                )
            except OSError as failed:
                raise SandboxUnavailableError(mode, str(failed)) from failed
            if tried.returncode == 0:
                return
            raise SandboxUnavailableError(mode, _last_line(tried))
        raise SandboxUnavailableError(mode, f"bubblewrap did not answer in {PROBE_S:g} s")


def _last_line(tried: "subprocess.CompletedProcess[bytes]") -> str:
    lines = tried.stderr.decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else f"bubblewrap ended with {tried.returncode}"
