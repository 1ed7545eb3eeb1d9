"""Scenarios about interrupts, streams, compactions, queues and clocks (S-09, S-10, S-13, S-16, S-17, S-31, S-40, S-41, S-44)."""

import pytest
import trio
from promises import data, keeps_its_promises, of, stored, words

from actors.errors.input import InputTakenError
from actors.log.log import Log
from actors.log.projection import (
    AssistantMessage,
    SystemMessage,
    ToolResultMessage,
    UserMessage,
)
from actors.testing.model import ScriptedModel
from actors.testing.script import Call, CallTools, Fail, Hang, Say
from actors.testing.tools import SleepingTool
from actors.testing.world import FixedClock
from runtime import open_engine
from runtime.stores.memory import MemoryStore

LONG = "words " * 400


async def test_s09_after_an_interrupted_first_call_nothing_is_missing(autojump_clock):
    tool = SleepingTool(effect="read", seconds=100, honours_signal=False)
    model = ScriptedModel([CallTools(Call("sleep"), text="I will wait."), Say("Here.")])
    async with open_engine(model=model, tools=[tool], system="Be kind.") as engine:
        session = await engine.create()
        await session.prompt("wait for it")
        await trio.sleep(1)
        await session.interrupt().settled()
        assert (await session.run("never mind")).text == "Here."
        events = await keeps_its_promises(engine, session)
    assert [d["error"]["code"] for d in of(events, "tool/result")] == ["ABORTED"]
    kinds = [type(message) for message in model.requests[1].messages]
    assert kinds == [SystemMessage, UserMessage, AssistantMessage, ToolResultMessage, UserMessage]


async def test_s10_a_call_that_would_have_come_later_never_starts(autojump_clock):
    tool = SleepingTool(effect="read")
    model = ScriptedModel([CallTools(Call("sleep"), delay_s=2), Say("idle")])
    async with open_engine(model=model, tools=[tool]) as engine:
        session = await engine.create()
        turn = await session.prompt("go")
        await trio.sleep(1)
        await session.interrupt().settled()
        assert (await turn.result()).reason == "aborted"
        assert (await session.inspect()).state == "idle"
        await trio.sleep(10)
        events = await keeps_its_promises(engine, session)
    assert tool.calls == []
    assert "tool/call" not in words(events)


@pytest.mark.parametrize("how", ["fails", "interrupted"])
async def test_s13_a_delivered_part_is_there_after_loading_afresh_and_marked(how, autojump_clock):
    store = MemoryStore()
    part = "half a sen"
    reply = Fail("non-retryable", text=part) if how == "fails" else Hang(part)
    async with open_engine(store, model=ScriptedModel([reply])) as engine:
        session = await engine.create(id="s")
        turn = await session.prompt("tell me")
        await trio.sleep(1)
        session.interrupt()
        await turn.result()
    async with open_engine(store) as engine:
        shown = (await engine.session("s").projection()).messages
        events = await stored(engine, "s")
    (message,) = of(events, "assistant/message")
    assert [type(message) for message in shown] == [UserMessage, AssistantMessage]
    assert message["content"] == [{"type": "text", "text": part}]
    assert message["stopReason"] == ("error" if how == "fails" else "aborted")
    assert message.get("interrupted", False) == (how == "interrupted")


async def talked(engine, store_id="s"):
    session = await engine.create(id=store_id)
    for number in range(8):
        await session.run(f"{number} {LONG}")
    return session


def compacted_or_not(events) -> bool:
    """The parts of a compaction are all there, or none is; everything hidden can still be read."""
    there = {"compaction/start", "compaction/end"} & set(words(events))
    summaries = [e for e in events if e.op is not None]
    assert len(there) in {0, 2}
    completed = [d for d in of(events, "compaction/end") if d["reason"] == "completed"]
    assert len(completed) == len(summaries)
    assert [e.seq for e in events] == list(range(len(events)))
    return bool(completed)


@pytest.mark.parametrize("after_s", [0, 1, 2, 3, 4, 6])
@pytest.mark.parametrize("what", ["message", "interrupt", "kill"])
async def test_s16_a_compaction_takes_effect_wholly_or_not_at_all(what, after_s, autojump_clock):
    class Slow(MemoryStore):
        dead = False

        async def append(self, session_id, events, **kwargs):
            if any(event.type == "compaction/end" for event in events):
                await trio.sleep(2)
            if self.dead:
                await trio.sleep_forever()
            await super().append(session_id, events, **kwargs)

    def answer(request):
        return Say("a summary", delay_s=3) if request.purpose == "summary" else Say(LONG)

    store = Slow()
    model = ScriptedModel(answer, summaries=answer)
    async with open_engine(store, model=model) as engine:
        session = await talked(engine)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(session.compact)
            await trio.sleep(after_s)
            if what == "message":
                assert (await session.run("and now?")).completed
            elif what == "interrupt":
                await session.interrupt("session").settled()
                assert (await session.run("and now?")).completed
            else:
                store.dead = True
                nursery.cancel_scope.cancel()
                engine._stage.actors._entries["s"].scope.cancel()
        await trio.sleep(30)
    store.dead = False
    async with open_engine(store, model=model) as engine:
        session = engine.session("s")
        assert (await session.run("answered?")).completed
        events = await keeps_its_promises(engine, session)
        compacted_or_not(events)
        hidden = [e for e in events if e.type == "user/message" and e.op is None]
        assert len(hidden) >= 9


