"""What every tool must do: subclass :class:`ToolContract` with a fixture ``tool``.

``arguments`` are some that the tool accepts; override the attribute when it wants others. A tool that
waits for something outside is held to :class:`WaitingToolContract` as well.
"""

import re
from typing import get_args

import pytest
import trio

from actors.json import JsonValue
from actors.log.codec import encode
from actors.ports.model import ToolSchema
from actors.ports.tool import Tool, ToolOutput
from actors.rules.policy import Effect
from actors.testing.context import RecordedContext


class ToolContract:
    """The promises of :class:`actors.ports.tool.Tool` for a tool that ends by itself."""

    arguments: JsonValue = {}  # noqa: RUF012 - never changed

    @pytest.fixture
    def tool(self) -> Tool:
        raise NotImplementedError("a subclass brings the tool")

    def test_the_schema_has_a_name_that_providers_take(self, tool: Tool) -> None:
        assert isinstance(tool.schema, ToolSchema)
        assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", tool.schema.name)

    def test_the_parameters_are_the_schema_of_an_object_and_plain_json(self, tool: Tool) -> None:
        assert tool.schema.parameters["type"] == "object"
        assert encode(tool.schema.parameters)

    def test_the_schema_is_the_same_at_every_look(self, tool: Tool) -> None:
        assert tool.schema == tool.schema

    def test_the_effect_is_a_known_word(self, tool: Tool) -> None:
        assert tool.effect in get_args(Effect)

    def test_the_budget_is_positive_or_none(self, tool: Tool) -> None:
        assert tool.timeout_s is None or tool.timeout_s > 0

    async def test_a_call_returns_output_that_can_be_logged(
        self, tool: Tool, autojump_clock: trio.testing.MockClock
    ) -> None:
        output = await tool.call(self.arguments, RecordedContext().context())

        assert isinstance(output, ToolOutput)
        assert encode({"content": output.content, "meta": output.meta})
        assert isinstance(output.content, str) or all("type" in b for b in output.content)

    async def test_text_that_was_no_json_gives_output_and_no_traceback(
        self, tool: Tool, autojump_clock: trio.testing.MockClock
    ) -> None:
        output = await tool.call('{"half":', RecordedContext().context())

        assert isinstance(output, ToolOutput)

    async def test_calls_side_by_side_each_get_an_output(
        self, tool: Tool, autojump_clock: trio.testing.MockClock
    ) -> None:
        outputs: list[ToolOutput] = []

        async def run(call_id: str) -> None:
            context = RecordedContext().context(call_id)
            outputs.append(await tool.call(self.arguments, context))

        async with trio.open_nursery() as nursery:
            for number in range(3):
                nursery.start_soon(run, f"call-{number}")

        assert len(outputs) == 3


class WaitingToolContract:
    """The promises of a tool that waits for longer than any test."""

    arguments: JsonValue = {}  # noqa: RUF012 - never changed

    @pytest.fixture
    def tool(self) -> Tool:
        raise NotImplementedError("a subclass brings the tool")

    async def test_a_cancelled_call_ends_at_once_and_says_that_it_was_cancelled(
        self, tool: Tool, autojump_clock: trio.testing.MockClock
    ) -> None:
        with trio.move_on_after(1) as scope:
            await tool.call(self.arguments, RecordedContext().context())

        assert scope.cancelled_caught
        assert trio.current_time() == pytest.approx(scope.deadline)

    async def test_cancelling_one_call_leaves_the_others_running(
        self, tool: Tool, autojump_clock: trio.testing.MockClock
    ) -> None:
        ended: list[str] = []

        async def run(call_id: str, limit_s: float) -> None:
            with trio.move_on_after(limit_s):
                await tool.call(self.arguments, RecordedContext().context(call_id))
            ended.append(call_id)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(run, "long", 2)
            nursery.start_soon(run, "short", 1)
            await trio.sleep(1.5)
            assert ended == ["short"]
