"""Replies for a scripted model. Pure: each reply is a sequence of beats, a part and the wait before it.

A test can bring replies of its own: anything with ``beats(request)``.
"""

import math
from collections.abc import Iterator
from itertools import islice, pairwise
from typing import Protocol, TypeAlias

import attrs
import orjson

from actors.errors.rules import SettingError
from actors.json import JsonObject, JsonValue
from actors.ports.model import (
    BlockEnd,
    Failed,
    Finished,
    ModelRequest,
    Part,
    RetryBucket,
    StopReason,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    UsageReport,
)
from actors.rules.assembly import CALL_BLOCK


@attrs.frozen
class Beat:
    """One step of a stream: after ``delay_s`` the part is given, or the exception raised."""

    delay_s: float
    part: Part | Exception


Beats: TypeAlias = Iterator[Beat]


class Reply(Protocol):
    """What a scripted model answers to one request."""

    def beats(self, request: ModelRequest, /) -> Beats:
        """Yield the beats in order."""
        ...


@attrs.frozen
class Say:
    """Text, in ``pieces`` pieces with ``delay_s`` before each; then the end of the block, and of the stream."""

    text: str
    pieces: int = attrs.field(default=1, kw_only=True)
    delay_s: float = attrs.field(default=0.0, kw_only=True)
    usage: JsonObject | None = attrs.field(default=None, kw_only=True)
    stop: StopReason = attrs.field(default="stop", kw_only=True)

    def beats(self, _: ModelRequest, /) -> Beats:
        """Yield the beats in order."""
        for piece in _cut(self.text, self.pieces):
            yield Beat(self.delay_s, TextDelta(0, piece))
        if self.text:
            yield Beat(0.0, BlockEnd(0, {"type": "text", "text": self.text}))
        yield from _ending(self.usage, self.stop)


@attrs.frozen
class Call:
    """A tool call. Text as arguments is sent as it is, so that it may be no JSON.

    Without an ``id`` it is named after its place: ``call-<turn>-<step>-<number>``.
    """

    name: str
    arguments: JsonObject | str = attrs.field(factory=dict)
    id: str | None = None

    @property
    def arguments_text(self) -> str:
        """The arguments as they are streamed."""
        if isinstance(self.arguments, str):
            return self.arguments
        return orjson.dumps(self.arguments).decode()


@attrs.frozen(init=False)
class CallTools:
    """Tool calls, after ``text`` if there is any.

    Each call streams as its id and name, its arguments in two pieces, and the end of its block.
    """

    calls: tuple[Call, ...]
    text: str
    delay_s: float
    usage: JsonObject | None
    stop: StopReason

    def __init__(
        self,
        *calls: Call,
        text: str = "",
        delay_s: float = 0.0,
        usage: JsonObject | None = None,
        stop: StopReason = "toolUse",
    ) -> None:
        self.__attrs_init__(calls, text, delay_s, usage, stop)

    def beats(self, request: ModelRequest, /) -> Beats:
        """Yield the beats in order."""
        first = 0
        if self.text:
            first = 1
            yield Beat(self.delay_s, TextDelta(0, self.text))
            yield Beat(0.0, BlockEnd(0, {"type": "text", "text": self.text}))
        for number, call in enumerate(self.calls):
            call_id = call.id or f"call-{request.turn}-{request.step}-{number + 1}"
            for part in _call_parts(first + number, call_id, call):
                yield Beat(self.delay_s if isinstance(part, ToolCallDelta) else 0.0, part)
        yield from _ending(self.usage, self.stop)


@attrs.frozen
class Think:
    """Reasoning in front of another reply."""

    text: str
    then: Reply

    def beats(self, request: ModelRequest, /) -> Beats:
        """Yield the beats in order."""
        yield Beat(0.0, ThinkingDelta(0, self.text))
        yield Beat(0.0, BlockEnd(0, {"type": "thinking", "thinking": self.text}))
        for beat in self.then.beats(request):
            yield Beat(beat.delay_s, _moved(beat.part))


@attrs.frozen
class Fail:
    """The provider fails, after ``text`` if there is any."""

    bucket: RetryBucket = "transient"
    code: str = "SCRIPTED_FAILURE"
    message: str = "the script says that this request fails"
    retry_after_s: float | None = None
    text: str = attrs.field(default="", kw_only=True)

    def beats(self, _: ModelRequest, /) -> Beats:
        """Yield the beats in order."""
        for piece in _cut(self.text, 1):
            yield Beat(0.0, TextDelta(0, piece))
        failed = Failed(
            bucket=self.bucket,
            code=self.code,
            message=self.message,
            retry_after_s=self.retry_after_s,
        )
        yield Beat(0.0, failed)


@attrs.frozen
class Hang:
    """Nothing more comes, after ``text`` if there is any; only leaving the stream ends it."""

    text: str = ""

    def beats(self, _: ModelRequest, /) -> Beats:
        """Yield the beats in order."""
        for piece in _cut(self.text, 1):
            yield Beat(0.0, TextDelta(0, piece))
        yield Beat(math.inf, Finished("stop"))


@attrs.frozen
class CutAfter:
    """The first ``parts`` parts of another reply; then the stream ends without an end marker (it broke)."""

    parts: int
    of: Reply

    def beats(self, request: ModelRequest, /) -> Beats:
        """Yield the beats in order."""
        return islice(self.of.beats(request), self.parts)


@attrs.frozen
class Raise:
    """The stream raises, as no adapter should: for tests of what a broken adapter does."""

    error: Exception
    text: str = ""

    def beats(self, _: ModelRequest, /) -> Beats:
        """Yield the beats in order."""
        for piece in _cut(self.text, 1):
            yield Beat(0.0, TextDelta(0, piece))
        yield Beat(0.0, self.error)


def _ending(usage: JsonObject | None, stop: StopReason) -> Beats:
    if usage is not None:
        yield Beat(0.0, UsageReport(usage))
    yield Beat(0.0, Finished(stop))


def _call_parts(index: int, call_id: str, call: Call) -> Iterator[Part]:
    text = call.arguments_text
    yield ToolCallDelta(index, call_id, call.name)
    for piece in _cut(text, 2):
        yield ToolCallDelta(index, None, None, piece)
    block: dict[str, JsonValue] = {"id": call_id, "name": call.name, "arguments": text}
    yield BlockEnd(index, {"type": CALL_BLOCK, **block})


def _moved(part: Part | Exception) -> Part | Exception:
    """Return a part of a block for the block behind it."""
    if isinstance(part, TextDelta | ThinkingDelta | ToolCallDelta | BlockEnd):
        return attrs.evolve(part, index=part.index + 1)
    return part


def _cut(text: str, pieces: int) -> Iterator[str]:
    """Yield ``text`` in that many pieces of about the same length; fewer when it is too short."""
    if pieces < 1:
        raise SettingError("pieces", pieces, "at least 1")
    bounds = [len(text) * number // pieces for number in range(pieces + 1)]
    for start, stop in pairwise(bounds):
        if start < stop:
            yield text[start:stop]
