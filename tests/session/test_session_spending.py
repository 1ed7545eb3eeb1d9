"""What requests used is in the log once each, and budgets, turns, sessions and trees count it."""

import pytest
import trio
from promises import keeps_its_promises, of, words

from actors.ports.model import UsageReport
from actors.testing.model import ScriptedModel
from actors.testing.script import Beat, Call, CallTools, Fail, Hang, Say
from actors.testing.tools import CountingTool
from runtime import Agent, Budget, open_engine
from runtime.models.catalogue import price_of

USAGE = {"input": 80, "output": 20, "totalTokens": 100}
KNOWN = "anthropic/claude-opus-5"
LONG = "words " * 400
LOOK = CountingTool(name="look", effect="read")


class Told:
    """Counts before another reply, as providers that tell the input first."""

    def __init__(self, then) -> None:
        self._then = then

    def beats(self, request, /):
        yield Beat(0.0, UsageReport(USAGE))
        yield from self._then.beats(request)


def summarising(**fields) -> ScriptedModel:
    summary = Say("a summary", usage={"input": 900, "output": 100, "totalTokens": 1000})
    return ScriptedModel(lambda _: Say(LONG, usage=USAGE), summaries=lambda _: summary, **fields)


async def compacted(engine, agent: str = "default"):
    session = await engine.create(agent=agent)
    for number in range(8):
        await session.run(f"{number} {LONG}")
    await session.compact()
    return session


async def test_the_tokens_of_a_summary_are_logged_and_counted():
    async with open_engine(model=summarising()) as engine:
        session = await compacted(engine)
        used = await session.usage()
        events = await keeps_its_promises(engine, session)
    (logged,) = of(events, "llm/usage")
    assert (logged["model"], logged["priority"]) == ("scripted/model", "background")
    assert logged["usage"]["totalTokens"] == 1000
    assert words(events).index("llm/usage") < words(events).index("compaction/start")
    assert (used.total.tokens, used.tree.tokens) == (1800, 1800)
    assert {turn: spent.tokens for turn, spent in used.turns.items()} == dict.fromkeys(
        range(1, 9), 100
    )


@pytest.mark.parametrize("end", ["empty", "fails", "hangs"])
async def test_a_summary_that_comes_to_nothing_was_paid_for_too(end, autojump_clock):
    answers = {"empty": Say(""), "fails": Fail("quota"), "hangs": Hang("half")}
    model = ScriptedModel(lambda _: Say(LONG, usage=USAGE), summaries=lambda _: Told(answers[end]))
    async with open_engine(model=model) as engine:
        session = await engine.create()
        for number in range(8):
            await session.run(f"{number} {LONG}")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_compact, session)
            await trio.sleep(5)
            await session.interrupt("session").settled()
        used = await session.usage()
        events = await keeps_its_promises(engine, session)
    assert len(of(events, "llm/usage")) == 1
    assert used.total.tokens == 900


async def _compact(session) -> None:
    try:
        await session.compact()
    except Exception:  # noqa: BLE001 - how it fails is another test's
        return


async def test_a_budget_counts_summaries(autojump_clock):
    agent = Agent(name="b", model=summarising(), budget=Budget(tokens=1500))
    async with open_engine(agents=[agent]) as engine:
        session = await compacted(engine, "b")
        assert (await session.run("more")).reason == "blocked"
    async with open_engine(agents=[Agent(name="b", model=summarising())]) as engine:
        session = await compacted(engine, "b")
        assert (await session.run("more")).reason == "completed"


async def test_failed_attempts_and_cut_replies_are_counted_once_each(autojump_clock):
    replies = [
        Told(Fail("transient")),
        Say("ok", usage=USAGE),
        Told(Hang("half")),
        Told(Hang()),
    ]
    budget = Budget(tokens=10_000)
    agent = Agent(name="b", model=ScriptedModel(replies), budget=budget)
    async with open_engine(agents=[agent]) as engine:
        session = await engine.create(agent="b")
        await session.run("a")
        for _ in range(2):
            turn = await session.prompt("b")
            await trio.sleep(1)
            await session.interrupt().settled()
            await turn.result()
        used = await session.usage()
        known = engine._stage._desks[session.id].session.spent
        events = await keeps_its_promises(engine, session)
    assert (used.total.tokens, known.tokens) == (400, 400)
    assert [d["usage"] for d in of(events, "assistant/attempt")] == [USAGE]
    assert [d["usage"] for d in of(events, "assistant/message")] == [USAGE, USAGE]
    assert [d["priority"] for d in of(events, "llm/usage")] == ["foreground"]


async def test_a_tree_counts_sessions_of_agents_that_have_no_budget(autojump_clock):
    plain = Agent(name="plain", model=ScriptedModel(lambda _: Say("x", usage=USAGE)))
    bounded = Agent(
        name="bounded",
        model=ScriptedModel(lambda _: Say("x", usage=USAGE)),
        budget=Budget(tree_tokens=250),
    )
    async with open_engine(agents=[plain, bounded]) as engine:
        root = await engine.create(id="root", agent="bounded")
        child = await engine.create(agent="plain", parent="root")
        assert (await root.run("a")).completed
        for _ in range(2):
            assert (await child.run("a")).completed
        assert (await root.run("a")).reason == "blocked"
        used = await root.usage()
    assert (used.total.tokens, used.tree.tokens) == (100, 300)


async def test_a_fork_counts_from_zero_and_costs_come_from_the_catalogue():
    model = ScriptedModel(
        [CallTools(Call("look"), usage=USAGE), *(Say("x", usage=USAGE) for _ in range(4))],
        name=KNOWN,
    )
    async with open_engine(model=model, tools=[LOOK]) as engine:
        session = await engine.create()
        await session.run("a")
        await session.run("b")
        fork = await session.fork()
        await fork.run("c")
        used, forked = await session.usage(), await fork.usage()
    one = price_of(KNOWN, USAGE)
    assert one is not None
    assert used.total.cost == pytest.approx(3 * one)
    assert used.turns[1].cost == pytest.approx(2 * one)
    assert (used.total.currency, used.total.unpriced) == ("USD", 0)
    assert forked.total.cost == pytest.approx(one)
