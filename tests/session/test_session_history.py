import attrs
import pytest
import trio
from promises import data, keeps_its_promises, of, words

from actors.errors import GreenroomError
from actors.errors.session import (
    TurnOpenError,
)
from actors.testing.model import ScriptedModel
from actors.testing.script import Call, CallTools, Say
from actors.testing.tools import CountingTool, SleepingTool
from runtime import open_engine


async def test_an_append_that_would_break_the_running_turn_is_refused(autojump_clock):
    model = ScriptedModel([Say("ok", delay_s=5)])
    async with open_engine(model=model) as engine:
        session = await engine.create()
        turn = await session.prompt("hi")
        await trio.sleep(1)
        with pytest.raises(TurnOpenError):
            await session.append("user/message", {"content": "x"})
        await session.append("todo/write", {"items": []})
        await turn.result()
        events = await keeps_its_promises(engine, session)
    assert words(events).count("todo/write") == 1


async def test_concurrent_appends_are_all_answered_in_one_order():
    async with open_engine() as engine:
        session = await engine.create()
        seqs: list[int] = []

        async def write(number: int) -> None:
            event = await session.append("todo/write", {"items": [], "number": number})
            seqs.append(event.seq)
            assert data(event)["number"] == number

        async with trio.open_nursery() as nursery:
            for number in range(50):
                nursery.start_soon(write, number)
        await keeps_its_promises(engine, session)
    assert sorted(seqs) == list(range(50))


async def test_a_fork_goes_its_own_way_from_the_last_closed_turn():
    model = ScriptedModel([Say("one"), Say("in the fork"), Say("in the source")])
    async with open_engine(model=model, system="Be kind.") as engine:
        source = await engine.create()
        await source.run("a")
        child = await source.fork(id="child")
        await child.run("b")
        await source.run("c")
        mine = await keeps_its_promises(engine, source)
        its = await keeps_its_promises(engine, child)
    assert [d["content"] for d in of(mine, "user/message")] == ["a", "c"]
    assert [d["content"] for d in of(its, "user/message")] == ["a", "b"]
    assert its[: len(words(mine)) - 4] == mine[: len(words(mine)) - 4]


async def test_a_fork_inside_an_open_turn_closes_it_in_the_child(autojump_clock):
    tool = SleepingTool(name="slow", effect="read", seconds=9)
    model = ScriptedModel([CallTools(Call("slow")), Say("done")])
    async with open_engine(model=model, tools=[tool]) as engine:
        source = await engine.create()
        turn = await source.prompt("go")
        await trio.sleep(1)
        at = (await source.inspect()).events - 1
        child = await source.fork(at)
        its = await keeps_its_promises(engine, child)
        await turn.result()
        await keeps_its_promises(engine, source)
    assert of(its, "turn/end")[-1]["reason"] == "forked"


async def test_an_occlusion_hides_and_a_summary_stands_in_its_place():
    model = ScriptedModel([Say("one"), Say("two"), Say("three")])
    async with open_engine(model=model) as engine:
        session = await engine.create()
        for text in ("a", "b"):
            await session.run(text)
        nodes = (await session.inspect()).nodes
        await session.occlude(nodes[0], nodes[1], summary="They said a.")
        projection = await session.projection()
        assert next(getattr(m, "content", None) for m in projection.messages) == "They said a."
        events = await keeps_its_promises(engine, session)
        second_turn = next(e.seq for e in events if e.type == "user/message" and e.seq > nodes[1])
        end = [e.seq for e in events if e.type == "turn/end"][-1]
        await session.occlude(second_turn, end)
        assert len((await session.projection()).messages) == 1
        await session.run("c")
        await keeps_its_promises(engine, session)


async def test_compaction_replaces_the_older_part_in_one_batch():
    long = "words " * 400
    model = ScriptedModel(lambda _request: Say(long))
    async with open_engine(model=model, system="Be kind.") as engine:
        session = await engine.create()
        for number in range(8):
            await session.run(f"{number} {long}")
        before = (await session.inspect()).projected_units
        outcome = await session.compact()
        after = (await session.inspect()).projected_units
        events = await keeps_its_promises(engine, session)
    assert outcome.outcome == "compacted"
    assert after < before
    start = words(events).index("compaction/start")
    assert words(events)[start : start + 3] == [
        "compaction/start",
        "user/message",
        "compaction/end",
    ]


