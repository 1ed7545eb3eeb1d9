"""Asks: settled once, told to everybody, and no answer is no."""

import pytest
import trio
from promises import keeps_its_promises, of

from actors.errors.asks import AnswerWordError, AskNotFoundError
from actors.rules.policy import Policy, PolicyEntry, PolicyTable
from actors.testing.model import ScriptedModel
from actors.testing.script import Call, CallTools, Say
from actors.testing.tools import CountingTool
from runtime import NEVER, Limits, open_engine


def scripted(*names: str) -> ScriptedModel:
    return ScriptedModel([CallTools(*(Call(name) for name in names)), Say("done")])


async def test_an_ask_that_nobody_watches_is_unavailable_at_once(autojump_clock):
    tool = CountingTool()
    async with open_engine(model=scripted("count"), tools=[tool]) as engine:
        session = await engine.create()
        result = await session.run("go")
        events = await keeps_its_promises(engine, session)
    assert result.text == "done"
    assert tool.calls == []
    (decided,) = of(events, "approval/decided")
    assert (decided["decision"], decided["source"]) == ("unavailable", "timeout")
    assert of(events, "tool/result")[0]["error"]["code"] == "TOOL_BLOCKED"


@pytest.mark.parametrize(
    ("word", "runs"), [("approve", 1), ("always", 1), ("reject", 0), ("cancel", 0)]
)
async def test_each_answer_means_what_it_says(word, runs):
    tool = CountingTool()

    async def answer(_ask):
        return word

    async with open_engine(model=scripted("count"), tools=[tool], on_ask=answer) as engine:
        session = await engine.create()
        await session.run("go")
        events = await keeps_its_promises(engine, session)
    assert len(tool.calls) == runs
    assert of(events, "approval/decided")[0]["by"] == "on_ask"


async def test_of_two_answers_the_first_wins_and_the_second_is_told(autojump_clock):
    tool = CountingTool()
    outcomes = []
    async with open_engine(model=scripted("count"), tools=[tool]) as engine, engine.asks() as asks:
        session = await engine.create()
        turn = await session.prompt("go")
        ask = await anext(asks)

        async def answer(word: str, who: str) -> None:
            outcomes.append((who, await engine.answer(ask.id, word, by=who)))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(answer, "approve", "ann")
            nursery.start_soon(answer, "reject", "bob")
        await turn.result()
        again = await engine.answer(ask.id, "approve")
        events = await keeps_its_promises(engine, session)
    verdicts = dict(outcomes)
    assert sorted(o.outcome for o in verdicts.values()) == ["applied", "superseded"]
    winner = next(who for who, o in outcomes if o.outcome == "applied")
    assert {o.settlement.by for o in verdicts.values()} == {winner}
    assert again.outcome == "superseded"
    assert len(of(events, "approval/decided")) == 1
    assert len(tool.calls) == (1 if winner == "ann" else 0)


async def test_two_asks_of_one_tool_get_each_its_own_answer(autojump_clock):
    tool = CountingTool()
    model = ScriptedModel([CallTools(Call("count")), CallTools(Call("count")), Say("done")] * 2)
    async with open_engine(model=model, tools=[tool]) as engine, engine.asks() as asks:
        first, second = await engine.create(id="a"), await engine.create(id="b")
        turns = [await first.prompt("go"), await second.prompt("go")]
        open_asks = [await anext(asks), await anext(asks)]
        for ask, word in zip(reversed(open_asks), ("reject", "approve"), strict=True):
            await engine.answer(ask.id, word)
        for _ in range(2):
            await engine.answer((await anext(asks)).id, "reject")
        for turn in turns:
            await turn.result()
    assert [call.context.session_id for call in tool.calls] == [open_asks[0].session_id]
    assert len({ask.id for ask in open_asks}) == 2


async def test_an_answer_to_no_ask_is_an_error():
    async with open_engine() as engine:
        with pytest.raises(AskNotFoundError):
            await engine.answer("ask-nothing", "approve")


async def test_a_word_outside_the_closed_set_is_an_error(autojump_clock):
    async with open_engine(model=scripted("count"), tools=[CountingTool()]) as engine:
        async with engine.asks() as asks:
            turn = await (await engine.create()).prompt("go")
            ask = await anext(asks)
            with pytest.raises(AnswerWordError):
                await engine.answer(ask.id, "maybe")  # type: ignore[arg-type]
            await engine.answer(ask.id, "reject")
            await turn.result()


async def test_an_ask_with_a_deadline_expires_and_says_so(autojump_clock):
    tool = CountingTool()
    limits = Limits(ask_deadline_s=30)
    async with open_engine(model=scripted("count"), tools=[tool], limits=limits) as engine:
        async with engine.asks():
            session = await engine.create()
            result = await session.run("go")
            events = await keeps_its_promises(engine, session)
    assert result.completed
    assert of(events, "approval/decided")[0]["source"] == "expired"
    assert "no decision was made" in of(events, "tool/result")[0]["content"]
    assert tool.calls == []


async def test_an_ask_outlives_its_last_watcher_by_the_grace_only(autojump_clock):
    async with open_engine(model=scripted("count"), tools=[CountingTool()]) as engine:
        session = await engine.create()
        async with engine.asks() as asks:
            turn = await session.prompt("go")
            await anext(asks)
        gone_s = trio.current_time()
        await turn.result()
        assert trio.current_time() - gone_s == pytest.approx(60)
        events = await keeps_its_promises(engine, session)
    assert of(events, "approval/decided")[0]["decision"] == "unavailable"


