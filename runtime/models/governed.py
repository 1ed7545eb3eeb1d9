"""A model whose requests a governor lets go: it knows the key, and nobody behind it needs to."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from types import TracebackType
from typing import Final, Self

from actors.ports.model import (
    BlockEnd,
    Failed,
    Held,
    Model,
    ModelRequest,
    Part,
    RateReport,
    Refresh,
    Refreshing,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    UsageReport,
)
from actors.rules.budget import spent_by
from actors.rules.rates import Rates
from runtime.models.governor import Governor
from runtime.models.places import Place

_PIECES: Final = frozenset({TextDelta, ThinkingDelta, ToolCallDelta, BlockEnd})
"""Parts that say nothing new of the provider once it has begun to answer."""


class GovernedModel:
    """A :class:`~actors.ports.model.Model` that keeps the limits of its key.

    Give the same governor to all models that are asked with one key. While nothing limits, a request goes at
    once. One that waits says so by a :class:`~actors.ports.model.Held`; one that may not go ends in a
    transient failure: ``LLM_INFLIGHT_LIMIT`` (too many wait, or too long), ``LLM_RATE_LIMITED`` (the provider
    asked for a pause longer than any request waits), ``LLM_CIRCUIT_OPEN`` (the provider is down).
    """

    def __init__(self, model: Model, governor: Governor) -> None:
        self.model, self.governor = model, governor

    @property
    def name(self) -> str:
        """``provider/model``, as it is written to the log."""
        return self.model.name

    @property
    def refresh(self) -> Refresh | None:
        """How the model renews its credentials, when it can."""
        return self.model.refresh if isinstance(self.model, Refreshing) else None

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[Part]]:
        """Open one stream; see the port.

        Cancellation:
            A request that waits gives its place up at once.
        """
        return _Stream(self.model, self.governor, request)


class Governors:
    """One governor for each key, all with the same rates."""

    def __init__(self, rates: Rates | None = None) -> None:
        self._rates = rates
        self._by_key: dict[str, Governor] = {}

    def of(self, key: str) -> Governor:
        """Return the governor of a key; ``key`` is its name, never the key itself."""
        return self._by_key.setdefault(key, Governor(self._rates))


class _Stream(AbstractAsyncContextManager["_Stream"]):
    """One request, from its place in the line to its end."""

    def __init__(self, model: Model, governor: Governor, request: ModelRequest) -> None:
        self._model, self._governor, self._request = model, governor, request
        self._stack = AsyncExitStack()
        self._place: Place | None = None
        self._parts: AsyncIterator[Part] | None = None
        self._over = False
        self._answered = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            await self._stack.aclose()
        finally:
            place, self._place = self._place, None
            if place is not None:
                self._governor.leave(place)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Part:
        if self._over:
            raise StopAsyncIteration
        if self._parts is None:
            first = await self._begin()
            if first is not None:
                return first
        assert self._parts is not None
        while True:
            part = await anext(self._parts)
            if self._answered and type(part) in _PIECES:
                return part
            if not isinstance(part, RateReport):
                self._note(part)
                return part
            assert self._place is not None
            self._governor.report(self._place, part)

    async def _begin(self) -> Part | None:
        """Ask for a place, say that it must be waited for, and open the stream when the request may go."""
        if self._place is None:
            self._place = self._governor.place(self._request)
            if self._place.waits_for is not None:
                return Held(reason=self._place.waits_for, at_most_s=self._governor.rates.wait_s)
        refused = await self._governor.wait(self._place)
        if refused is not None:
            self._over = True
            return refused
        stream = self._model.stream(self._request)
        self._parts = await self._stack.enter_async_context(stream)
        return None

    def _note(self, part: Part) -> None:
        assert self._place is not None
        if isinstance(part, Failed):
            self._governor.failed(self._place, part)
            return
        self._governor.answered(self._place)
        self._answered = True
        if isinstance(part, UsageReport):
            self._place.used = spent_by(part.usage).tokens
