"""The fake tools behave as badly as they promise, and no worse."""

import pytest
import trio

from actors.errors.log import EventDataError
from actors.log.codec import encode
from actors.ports.tool import Tool
from actors.testing.context import RecordedContext
from actors.testing.tools import (
    CountingTool,
    NonJsonTool,
    RaisingTool,
    SleepingTool,
    StubbornTool,
)
from tests.contracts.tool_contract import ToolContract, WaitingToolContract


class TestCountingKeepsTheContract(ToolContract):
    @pytest.fixture
    def tool(self) -> Tool:
        return CountingTool()


class TestSleepingKeepsTheContract(ToolContract):
    @pytest.fixture
    def tool(self) -> Tool:
        return SleepingTool(seconds=3)


class TestSleepingLongKeepsTheContract(WaitingToolContract):
    @pytest.fixture
    def tool(self) -> Tool:
        return SleepingTool(seconds=1e6)


async def test_a_counting_tool_remembers_what_it_was_called_with() -> None:
    tool, context = CountingTool(), RecordedContext().context("call-9")
    outputs = [await tool.call({"n": n}, context) for n in range(2)]

    assert [output.content for output in outputs] == ["call 1", "call 2"]
    assert [seen.arguments for seen in tool.calls] == [{"n": 0}, {"n": 1}]
    assert tool.calls[0].context.call_id == "call-9"
    assert (tool.ended, tool.running) == (2, 0)


async def test_a_sleeping_tool_ends_early_on_its_signal(
    autojump_clock: trio.testing.MockClock,
) -> None:
    recorded = RecordedContext()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_set_after, recorded.cancelled, 2)
        output = await SleepingTool(seconds=10).call({}, recorded.context())

    assert output.content == "call 1 ended early"
    assert trio.current_time() == pytest.approx(2)


async def test_a_sleeping_tool_may_ignore_its_signal(
    autojump_clock: trio.testing.MockClock,
) -> None:
    recorded = RecordedContext()
    recorded.cancelled.set()
    tool = SleepingTool(seconds=10, honours_signal=False)

    assert (await tool.call({}, recorded.context())).content == "call 1 slept"
    assert trio.current_time() == pytest.approx(10)


async def test_a_cancelled_call_counts_as_ended(autojump_clock: trio.testing.MockClock) -> None:
    tool = SleepingTool(seconds=10)
    with trio.move_on_after(1):
        await tool.call({}, RecordedContext().context())

    assert (len(tool.calls), tool.ended) == (1, 1)


async def test_a_raising_tool_raises_the_error_it_was_given() -> None:
    error = OSError("no")
    tool = RaisingTool(error=error)
    with pytest.raises(OSError, match="no") as raised:
        await tool.call({}, RecordedContext().context())

    assert raised.value is error
    assert tool.ended == 1


async def test_a_stubborn_tool_outlasts_its_cancellation(
    autojump_clock: trio.testing.MockClock,
) -> None:
    tool = StubbornTool(seconds=30)
    with trio.move_on_after(1) as scope:
        output = await tool.call({}, RecordedContext().context())

    assert output.content == "call 1 had its way"
    assert not scope.cancelled_caught
    assert trio.current_time() == pytest.approx(30)


async def test_a_stubborn_tool_can_be_let_go(autojump_clock: trio.testing.MockClock) -> None:
    tool = StubbornTool()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(tool.call, {}, RecordedContext().context())
        await trio.sleep(5)
        assert tool.running == 1
        nursery.cancel_scope.cancel()
        tool.released.set()

    assert tool.running == 0
    assert trio.current_time() == pytest.approx(5)


async def test_the_output_of_a_non_json_tool_cannot_be_logged() -> None:
    output = await NonJsonTool().call({}, RecordedContext().context())

    with pytest.raises(EventDataError):
        encode(output.content)


async def test_a_context_keeps_progress_and_questions_and_says_no_when_nobody_answers() -> None:
    recorded = RecordedContext([True])
    context = recorded.context()
    context.progress({"done": 1})

    assert [await context.ask("may I?"), await context.ask("and again?")] == [True, False]
    assert recorded.shown == [{"done": 1}]
    assert recorded.questions == ["may I?", "and again?"]


async def _set_after(event: trio.Event, seconds: float) -> None:
    await trio.sleep(seconds)
    event.set()