async def test_an_ask_that_waits_is_shown_again_to_whoever_comes_back(autojump_clock):
    tool = CountingTool()
    async with open_engine(model=scripted("count"), tools=[tool]) as engine:
        session = await engine.create()
        async with engine.asks() as asks:
            turn = await session.prompt("go")
            first = await anext(asks)
        await trio.sleep(30)
        async with engine.asks() as asks:
            await trio.sleep(100)
            assert (await anext(asks)).id == first.id
            await engine.answer(first.id, "approve")
            await turn.result()
    assert len(tool.calls) == 1


async def test_a_failing_on_ask_is_reported_and_the_ask_is_unavailable(autojump_clock):
    tool, reports = CountingTool(), []

    async def broken(_ask):
        raise LookupError("no idea")

    async with open_engine(
        model=scripted("count"),
        tools=[tool],
        on_ask=broken,
        report=lambda where, error: reports.append((where, error)),
    ) as engine:
        session = await engine.create()
        result = await session.run("go")
        await keeps_its_promises(engine, session)
    assert result.completed
    assert tool.calls == []
    assert isinstance(reports[0][1], LookupError)


async def test_deny_goes_before_ask_before_allow():
    allow = PolicyEntry(index=0, tool="count")
    deny = PolicyEntry(index=1, tool="count", decision="deny", reason="not here")
    for entries, runs in (((allow,), 1), ((allow, deny), 0), ((deny, allow), 0)):
        tool = CountingTool()
        policy = Policy(table=PolicyTable(entries=entries))
        async with open_engine(model=scripted("count"), tools=[tool], policy=policy) as engine:
            session = await engine.create()
            await session.run("go")
            events = await keeps_its_promises(engine, session)
        assert len(tool.calls) == runs
        assert of(events, "approval/asked") == []


async def test_a_policy_that_never_asks_refuses_what_would_be_asked():
    tool = CountingTool()
    async with open_engine(model=scripted("count"), tools=[tool], policy=NEVER) as engine:
        session = await engine.create()
        await session.run("go")
        events = await keeps_its_promises(engine, session)
    assert tool.calls == []
    assert of(events, "approval/decided")[0]["source"] == "policy-never"


async def test_a_tool_may_ask_on_its_own(autojump_clock):
    class Asking(CountingTool):
        async def _act(self, seen):
            assert await seen.context.ask("really?")
            return await super()._act(seen)

    asked = []

    async def answer(ask):
        asked.append(ask.summary)
        return "approve"

    tool = Asking(effect="read")
    async with open_engine(model=scripted("count"), tools=[tool], on_ask=answer) as engine:
        session = await engine.create()
        await session.run("go")
        events = await keeps_its_promises(engine, session)
    assert asked == ["really?"]
    assert of(events, "tool/result")[0]["content"] == "call 1"


async def test_always_is_written_once_and_holds_in_every_session(autojump_clock):
    tool, written = CountingTool(name="write"), []

    async def remember(entry):
        await trio.sleep(1)
        written.append(entry)

    def answer(request):
        if type(request.messages[-1]).__name__ == "UserMessage":
            return CallTools(Call("write", {"path": "/notes/a.txt"}))
        return Say("done")

    async with (
        open_engine(model=ScriptedModel(answer), tools=[tool], remember=remember) as engine,
        engine.asks() as asks,
    ):
        first, second = await engine.create(id="first"), await engine.create(id="second")
        turn = await first.prompt("go")
        ask = await anext(asks)
        assert ask.suggested_entry == {
            "tool": "write", "pattern": "/notes/a.txt", "decision": "allow",
        }  # fmt: skip
        await engine.answer(ask.id, "always")
        await turn.result()
        await second.run("go")
        await first.run("again")
        mine = await keeps_its_promises(engine, first)
        its = await keeps_its_promises(engine, second)
    assert len(written) == 1
    assert len(tool.calls) == 3
    assert of(mine, "approval/decided")[0]["decision"] == "always"
    assert of(its, "approval/asked") == []
    assert of(its, "gate/decision")[0]["reason"].startswith("policy-allow")


async def test_a_gate_that_raises_blocks_its_call_and_no_other(autojump_clock):
    async def full(_entry):
        raise OSError("the disk is full")

    async def always(_ask):
        return "always"

    write, look = CountingTool(name="write"), CountingTool(name="look", effect="read")
    both = CallTools(Call("write", {"path": "/a"}), Call("look"))
    model = ScriptedModel([both, Say("sorry"), both, Say("sorry")])
    async with open_engine(
        model=model, tools=[write, look], on_ask=always, remember=full
    ) as engine:
        session = await engine.create()
        first, second = await session.run("go"), await session.run("again")
        events = await keeps_its_promises(engine, session)
    assert first.completed
    assert second.completed
    assert (len(write.calls), len(look.calls)) == (0, 2)
    codes = [(d.get("error") or {}).get("code") for d in of(events, "tool/result")]
    assert codes == ["TOOL_GATE_FAILED", None] * 2
    assert "the disk is full" in of(events, "tool/result")[0]["content"]
    decided = [(d["decision"], d["source"]) for d in of(events, "approval/decided")]
    assert decided == [("unavailable", "timeout")] * 2


async def test_an_ask_says_why_the_policy_asks(autojump_clock):
    shown = []

    async def approve(ask):
        shown.append(ask.reason)
        return "approve"

    entry = PolicyEntry(index=0, tool="look", decision="ask", reason="it costs money")
    policy = Policy(table=PolicyTable(entries=(entry,)))
    tool = CountingTool(name="look", effect="read")
    async with open_engine(
        model=scripted("look"), tools=[tool], policy=policy, on_ask=approve
    ) as engine:
        session = await engine.create()
        await session.run("go")
        events = await keeps_its_promises(engine, session)
    assert shown == ["it costs money"]
    assert of(events, "approval/asked")[0]["reason"] == "it costs money"
