"""What the README tells people who come from elsewhere, tried out."""

import attrs

from actors.testing.model import ScriptedModel
from actors.testing.script import Call, CallTools, Say
from runtime import (
    Agent,
    Ask,
    Budget,
    Limits,
    Policy,
    PolicyEntry,
    PolicyTable,
    StreamDelta,
    ToolContext,
    open_engine,
    tool,
)

asked: list[str] = []


@attrs.frozen
class Trip:
    city: str
    days: int


@tool(effect="read")
async def book(city: str, context: ToolContext) -> str:
    """Book a trip."""
    return "booked" if await context.ask(f"Really {city}?") else "not booked"


@tool(effect="write")
async def add(a: int) -> int:
    """Add."""
    return a


async def on_ask(ask: Ask) -> str:
    asked.append(ask.summary)
    return "approve"


async def test_an_agent_with_a_budget_asks_in_its_tool_and_replies_with_a_type() -> None:
    said = [CallTools(Call("book", {"city": "Oslo"})), Say('{"city": "Oslo", "days": 3}')]
    agent = Agent(model=ScriptedModel(said), tools=[book], budget=Budget(tokens=100_000))
    asked.clear()
    async with open_engine(agents=[agent], on_ask=on_ask) as engine:  # type: ignore[arg-type]
        session = await engine.create()
        result = await session.run("Where to?", returns=Trip)
    assert result.value == Trip("Oslo", 3)
    assert asked == ["Really Oslo?"]


async def test_a_picture_goes_into_a_prompt_and_the_reply_comes_piece_by_piece() -> None:
    text = ""
    async with open_engine(model=ScriptedModel([Say("A grey square.", pieces=3)])) as engine:
        session = await engine.create()
        picture = await session.attach(b"\x89PNG", media_type="image/png")
        turn = await session.prompt([{"type": "text", "text": "What is it?"}, picture.block])
        async with turn.follow() as items:
            async for item in items:
                text += item.text if isinstance(item, StreamDelta) else ""
        said = (await turn.result()).text
    assert text == said == "A grey square."


async def test_a_row_of_the_policy_lets_a_tool_run_unasked() -> None:
    model = ScriptedModel([CallTools(Call("add", {"a": 7})), Say("done")])
    policy = Policy(table=PolicyTable(entries=(PolicyEntry(index=0, tool="add"),)))
    async with open_engine(model=model, tools=[add], policy=policy) as engine:
        session = await engine.create()
        await session.run("go")
        events = await session.read()
    assert [e.data()["content"] for e in events if e.type == "tool/result"] == ["7"]  # type: ignore[call-overload, index]


async def test_a_turn_ends_at_its_bound_of_steps_and_says_so() -> None:
    model = ScriptedModel(lambda _: CallTools(Call("add", {"a": 1})))
    async with open_engine(model=model, tools=[add], limits=Limits(steps_per_turn=2)) as engine:
        result = await (await engine.create()).run("go")
    assert (result.completed, result.steps) == (False, 2)
    assert result.error is not None
    assert "TURN_STEP_LIMIT" in result.error
