"""What every model must do: subclass :class:`ModelContract` with a fixture ``model``.

The model must answer ``request`` with at least two parts; override the fixture when it cannot answer
the one that is given here.
"""

from typing import get_args

import pytest
import trio

from actors.log.projection import UserMessage
from actors.ports.model import (
    BlockEnd,
    Failed,
    Finished,
    Model,
    ModelRequest,
    Part,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    UsageReport,
)
from actors.rules.assembly import Assembly


async def parts_of(model: Model, request: ModelRequest) -> list[Part]:
    """Read one stream to its end."""
    async with model.stream(request) as stream:
        return [part async for part in stream]


def assembled(parts: list[Part]) -> Assembly:
    """Fold parts as the engine does."""
    assembly = Assembly()
    for part in parts:
        match part:
            case TextDelta():
                assembly.text(part.index, part.text)
            case ThinkingDelta():
                assembly.thinking(part.index, part.text)
            case ToolCallDelta():
                assembly.tool_call(part.index, part.id, part.name, part.arguments)
            case BlockEnd():
                assembly.block_end(part.index, part.block)
            case UsageReport():
                assembly.usage(part.usage)
            case Finished():
                assembly.finish(part.stop_reason)
            case Failed():
                pass
    return assembly


class ModelContract:
    """The promises of :class:`actors.ports.model.Model`."""

    @pytest.fixture
    def model(self) -> Model:
        raise NotImplementedError("a subclass brings the model")

    @pytest.fixture
    def request_(self) -> ModelRequest:
        return ModelRequest(
            session_id="session-1",
            turn=1,
            step=1,
            model="provider/model",
            messages=(UserMessage(0, "hello"),),
        )

    def test_the_name_says_provider_and_model(self, model: Model) -> None:
        provider, slash, name = model.name.partition("/")

        assert provider
        assert slash
        assert name

    async def test_a_stream_holds_known_parts_only(
        self, model: Model, request_: ModelRequest, autojump_clock: trio.testing.MockClock
    ) -> None:
        parts = await parts_of(model, request_)

        assert len(parts) >= 2
        assert {type(part) for part in parts} <= set(get_args(Part))

    async def test_the_last_part_and_no_other_is_the_end(
        self, model: Model, request_: ModelRequest, autojump_clock: trio.testing.MockClock
    ) -> None:
        *before, last = await parts_of(model, request_)

        assert isinstance(last, Finished | Failed)
        assert not any(isinstance(part, Finished | Failed) for part in before)

    async def test_nothing_follows_the_end_however_often_it_is_asked_for(
        self, model: Model, request_: ModelRequest, autojump_clock: trio.testing.MockClock
    ) -> None:
        async with model.stream(request_) as stream:
            async for _ in stream:
                pass
            for _ in range(2):
                with pytest.raises(StopAsyncIteration):
                    await anext(stream)

    async def test_a_finished_stream_can_be_assembled_and_did_not_break(
        self, model: Model, request_: ModelRequest, autojump_clock: trio.testing.MockClock
    ) -> None:
        parts = await parts_of(model, request_)
        result = assembled(parts).result()

        assert result.broke == isinstance(parts[-1], Failed)
        assert all(call.name for call in result.calls)

    async def test_no_delta_comes_for_a_block_that_has_ended(
        self, model: Model, request_: ModelRequest, autojump_clock: trio.testing.MockClock
    ) -> None:
        ended: set[int] = set()
        for part in await parts_of(model, request_):
            if isinstance(part, TextDelta | ThinkingDelta | ToolCallDelta | BlockEnd):
                assert part.index not in ended
            if isinstance(part, BlockEnd):
                ended.add(part.index)

    async def test_leaving_early_takes_no_time_and_the_next_stream_is_whole(
        self, model: Model, request_: ModelRequest, autojump_clock: trio.testing.MockClock
    ) -> None:
        async with model.stream(request_) as stream:
            await anext(stream)
            left_s = trio.current_time()
        assert trio.current_time() == left_s

        parts = await parts_of(model, request_)
        assert isinstance(parts[-1], Finished | Failed)

    async def test_a_cancelled_reader_is_cancelled_at_the_very_next_part(
        self, model: Model, request_: ModelRequest, autojump_clock: trio.testing.MockClock
    ) -> None:
        reached = False
        with trio.CancelScope() as scope:
            async with model.stream(request_) as stream:
                await anext(stream)
                scope.cancel()
                started_s = trio.current_time()
                await anext(stream)
                reached = True

        assert scope.cancelled_caught
        assert not reached
        assert trio.current_time() == started_s

    async def test_streams_side_by_side_do_not_mix(
        self, model: Model, request_: ModelRequest, autojump_clock: trio.testing.MockClock
    ) -> None:
        ends: list[Part] = []

        async def read() -> None:
            ends.append((await parts_of(model, request_))[-1])

        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(read)

        assert len(ends) == 3
        assert all(isinstance(end, Finished | Failed) for end in ends)
