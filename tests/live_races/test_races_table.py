"""The rows of the race table: what must come out when two things happen at once."""

import pytest
import trio
import trio.lowlevel
from promises import keeps_its_promises, of, stored, words

from actors.errors import GreenroomError
from actors.log.log import Log
from actors.testing.model import ScriptedModel
from actors.testing.script import Call, CallTools, Hang, Say
from actors.testing.tools import CountingTool, SleepingTool
from runtime import Limits, Policy, open_engine
from runtime.stores.memory import MemoryStore


class SlowStore(MemoryStore):
    """Takes 2 s to write a batch that holds ``word``."""

    def __init__(self, word: str) -> None:
        super().__init__()
        self.word = word

    async def append(self, session_id, events, **kwargs):
        if any(event.type == self.word for event in events):
            await trio.sleep(2)
        await super().append(session_id, events, **kwargs)


@pytest.mark.parametrize("word", ["approval/decided", "gate/decision"])
async def test_an_answer_before_the_interrupt_stays_and_the_tool_does_not_start(
    word, autojump_clock
):
    tool = CountingTool()
    model = ScriptedModel([CallTools(Call("count"), Call("count")), Say("never")])
    async with open_engine(SlowStore(word), model=model, tools=[tool]) as engine:
        async with engine.asks() as asks:
            session = await engine.create()
            turn = await session.prompt("go")
            ask = await anext(asks)
            outcomes = []

            async def approve() -> None:
                outcomes.append(await engine.answer(ask.id, "approve", by="ann"))

            async with trio.open_nursery() as nursery:
                nursery.start_soon(approve)
                await trio.sleep(1)  # what the answer leads to is being written
                await session.interrupt().settled()
            result = await turn.result()
        events = await keeps_its_promises(engine, session)
    assert outcomes[0].outcome == "applied"
    assert of(events, "approval/decided")[0]["decision"] == "approve"
    assert result.reason == "aborted"
    assert tool.calls == []
    codes = [d["error"]["code"] for d in of(events, "tool/result")]
    assert codes == ["ABORTED_BEFORE_DISPATCH", "ABORTED_BEFORE_DISPATCH"]


async def test_what_always_wrote_stands_when_the_turn_is_interrupted(autojump_clock):
    tool = CountingTool(name="write")
    write = CallTools(Call("write", {"path": "notes/a"}))
    model = ScriptedModel([write, write, Say("done")])
    policy = Policy(workspace="/work")
    store = SlowStore("approval/decided")
    async with open_engine(store, model=model, tools=[tool], policy=policy) as engine:
        async with engine.asks() as asks:
            session = await engine.create()
            await session.prompt("go")
            ask = await anext(asks)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(engine.answer, ask.id, "always")
                await trio.sleep(1)
                await session.interrupt().settled()
            assert tool.calls == []
            assert (await session.run("once more")).text == "done"
        events = await keeps_its_promises(engine, session)
    assert len(tool.calls) == 1
    assert words(events).count("approval/asked") == 1


async def test_an_answer_counts_after_its_client_has_gone_while_the_ask_is_pending(autojump_clock):
    tool = CountingTool()
    model = ScriptedModel([CallTools(Call("count")), Say("done")])
    async with open_engine(model=model, tools=[tool]) as engine:
        session = await engine.create()
        async with engine.asks() as asks:
            turn = await session.prompt("go")
            ask = await anext(asks)
        await trio.sleep(30)
        assert (await engine.answer(ask.id, "approve")).outcome == "applied"
        assert (await turn.result()).text == "done"
        await keeps_its_promises(engine, session)
    assert len(tool.calls) == 1


async def test_an_interrupt_of_reads_signals_all_keeps_what_comes_in_the_grace_and_the_order(
    autojump_clock,
):
    kind = SleepingTool(name="kind", effect="read", seconds=100)
    deaf = SleepingTool(name="deaf", effect="read", seconds=100, honours_signal=False)
    late = SleepingTool(name="late", effect="read", seconds=4, honours_signal=False)
    after = CountingTool(name="after", effect="write")
    calls = [Call(name) for name in ("deaf", "kind", "late", "after")]
    model = ScriptedModel([CallTools(*calls), Say("never")])
    async with open_engine(model=model, tools=[kind, deaf, late, after]) as engine:
        session = await engine.create()
        await session.prompt("go")
        await trio.sleep(1)
        session.interrupt()
        await trio.lowlevel.checkpoint()
        for tool in (kind, deaf, late):
            assert tool.calls[0].context.cancelled.is_set()
        await session.interrupt().settled()
        events = await keeps_its_promises(engine, session)
    results = of(events, "tool/result")
    names = {d["toolCallId"]: d["name"] for d in of(events, "tool/call")}
    assert [names[d["toolCallId"]] for d in results] == ["deaf", "kind", "late", "after"]
    codes = [d.get("error", {}).get("code") for d in results]
    assert codes == ["ABORTED", None, None, "ABORTED_BEFORE_DISPATCH"]
    assert after.calls == []


async def test_an_interrupt_between_segments_starts_no_further_segment(autojump_clock):
    first = CountingTool(name="first", effect="read")
    second = CountingTool(name="second", effect="read")
    third = CountingTool(name="third", effect="write")
    calls = CallTools(Call("first"), Call("third"), Call("second"))
    store = SlowStore("tool/result")
    async with open_engine(
        store, model=ScriptedModel([calls, Say("never")]), tools=[first, second, third]
    ) as engine:
        session = await engine.create()
        turn = await session.prompt("go")
        await trio.sleep(1)  # the result of the first segment is being written
        session.interrupt()
        assert (await turn.result()).reason == "aborted"
        events = await keeps_its_promises(engine, session)
    assert (len(first.calls), len(second.calls), len(third.calls)) == (1, 0, 0)
    assert words(events).count("tool/result") == 3


