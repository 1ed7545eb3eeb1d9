"""What a caller may write while a turn runs: nothing in it, anything before it, between two steps (K-23, S-92)."""

import pytest
import trio
from promises import keeps_its_promises, of, words

from actors.errors.log import SurfaceOpError
from actors.errors.session import TurnOpenError
from actors.log.events import Replace
from actors.session.messages import Append, AppendAll, Occlude
from actors.testing.model import ScriptedModel
from actors.testing.script import Call, CallTools, Hang, Say
from actors.testing.tools import SleepingTool
from runtime import Limits, open_engine


def replacing(start, end):
    data = {"content": "short", "source": "compaction"}
    sources = tuple(range(start, end + 1))
    return Append("user/message", data, op=Replace(start, end), sources=sources)


FORMS = {
    "hide": Occlude,
    "summary": lambda start, end: Occlude(start, end, "short"),
    "append": replacing,
    "batch": lambda start, end: AppendAll((replacing(start, end),)),
}


def spoken(request):
    return [str(getattr(message, "content", "")) for message in request.messages]


async def talked(engine):
    session = await engine.create(id="s")
    await session.run("secret one")
    await session.run("two")
    nodes = [event.seq for event in await session.read() if event.type.endswith("/message")]
    first_end = next(event.seq for event in await session.read() if event.type == "turn/end")
    return session, nodes, first_end


@pytest.mark.parametrize("form", FORMS)
async def test_what_stands_before_the_turn_changes_between_two_of_its_steps(form, autojump_clock):
    tool = SleepingTool(effect="read", seconds=10)
    replies = [Say("a"), Say("b"), CallTools(Call("sleep")), Say("c")]
    model = ScriptedModel(replies)
    async with open_engine(model=model, tools=[tool]) as engine:
        session, nodes, first_end = await talked(engine)
        last = first_end if form == "hide" else nodes[1]
        turn = await session.prompt("three")
        await trio.sleep(1)
        told = []

        async def change():
            told.append(await session.send(FORMS[form](nodes[0] if form != "hide" else 0, last)))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(change)
            await trio.sleep(1)
            assert told == []
            await session.append("todo/write", {"items": []})
        assert (await turn.result()).text == "c"
        events = await keeps_its_promises(engine, session)
    assert [any("secret" in text for text in spoken(r)) for r in model.requests[-2:]] == [
        True,
        False,
    ]
    changed = next(event.seq for event in events if event.op is not None)
    order = words(events[changed:])
    assert order.count("assistant/message") == 1
    assert words(events[:changed])[-1] == "tool/result"


@pytest.mark.parametrize("form", FORMS)
async def test_what_reaches_into_the_turn_is_refused_at_once(form, autojump_clock):
    model = ScriptedModel([Say("a"), Say("b"), Hang()])
    async with open_engine(model=model) as engine:
        session, nodes, _ = await talked(engine)
        turn = await session.prompt("three")
        await trio.sleep(1)
        before = await session.read()
        mine = max(event.seq for event in before if event.type == "user/message")
        starts = [nodes[-1], mine] if form != "hide" else [0, mine]
        for start in starts:
            with pytest.raises(TurnOpenError) as refused:
                await session.send(FORMS[form](start, mine))
            assert refused.value.retryable
        assert await session.read() == before
        await session.interrupt().settled()
        await turn.result()
        await keeps_its_promises(engine, session)


async def test_a_change_that_waits_for_a_step_takes_place_when_the_turn_is_interrupted(
    autojump_clock,
):
    model = ScriptedModel([Say("a"), Say("b"), Hang()])
    async with open_engine(model=model) as engine:
        session, _, first_end = await talked(engine)
        await session.prompt("three")
        await trio.sleep(1)
        told = []

        async def change():
            told.append(await session.occlude(0, first_end))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(change)
            await trio.sleep(1)
            await session.interrupt().settled()
        events = await keeps_its_promises(engine, session)
    assert events[told[0].seq].op is not None
    assert of(events, "turn/end")[-1]["reason"] == "aborted"


async def test_two_changes_of_one_range_that_wait_together_are_told_apart(autojump_clock):
    model = ScriptedModel([Say("a"), Say("b"), Say("c", delay_s=10)])
    async with open_engine(model=model) as engine:
        session, nodes, _ = await talked(engine)
        turn = await session.prompt("three")
        await trio.sleep(1)
        told = []

        async def change():
            try:
                told.append(await session.occlude(nodes[0], nodes[1], summary="short"))
            except SurfaceOpError as refused:
                told.append(refused)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(change)
            nursery.start_soon(change)
        await turn.result()
        await keeps_its_promises(engine, session)
    assert sum(isinstance(answer, SurfaceOpError) for answer in told) == 1


async def test_a_turn_that_waits_for_its_slot_holds_no_change_up(autojump_clock):
    def answer(request):
        return Hang() if request.session_id == "busy" else Say("ok")

    model = ScriptedModel(answer)
    async with open_engine(model=model, limits=Limits(running=1)) as engine:
        session, _, first_end = await talked(engine)
        busy = await engine.create(id="busy")
        await busy.prompt("go")
        await trio.sleep(1)
        turn = await session.prompt("three")
        await session.occlude(0, first_end)
        await busy.interrupt().settled()
        await turn.result()
        await keeps_its_promises(engine, session)
    assert not any("secret" in text for text in spoken(model.requests[-1]))
