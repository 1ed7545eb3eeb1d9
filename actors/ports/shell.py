"""A shell: how a command line becomes processes, and what became of them.

Source: D-280..D-295, K-14.
"""

from collections.abc import Callable, Mapping
from typing import Literal, Protocol, TypeAlias

import attrs
import trio

from actors.ports.tool import Whole
from actors.rules.policy import Mode

StopCause: TypeAlias = Literal["timed-out", "cancelled"]
ProcessStatus: TypeAlias = Literal["running", "completed", "killed"]


@attrs.frozen(kw_only=True)
class ShellRequest:
    """What is asked of a shell; what is not said is the shell's own.

    ``stdin`` and ``env`` are for trusted callers, never for a model (D-287): even a secret in ``env``
    reaches the command.
    """

    command: str
    cwd: str | None = None
    timeout_s: float | None = None
    output_bytes: int | None = None
    """How many of the last bytes of stdout are kept in memory."""
    mode: Mode | None = None
    """What it may do at most; it never may more than the shell."""
    stdin: bytes = b""
    env: Mapping[str, str] = attrs.field(factory=dict)


@attrs.frozen(kw_only=True)
class ShellSpec:
    """A request with every default filled in (D-280)."""

    command: str
    cwd: str
    timeout_s: float
    stdout_bytes: int
    stderr_bytes: int
    stdin: bytes
    env: Mapping[str, str] = attrs.field(repr=False)
    """The whole environment of the command."""
    mode: Mode


@attrs.frozen(kw_only=True)
class Stream:
    """What one output stream gave.

    ``tail`` holds its last bytes exactly, however its chunks came; ``whole`` opens all of it, as text,
    unless it was longer than may be kept.
    """

    tail: bytes = b""
    total_bytes: int = 0
    whole: Whole | None = None

    @property
    def truncated(self) -> bool:
        """Whether ``tail`` is not all of it."""
        return self.total_bytes > len(self.tail)


@attrs.frozen(kw_only=True)
class ShellOutcome:
    """How a command ended.

    The outcome facts are independent: a command may have timed out and exited 0. ``timed_out`` and
    ``cancelled`` are never both true, the first cause counts (D-283). ``exit_code`` and ``signal`` are
    both None when it never started (D-284).
    """

    exit_code: int | None = None
    signal: str | None = None
    timed_out: bool = False
    cancelled: bool = False
    timeout_s: float
    duration_s: float
    left_behind: int = 0
    """Processes that went on after the command itself had ended, and were ended with it."""
    stdout: Stream = Stream()
    stderr: Stream = Stream()
    mode: Mode
    confined_by: str | None
    """What enforced ``mode``; None when nothing did, which only ``danger`` allows."""


@attrs.frozen(kw_only=True)
class ShellRead:
    """What a background command gave since the read before.

    ``lossy`` when bytes that were not read yet fell out of memory; the texts are then all that is kept.
    """

    stdout: str = ""
    stderr: str = ""
    lossy: bool = False


class ShellProcess(Protocol):
    """A background command; reads stay valid after its end (D-291)."""

    @property
    def status(self) -> ProcessStatus:
        """Leaves ``running`` once; ``killed`` when we or any signal ended it (D-292)."""
        ...

    @property
    def outcome(self) -> ShellOutcome | None:
        """How it ended; None while it runs."""
        ...

    def read(self) -> ShellRead:
        """Return what came since the last read, never the same twice (D-294)."""
        ...

    async def output(self) -> tuple[Stream, Stream]:
        """Return what is kept of stdout and stderr until now."""
        ...

    def kill(self) -> bool:
        """Ask it to end; True the first time while it runs, harmless to repeat (D-293)."""
        ...

    async def stirred(self) -> None:
        """Wait until there is something that was not read, or it has ended."""
        ...

    async def ended(self) -> ShellOutcome:
        """Wait for its end."""
        ...


class Shell(Protocol):
    """Runs command lines. No process of a command outlives it (P7)."""

    @property
    def longest_s(self) -> float:
        """More than :meth:`run` may take with the longest deadline, the ending of its processes included."""
        ...

    def resolve(self, request: ShellRequest) -> ShellSpec:
        """Fill in the defaults.

        Raises:
            SettingError: a deadline or a size is not positive and finite, or the command is no text to run.

        Source: D-281.
        """
        ...

    async def run(self, spec: ShellSpec, stop: trio.Event) -> ShellOutcome:
        """Run a command until it and all its processes have ended; ``stop`` asks for that before its time.

        Stopping is TERM to every process, and KILL after a grace (D-289). A non-zero exit, a deadline and
        a stop are outcomes, no errors.

        Raises:
            SandboxUnavailableError: the mode cannot be enforced here; nothing was run.
            ShellFailedError: no process could be started, or one could not be ended.

        Cancellation:
            The processes are stopped under a bounded shield.
        """
        ...

    async def start(self, spec: ShellSpec, started: Callable[[ShellProcess], None]) -> None:
        """Run a command in the background, without a deadline, until it has ended; ``started`` gets its handle.

        Raises:
            SandboxUnavailableError, ShellFailedError: as :meth:`run`, before ``started`` is called.

        Cancellation:
            The processes are stopped under a bounded shield, and the handle says ``killed``.
        """
        ...
