"""The model: a request goes in, typed parts come out.

A stream never raises for what the provider does: a failure is the final part :class:`Failed` (L-21).
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Literal, Protocol, TypeAlias, runtime_checkable

import attrs

from actors.json import JsonObject
from actors.log.blobs import Digest
from actors.log.projection import ProjectedMessage

StopReason: TypeAlias = Literal["stop", "length", "toolUse", "error", "aborted", "deferred"]
RetryBucket: TypeAlias = Literal["transient", "overflow", "quota", "auth", "non-retryable"]
HoldReason: TypeAlias = Literal["rate-limit", "concurrency", "provider-down"]


@attrs.frozen
class ToolSchema:
    """A tool as the model sees it; ``parameters`` is a JSON schema of an object."""

    name: str
    description: str
    parameters: JsonObject


class HeldBlobs(Protocol):
    """Reads the blobs that the session of a request holds."""

    async def read(self, digest: Digest, start: int, stop: int) -> bytes | None:
        """Return the bytes [start, stop) as far as there are any; None when the session does not hold it."""
        ...


@attrs.frozen(kw_only=True)
class ModelRequest:
    """One request.

    Everything that reaches the model is in ``messages``, ``tools`` and ``config`` and the blobs that they
    name, and can be rebuilt from the log (P1); the other fields say what it is for. ``messages`` begins with the system prompt when there is
    one; later system messages stand where they were said. ``purpose`` is ``turn`` for a step of a turn and
    ``summary`` for a compaction. Nobody waits for a request in the ``background``: where requests must wait,
    those in the foreground go first.
    """

    session_id: str
    turn: int
    step: int
    attempt: int = 1
    purpose: Literal["turn", "summary"] = "turn"
    background: bool = False
    model: str
    messages: Sequence[ProjectedMessage]
    tools: tuple[ToolSchema, ...] = ()
    config: JsonObject = attrs.field(factory=dict)
    blobs: HeldBlobs | None = attrs.field(default=None, eq=False, repr=False)
    """What the messages name by digest; None when nothing can be read."""


@attrs.frozen
class TextDelta:
    """A piece of visible text of the block ``index``."""

    index: int
    text: str


@attrs.frozen
class ThinkingDelta:
    """A piece of reasoning of the block ``index``."""

    index: int
    text: str


@attrs.frozen
class ToolCallDelta:
    """A piece of a tool call of the block ``index``: the id and name when first known, argument text as it comes."""

    index: int
    id: str | None = None
    name: str | None = None
    arguments: str = ""


@attrs.frozen
class BlockEnd:
    """The block ``index`` is complete; ``block`` is authoritative over the deltas (D-275)."""

    index: int
    block: JsonObject


@attrs.frozen
class UsageReport:
    """Token counts so far; the last one counts (D-277). Words as in S section 5: input, output, cacheRead, cacheWrite."""

    usage: JsonObject


@attrs.frozen(kw_only=True)
class Held:
    """The request waits before it is sent, for ``at_most_s`` seconds; what comes next says how that ended.

    ``rate-limit``: as much has been asked for as may be. ``concurrency``: as many requests are under way as
    may be. ``provider-down``: another request finds out whether the provider is back.
    """

    reason: HoldReason
    at_most_s: float


@attrs.frozen(kw_only=True)
class Allotment:
    """One limit of a provider: ``left`` of ``limit`` is left, all of it is back after ``reset_s`` seconds."""

    limit: float
    left: float
    reset_s: float


@attrs.frozen(kw_only=True)
class RateReport:
    """What the provider says is left of its limits, as of this answer; no part of the reply."""

    requests: Allotment | None = None
    tokens: Allotment | None = None


@attrs.frozen
class Finished:
    """The stream ended as the provider meant it to."""

    stop_reason: StopReason


@attrs.frozen(kw_only=True)
class Failed:
    """The stream ended in a failure; ``bucket`` decides about a retry (L-90, L-91)."""

    bucket: RetryBucket
    code: str
    message: str
    retry_after_s: float | None = None


Part: TypeAlias = (
    TextDelta
    | ThinkingDelta
    | ToolCallDelta
    | BlockEnd
    | UsageReport
    | Held
    | RateReport
    | Finished
    | Failed
)


Refresh: TypeAlias = Callable[[], Awaitable[bool]]


class Model(Protocol):
    """Answers requests with streams of parts."""

    @property
    def name(self) -> str:
        """``provider/model``, as it is written to the log."""
        ...

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[Part]]:
        """Open one stream; leaving the context closes the connection.

        The iterator ends after :class:`Finished` or :class:`Failed`; one that ends without either broke
        (S-14 of the scenarios).

        Cancellation:
            Leaving by cancellation closes the connection at once.
        """
        ...


@runtime_checkable
class Refreshing(Protocol):
    """A model that can renew its credentials (L-101)."""

    @property
    def refresh(self) -> Refresh | None:
        """Renews the credentials and returns whether that worked; None when this one has no way to.

        Called once a turn after a failure of authentication; at most 30 s are waited for it.
        """
        ...