async def test_s17_a_compaction_waits_for_the_reply_that_streams_and_does_not_use_it(
    autojump_clock,
):
    replies = iter([*(Say(LONG) for _ in range(8)), Say("late " * 50, pieces=10, delay_s=1)])
    model = ScriptedModel(lambda _: next(replies))
    async with open_engine(model=model) as engine:
        session = await talked(engine)
        turn = await session.prompt("say something slowly")
        await trio.sleep(1.5)
        outcome = await session.compact()
        assert (await turn.result()).completed
        events = await keeps_its_promises(engine, session)
    assert outcome.outcome == "compacted"
    summary = data(events[outcome.summary_seq])
    assert "late" not in str(summary["content"])
    order = [w for w in words(events) if w in {"assistant/message", "compaction/end"}]
    assert order[-2:] == ["assistant/message", "compaction/end"]


async def test_s31_each_event_is_in_the_session_that_was_named(autojump_clock):
    def answer(request):
        said = request.messages[-1].content
        return Say(f"to {request.session_id}: {said}", delay_s=0.3)

    async with open_engine(model=ScriptedModel(answer)) as engine:
        sessions = [await engine.create(id=name) for name in "abc"]
        seen: dict[str, list[str]] = {name: [] for name in "abc"}

        async def follow(session) -> None:
            async with session.events(-1) as feed:
                async for item in feed:
                    seen[session.id].append(str(item))

        async with trio.open_nursery() as readers:
            for session in sessions:
                readers.start_soon(follow, session)
            turns = []
            for number in range(30):
                session = sessions[number % 3]
                turns.append(await session.prompt(f"{session.id}{number}", when="next"))
                await trio.sleep(0.05)
            for turn in turns:
                await turn.result()
            await trio.sleep(1)
            readers.cancel_scope.cancel()
        for session in sessions:
            events = await keeps_its_promises(engine, session)
            texts = [d["content"] for d in of(events, "user/message")]
            others = {"a", "b", "c"} - {session.id}
            assert len(texts) == 10
            assert all(text.startswith(session.id) for text in texts)
            assert len(of(events, "assistant/message")) == 10
            assert any(f"to {session.id}:" in text for text in seen[session.id])
            assert not any(f"to {other}:" in text for text in seen[session.id] for other in others)
            assert not any(f"to {other}:" in str(e.body) for e in events for other in others)


async def test_s40_each_kind_of_input_is_delivered_once_and_in_the_order_sent(autojump_clock):
    tool = SleepingTool(effect="read", seconds=10)
    model = ScriptedModel([CallTools(Call("sleep")), Say("1"), Say("2"), Say("3")])
    async with open_engine(model=model, tools=[tool]) as engine:
        session = await engine.create()
        await session.prompt("go", message_id="0")
        await trio.sleep(1)
        sent = [("A", "next"), ("B", "now"), ("C", "next"), ("D", "now")]
        turns = [await session.prompt(text, message_id=text, when=when) for text, when in sent]
        for turn in turns:
            await turn.result()
        events = await keeps_its_promises(engine, session)
    taken = [d["id"] for d in of(events, "user/message")]
    assert taken == ["0", "B", "D", "A", "C"]
    splices = of(events, "agent/inbox/spliced")
    accepted = [entry["id"] for splice in splices for entry in splice["inserted"]]
    assert accepted == ["A", "B", "C", "D"]


async def test_s41_what_was_taken_cannot_be_edited_and_what_waits_runs_in_its_last_form(
    autojump_clock,
):
    model = ScriptedModel(lambda _: Say("ok", delay_s=1))
    async with open_engine(model=model) as engine:
        session = await engine.create()
        expected = {}
        for number in range(10):
            await session.prompt(f"input {number}", message_id=f"m{number}", when="next")
            expected[f"m{number}"] = f"input {number}"
        order = [f"m{number}" for number in range(10)]
        await session.queue.move("m7", "next-turn", 0)
        order.insert(1, order.pop(7))
        for number in range(9, -1, -1):
            name = f"m{number}"
            try:
                if number % 4 == 3:
                    await session.queue.withdraw(name)
                    del expected[name]
                    order.remove(name)
                else:
                    await session.queue.edit(name, f"edited {number}")
                    expected[name] = f"edited {number}"
            except InputTakenError:
                taken = {d.get("id") for d in of(await stored(engine, session.id), "user/message")}
                assert name in taken
            await trio.sleep(0.4)
        await trio.sleep(20)
        events = await keeps_its_promises(engine, session)
    ran = {d["id"]: d["content"] for d in of(events, "user/message")}
    assert ran == expected
    assert [d["id"] for d in of(events, "user/message")] == order


async def test_s44_order_is_the_order_of_acceptance_whatever_the_clocks_say(autojump_clock):
    clock = FixedClock()
    start_ms = clock.ms
    model = ScriptedModel(lambda _: Say("ok"))
    async with open_engine(model=model, clock=clock) as engine:
        session = await engine.create()
        for number, minutes in enumerate((0, 10, -10, 10, -10)):
            clock.ms = start_ms + minutes * 60_000
            await session.run(f"input {number}")
        fork = await session.fork()
        clock.ms = start_ms - 600_000
        await fork.run("in the fork")
        events = await keeps_its_promises(engine, session)
        forked = await keeps_its_promises(engine, fork)
        page = await session.read(3, 9)
        assert [event.seq for event in page] == list(range(3, 9))
    assert [d["content"] for d in of(events, "user/message")] == [f"input {n}" for n in range(5)]
    assert words(events).count("turn/start") == 5
    assert words(forked).count("turn/start") == 6
    assert Log.load(forked).fold.turns == 6