async def test_input_during_an_unwatched_ask_is_acknowledged_and_the_ask_waits(autojump_clock):
    tool = CountingTool()
    model = ScriptedModel([CallTools(Call("count")), Say("done")])
    async with open_engine(model=model, tools=[tool]) as engine:
        session = await engine.create()
        async with engine.asks() as asks:
            turn = await session.prompt("go")
            ask = await anext(asks)
        steer = await session.prompt("and this")
        assert steer.queued
        await trio.sleep(30)
        async with engine.asks() as asks:
            assert (await anext(asks)).id == ask.id
            await engine.answer(ask.id, "approve")
            await turn.result()
        events = await keeps_its_promises(engine, session)
    assert [d["content"] for d in of(events, "user/message")] == ["go", "and this"]
    assert words(events).count("turn/start") == 1


async def test_a_fork_when_the_engine_closes_is_stored_or_was_never_there(autojump_clock):
    class SlowCreate(MemoryStore):
        async def create(self, record, events=(), *, epoch):
            if record.lineage is not None:
                await trio.sleep(self.takes_s)
            await super().create(record, events, epoch=epoch)

    for takes_s in (0.0, 1.0):
        store = SlowCreate()
        store.takes_s = takes_s
        told: list[object] = []
        async with trio.open_nursery() as clients:
            async with open_engine(store, model=ScriptedModel([Say("one")])) as engine:
                session = await engine.create(id="s")
                await session.run("first")

                async def fork(session=session, told=told) -> None:
                    try:
                        told.append((await session.fork(id="f")).id)
                    except GreenroomError as refused:
                        told.append(refused.code)

                clients.start_soon(fork)
                await trio.sleep(0.5)
        async with open_engine(store) as engine:
            ids = [row.record.id for row in (await engine.sessions()).sessions]
            if "f" in ids:
                await keeps_its_promises(engine, engine.session("f"))
        assert told == (["f"] if takes_s == 0.0 else ["ACTOR_STOPPED"])
        assert ("f" in ids) == (told == ["f"])


async def test_of_two_starts_that_wait_for_a_slot_one_runs_and_the_other_steers_into_it(
    autojump_clock,
):
    def answer(request):
        return Hang() if request.session_id == "busy" else Say("done")

    model = ScriptedModel(answer)
    async with open_engine(model=model, limits=Limits(running=1)) as engine:
        busy, session = await engine.create(id="busy"), await engine.create(id="s")
        await busy.prompt("hang")
        await trio.sleep(1)
        turns = []

        async def submit(text: str) -> None:
            turns.append(await session.prompt(text))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(submit, "one")
            nursery.start_soon(submit, "two")
        await trio.sleep(1)
        await busy.interrupt().settled()
        ends = {(await turn.result()).last_seq for turn in turns}
        events = await keeps_its_promises(engine, session)
    assert len(ends) == 1
    assert words(events).count("turn/start") == 1
    assert sorted(d["content"] for d in of(events, "user/message")) == ["one", "two"]
    assert len(model.requests) == 2


async def test_a_duplicate_while_the_first_runs_is_told_so_and_runs_nothing(autojump_clock):
    model = ScriptedModel([Say("done", delay_s=5)])
    async with open_engine(model=model) as engine:
        session = await engine.create()
        first = await session.prompt("hi", message_id="m")
        await trio.sleep(1)
        again = await session.prompt("hi", message_id="m")
        queued = await session.prompt("later", message_id="q", when="next")
        queued_again = await session.prompt("later", message_id="q", when="next")
        assert [t.duplicate for t in (first, again, queued, queued_again)] == [
            False,
            True,
            False,
            True,
        ]
        assert await first.result() == await again.result()
        await queued.result()
        events = await keeps_its_promises(engine, session)
    assert [d["id"] for d in of(events, "user/message")] == ["m", "q"]


async def test_a_fork_in_mid_turn_holds_what_was_closed_and_nothing_leaks_in(autojump_clock):
    tool = SleepingTool(effect="read", seconds=10)
    model = ScriptedModel([Say("one"), CallTools(Call("sleep")), Say("two"), Say("in the fork")])
    async with open_engine(model=model, tools=[tool]) as engine:
        session = await engine.create()
        closed = await session.run("first")
        turn = await session.prompt("second")
        await trio.sleep(1)
        fork = await session.fork()
        early = await session.fork(0)
        await turn.result()
        source, copy = await stored(engine, session.id), await stored(engine, fork.id)
        end = closed.last_seq + 1
        assert copy[:end] == source[:end]
        assert [event.type for event in copy[end:]] == ["session/end-seed"]
        assert len(await stored(engine, early.id)) == 2
        assert (await fork.run("and here")).text == "in the fork"
        assert Log.load(await stored(engine, session.id)).closers() == ()
        await keeps_its_promises(engine, fork)


@pytest.mark.parametrize("when", ["now", "next"])
async def test_input_that_comes_just_as_a_turn_ends_is_neither_lost_nor_taken_twice(
    when, autojump_clock
):
    async with open_engine(model=ScriptedModel(lambda _request: Say("ok"))) as engine:
        for ticks in range(60):
            session = await engine.create()
            first = await session.prompt("one", message_id="1")
            for _ in range(ticks):
                await trio.lowlevel.checkpoint()
            second = await session.prompt("two", message_id="2", when=when)
            with trio.fail_after(5):
                assert (await first.result()).completed
                assert (await second.result()).completed
            events = await keeps_its_promises(engine, session)
            assert [d["id"] for d in of(events, "user/message")] == ["1", "2"]
            assert 1 <= words(events).count("turn/start") <= 2
