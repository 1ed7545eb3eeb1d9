"""A budget that is used up pauses and asks; it never kills."""

from promises import keeps_its_promises, of, words

from actors.testing.model import ScriptedModel
from actors.testing.script import Call, CallTools, Say
from actors.testing.tools import CountingTool, SleepingTool
from runtime import Agent, Budget, open_engine

USAGE = {"input": 60, "output": 40}


def agent(budget, *tools, replies=None, **fields):
    model = ScriptedModel(replies or (lambda _request: Say("ok", usage=USAGE)))
    return Agent(name="spender", model=model, tools=tools, budget=budget, **fields)


async def test_a_turn_over_the_budget_ends_blocked_when_nobody_allows_more(autojump_clock):
    async with open_engine(agents=[agent(Budget(tokens=150))]) as engine:
        session = await engine.create(agent="spender")
        reasons = [(await session.run("go")).reason for _ in range(3)]
        events = await keeps_its_promises(engine, session)
    assert reasons == ["completed", "completed", "blocked"]
    assert words(events).count("session/paused") == 1
    assert of(events, "approval/decided")[0]["decision"] == "unavailable"


async def test_an_extension_allows_the_same_again(autojump_clock):
    asked = []

    async def allow(ask):
        asked.append(ask.summary)
        return "approve"

    async with open_engine(agents=[agent(Budget(tokens=150))], on_ask=allow) as engine:
        session = await engine.create(agent="spender")
        assert all([(await session.run("go")).completed for _ in range(5)])
        await keeps_its_promises(engine, session)
    assert ["200 of 150 tokens" in asked[0], "300 of 300 tokens" in asked[1]] == [True, True]
    assert len(asked) == 2


async def test_what_a_session_spent_is_read_from_its_log_and_a_fork_starts_from_zero():
    async with open_engine(agents=[agent(Budget(tokens=150))]) as engine:
        session = await engine.create(agent="spender")
        for _ in range(2):
            await session.run("go")
        fork = await session.fork()
        assert (await fork.run("go")).completed
        assert (await session.run("go")).reason == "blocked"


async def test_the_tree_has_one_budget(autojump_clock):
    async with open_engine(agents=[agent(Budget(tree_tokens=150))]) as engine:
        root = await engine.create(id="root", agent="spender")
        child = await engine.create(agent="spender", parent="root")
        await root.run("go")
        await child.run("go")
        assert (await root.run("go")).reason == "blocked"


async def test_time_and_money_are_bounds_too(autojump_clock):
    slow = SleepingTool(effect="read", seconds=60)
    replies = [CallTools(Call("sleep")), Say("late"), Say("ok", usage=USAGE), Say("never")]
    async with open_engine(
        agents=[agent(Budget(turn_s=30), slow, replies=replies)],
    ) as engine:
        session = await engine.create(agent="spender")
        result = await session.run("go")
        await keeps_its_promises(engine, session)
    assert result.reason == "blocked"
    priced = agent(Budget(cost=1.5), CountingTool(), price=lambda _, usage: usage["input"] / 60)
    async with open_engine(agents=[priced]) as engine:
        session = await engine.create(agent="spender")
        reasons = [(await session.run("go")).reason for _ in range(3)]
    assert reasons == ["completed", "completed", "blocked"]
