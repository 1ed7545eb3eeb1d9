"""Tools: what a model may ask for."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Protocol, TypeAlias, runtime_checkable

import attrs
import trio

from actors.json import JsonObject, JsonValue
from actors.ports.model import ToolSchema
from actors.rules.policy import Effect, Mode, Targets

Whole: TypeAlias = Callable[[], AsyncGenerator[bytes, None]]
"""Opens the whole of an output, as UTF-8 text in pieces; it may be opened once."""


@attrs.frozen(kw_only=True)
class ToolOutput:
    """What a tool returns: ``content`` is text or a list of content blocks, for the model.

    ``meta`` belongs to the tool and never reaches the model (D-131).
    """

    content: str | list[JsonObject]
    is_error: bool = False
    code: str = "TOOL_FAILED"
    """What the log calls the error; says nothing when there is none."""
    meta: JsonValue = None
    terminate: bool = False
    """Ask to end the turn after this batch (L-39)."""
    whole: Whole | None = None
    """All of an output of which ``content`` is a part that fits: kept outside the log, and the model is told
    how to read it (K-4, K-14)."""


class Attach(Protocol):
    """Keeps a picture or a file outside the log."""

    async def __call__(
        self, content: bytes, *, media_type: str = ..., name: str | None = None
    ) -> JsonObject:
        """Return the block that names the content in a :class:`ToolOutput`.

        Raises:
            AttachmentError: the type or the name cannot be meant.
            BlobTooLargeError: it is too large.
        """
        ...


@attrs.frozen(kw_only=True)
class ToolContext:
    """What a running call may know and do.

    ``cancelled`` is set when the call should end; it then has the grace (5 s) before its scope is
    cancelled (N-3). ``idempotency_key`` is the same whenever this very call is tried again (K-13).
    """

    session_id: str
    call_id: str
    idempotency_key: str
    turn: int
    step: int
    cancelled: trio.Event
    sandbox_mode: Mode | None
    """What the session's log says that its calls may do at most (L-151); None when it says nothing."""
    progress: Callable[[JsonValue], None]
    """Show live progress; after the call settled it does nothing (L-37)."""
    ask: Callable[[str], Awaitable[bool]]
    """Put a question to whoever watches; False when it is refused, withdrawn or nobody can answer (P6)."""
    keep: Callable[[Callable[[], Awaitable[None]]], None]
    """Run something beside the call and beyond it; it is cancelled when the session is closed or leaves, and
    until it ends the session is not put to rest. What it raises ends it alone."""
    attach: Attach
    """Keep a picture or a file for the output (K-5)."""


@runtime_checkable
class Reconciling(Protocol):
    """A tool that can say later what became of a call (K-13)."""

    async def reconcile(self, idempotency_key: str) -> "ToolOutput | None":
        """Return what the call with this key gave, or None when that cannot be known.

        Asked after a crash, before the outcome is logged as unknown; at most 30 s are waited for it.
        """
        ...


@runtime_checkable
class Targeting(Protocol):
    """A tool that can say which files a call is about, so that rows of the policy for files apply (A-43)."""

    def targets(self, arguments: JsonValue) -> Targets:
        """Return the canonical paths of a call; none for arguments that do not fit. Pure."""
        ...


class Tool(Protocol):
    """One tool."""

    @property
    def schema(self) -> ToolSchema:
        """Name, description and parameters for the model."""
        ...

    @property
    def effect(self) -> Effect:
        """``read`` may run beside others and needs no approval; ``write`` and ``exec`` run alone (L-33, A-10)."""
        ...

    @property
    def timeout_s(self) -> float | None:
        """The budget of :meth:`call`; None for no limit of its own (L-46)."""
        ...

    async def call(self, arguments: JsonValue, context: ToolContext) -> ToolOutput:
        """Run once. ``arguments`` is the parsed JSON, or the raw text when it was not JSON (D-134).

        An exception becomes an error result that names its code or type (L-38).

        Cancellation:
            The scope is cancelled after the grace; a tool should end promptly.
        """
        ...