async def test_a_short_history_is_not_compacted():
    async with open_engine(model=ScriptedModel([Say("one")])) as engine:
        session = await engine.create()
        await session.run("a")
        assert (await session.compact()).outcome == "nothing"


async def test_broken_text_from_a_model_or_a_tool_is_mended_and_marked():
    class Broken(CountingTool):
        async def _act(self, seen):
            return attrs.evolve(await super()._act(seen), content="half \ud83d a face")

    model = ScriptedModel(
        [CallTools(Call("count", '{"x": "\ud800"}'), text="look \udc00"), Say("fine")]
    )
    async with open_engine(model=model, tools=[Broken(effect="read")]) as engine:
        session = await engine.create()
        assert (await session.run("go")).text == "fine"
        events = await keeps_its_promises(engine, session)
        with pytest.raises(GreenroomError) as refused:
            await session.prompt("mine is broken: \ud800")
    assert refused.value.code == "SESSION_EVENT_DATA_INVALID"
    for word in ("assistant/message", "tool/call", "tool/result"):
        assert of(events, word)[0]["mended"] == 1


async def test_a_large_tool_result_is_cut_in_the_log_with_a_marker():
    class Large(CountingTool):
        async def _act(self, seen):
            return attrs.evolve(await super()._act(seen), content="x" * 200_000)

    model = ScriptedModel([CallTools(Call("count")), Say("much")])
    async with open_engine(model=model, tools=[Large(effect="read")]) as engine:
        session = await engine.create()
        await session.run("go")
        events = await keeps_its_promises(engine, session)
    content = of(events, "tool/result")[0]["content"]
    assert len(content) < 62_000
    assert "truncated" in content


async def test_a_batch_of_events_is_appended_whole_or_not_at_all():
    turn = [
        ("user/message", {"content": "hi", "source": "user"}),
        ("turn/start", {"turn": 1}),
        ("assistant/message", {"content": [{"type": "text", "text": "hello"}]}),
        ("turn/end", {"turn": 1, "reason": "completed"}),
    ]
    async with open_engine() as engine:
        session = await engine.create()
        events = await session.append_all(turn)
        assert [event.seq for event in events] == [0, 1, 2, 3]
        with pytest.raises(GreenroomError):
            await session.append_all([*turn, ("tool/result", {"toolCallId": "x", "content": ""})])
        assert (await session.inspect()).events == 4
        assert len((await session.projection()).messages) == 2
        await keeps_its_promises(engine, session)


async def test_a_title_is_in_the_log_and_in_the_list():
    async with open_engine() as engine:
        session = await engine.create(id="s")
        await session.rename("A talk")
        assert (await session.inspect()).title == "A talk"
        assert (await engine.sessions()).sessions[0].record.title == "A talk"
        await session.rename(None)
        assert (await engine.sessions()).sessions[0].record.title is None
        await keeps_its_promises(engine, session)


async def test_a_request_behind_a_replacement_logs_that_a_series_starts():
    model = ScriptedModel(lambda _request: Say("ok"))
    async with open_engine(model=model) as engine:
        session = await engine.create()
        await session.run("a")
        await session.run("b")
        nodes = (await session.inspect()).nodes
        await session.occlude(nodes[0], nodes[1], summary="They said a.")
        await session.run("c")
        await session.run("d")
        events = await keeps_its_promises(engine, session)
    assert [d["reason"] for d in of(events, "request/header")] == ["initial", "series"]


async def test_a_callers_event_of_a_core_word_has_the_fields_of_its_word():
    async with open_engine() as engine:
        session = await engine.create()
        for word, data in (("user/message", {}), ("sandbox/mode", {"mode": 3})):
            with pytest.raises(GreenroomError) as refused:
                await session.append(word, data)
            assert refused.value.code == "SESSION_EVENT_DATA_INVALID"
        assert (await session.inspect()).events == 0
