"""Tools that behave well, slowly, or badly.

All take any object as arguments. ``calls`` holds what they were called with, in order.
"""

from typing import Any, Final

import attrs
import trio

from actors.json import JsonObject, JsonValue
from actors.ports.model import ToolSchema
from actors.ports.tool import ToolContext, ToolOutput
from actors.rules.policy import Effect

ANYTHING: Final[JsonObject] = {"type": "object", "additionalProperties": True}


@attrs.frozen
class SeenCall:
    """One call as a tool saw it; ``number`` counts from 1."""

    number: int
    arguments: JsonValue
    context: ToolContext


@attrs.define(kw_only=True)
class CountingTool:
    """Counts its calls and says the number; the base of the other fakes."""

    name: str = "count"
    effect: Effect = "write"
    timeout_s: float | None = None
    calls: list[SeenCall] = attrs.field(factory=list, init=False)
    ended: int = attrs.field(default=0, init=False)
    """How many calls have ended, however they did."""

    @property
    def schema(self) -> ToolSchema:
        """Name, description and parameters for the model."""
        return ToolSchema(self.name, type(self).__doc__ or "", ANYTHING)

    @property
    def running(self) -> int:
        """How many calls are running now."""
        return len(self.calls) - self.ended

    async def call(self, arguments: JsonValue, context: ToolContext) -> ToolOutput:
        """Count the call, then do what the tool does."""
        seen = SeenCall(len(self.calls) + 1, arguments, context)
        self.calls.append(seen)
        try:
            return await self._act(seen)
        finally:
            self.ended += 1

    async def _act(self, seen: SeenCall, /) -> ToolOutput:
        await trio.lowlevel.checkpoint()
        return ToolOutput(content=f"call {seen.number}")


@attrs.define(kw_only=True)
class SleepingTool(CountingTool):
    """Sleeps for ``seconds``; one that honours the signal of its context ends as soon as it is set."""

    name: str = "sleep"
    seconds: float = 1.0
    honours_signal: bool = True

    async def _act(self, seen: SeenCall, /) -> ToolOutput:
        signal = seen.context.cancelled if self.honours_signal else trio.Event()
        with trio.move_on_after(self.seconds):
            await signal.wait()
            return ToolOutput(content=f"call {seen.number} ended early")
        return ToolOutput(content=f"call {seen.number} slept")


@attrs.define(kw_only=True)
class RaisingTool(CountingTool):
    """Raises ``error``."""

    name: str = "fail"
    error: Exception = attrs.field(factory=lambda: LookupError("the tool broke"))

    async def _act(self, _: SeenCall, /) -> ToolOutput:
        await trio.lowlevel.checkpoint()
        raise self.error


@attrs.define(kw_only=True)
class StubbornTool(CountingTool):
    """Takes no notice of signal and cancellation for ``seconds``, or until a test lets it go.

    Source: K-21.
    """

    name: str = "stubborn"
    seconds: float = 60.0
    released: trio.Event = attrs.field(factory=trio.Event, init=False)
    """Set it to let every call end."""

    async def _act(self, seen: SeenCall, /) -> ToolOutput:
        with trio.move_on_after(self.seconds, shield=True):
            await self.released.wait()
        return ToolOutput(content=f"call {seen.number} had its way")


@attrs.define(kw_only=True)
class NonJsonTool(CountingTool):
    """Returns a content block that holds ``value``, which is no JSON."""

    name: str = "no_json"
    value: Any = attrs.field(factory=object)

    async def _act(self, _: SeenCall, /) -> ToolOutput:
        await trio.lowlevel.checkpoint()
        return ToolOutput(content=[{"type": "text", "text": self.value}])
