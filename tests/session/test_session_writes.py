"""How often a turn waits for the disk, and that nothing is shown before what it rests on is there (P4)."""

import trio
from promises import keeps_its_promises

from actors.log.events import Event
from actors.session.live import CallEnded, CallStarted
from actors.testing.model import ScriptedModel
from actors.testing.script import Call, CallTools, Say
from actors.testing.tools import CountingTool
from runtime import open_engine
from runtime.stores.memory import MemoryStore


class WritesNoted(MemoryStore):
    """Remembers the words of each write; each takes a while."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[list[str]] = []

    async def append(self, session_id, events, *, expected_seq, epoch):
        self.writes.append([event.type for event in events])
        await trio.sleep(0.1)
        await super().append(session_id, events, expected_seq=expected_seq, epoch=epoch)


def looks_then_counts() -> ScriptedModel:
    return ScriptedModel([CallTools(Call("look"), Call("count")), Say("done")])


async def approve(_ask):
    return "approve"


async def test_what_needs_no_order_between_its_writes_is_written_together(autojump_clock):
    store = WritesNoted()
    tools = [CountingTool(name="look", effect="read"), CountingTool()]
    async with open_engine(store, model=looks_then_counts(), tools=tools, on_ask=approve) as engine:
        session = await engine.create()
        assert (await session.run("go")).completed
        await keeps_its_promises(engine, session)
    assert store.writes == [
        ["user/message", "turn/start"],
        ["request/header", "request/context"],
        ["assistant/message", "tool/call", "tool/call", "gate/decision"],
        ["tool/result", "approval/asked"],
        ["approval/decided", "gate/decision"],
        ["tool/result"],
        ["assistant/message", "turn/end"],
    ]


async def test_calls_start_and_end_for_a_reader_behind_the_durable_events_they_rest_on(
    autojump_clock,
):
    tools = [CountingTool(name="look", effect="read"), CountingTool()]
    calls = CallTools(Call("look"), Call("unheard-of"), Call("count"))
    model = ScriptedModel([calls, Say("done")])
    seen = []
    async with open_engine(WritesNoted(), model=model, tools=tools, on_ask=approve) as engine:
        session = await engine.create()

        async def follow():
            async with session.events(-1) as feed:
                async for item in feed:
                    seen.append(item)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(follow)
            assert (await session.run("go")).completed
            await trio.sleep(1)
            nursery.cancel_scope.cancel()
    shown = [n for n, item in enumerate(seen) if isinstance(item, CallStarted | CallEnded)]
    assert len(shown) == 5, "two calls started, three ended"
    for position in shown:
        item = seen[position]
        before = [past for past in seen[:position] if isinstance(past, Event)]
        rests_on = {"tool/call"} | ({"gate/decision"} if isinstance(item, CallStarted) else set())
        named = {e.type for e in before if f'"toolCallId":"{item.tool_call_id}"'.encode() in e.body}
        assert rests_on <= named


async def test_a_reader_has_seen_the_call_when_it_is_asked_about(autojump_clock):
    model = ScriptedModel([CallTools(Call("count")), Say("done")])
    store, words = WritesNoted(), []
    async with open_engine(store, model=model, tools=[CountingTool()]) as engine:
        session = await engine.create()

        async def follow():
            async with session.events(-1) as feed:
                async for item in feed:
                    words.append(item.type if isinstance(item, Event) else None)

        async with trio.open_nursery() as nursery, engine.asks() as asks:
            nursery.start_soon(follow)
            turn = await session.prompt("go")
            ask = await anext(asks)
            assert "tool/call" in words
            await engine.answer(ask.id, "approve")
            assert (await turn.result()).completed
            nursery.cancel_scope.cancel()
    assert ["approval/asked"] in store.writes
