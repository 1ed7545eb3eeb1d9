import attrs
import pytest

from actors.errors.session import (
    ResultTypeError,
    ResultTypeUnsupportedError,
)
from actors.errors.tool import ToolDefinitionError
from actors.testing.model import ScriptedModel
from actors.testing.script import Say
from runtime import Agent, open_engine, tool


@attrs.frozen
class Sum:
    total: int


async def test_a_typed_result_is_asked_for_once_more_when_it_does_not_fit():
    model = ScriptedModel([Say('{"total": "x"}'), Say('{"total": 3}'), Say("no"), Say("no")])
    async with open_engine(model=model) as engine:
        session = await engine.create()
        result = await session.run("add", returns=Sum)
        assert result.value == Sum(3)
        with pytest.raises(ResultTypeError):
            await session.run("add", returns=Sum)


async def test_a_typed_result_is_read_as_strictly_as_the_arguments_of_a_tool():
    model = ScriptedModel([Say('{"total": 3.5}'), Say('{"total": "3"}')])
    async with open_engine(model=model) as engine:
        session = await engine.create()
        with pytest.raises(ResultTypeError, match='total: must be an integer, not "3"'):
            await session.run("add", returns=Sum)


async def test_a_type_that_json_cannot_be_read_as_costs_no_turn():
    async with open_engine(model=ScriptedModel([])) as engine:
        session = await engine.create()
        with pytest.raises(ResultTypeUnsupportedError, match="no JSON schema"):
            await session.run("add", returns=type(engine))
        assert await session.read() == []


async def test_a_plain_function_is_no_tool_and_the_error_shows_how_it_becomes_one():
    def add(a: int, b: int) -> int:
        return a + b

    with pytest.raises(ToolDefinitionError, match="add cannot be a tool: decorate it with @tool"):
        async with open_engine(tools=[add]):
            pass


def test_an_agent_can_be_changed_into_another_with_the_same_tools():
    first = Agent(name="first", tools=[tool(effect="read")(_nothing)])
    assert attrs.evolve(first, name="second").tools == first.tools


def _nothing() -> None:
    pass


async def test_a_second_turn_that_does_not_complete_has_no_value():
    async with open_engine(model=ScriptedModel([Say("no")])) as engine:
        session = await engine.create()
        result = await session.run("add", returns=Sum)
    assert (result.reason, result.value) == ("error", None)
