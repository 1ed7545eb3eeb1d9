"""Scenarios about readers that are cut off, slow or gone (S-26, S-27, S-39)."""

import gc
import tracemalloc

import trio
import trio.testing
from promises import keeps_its_promises, of, stored

from actors.log.events import Event
from actors.testing.model import ScriptedModel
from actors.testing.script import Say
from runtime import Limits, StreamDelta, open_engine

TEXT = "".join(f"piece {number}; " for number in range(200))


async def test_s26_a_client_that_comes_back_in_mid_message_assembles_the_stored_text(
    autojump_clock,
):
    model = ScriptedModel([Say(TEXT, pieces=100, delay_s=0.1)])
    async with open_engine(model=model) as engine:
        session = await engine.create()
        turn = await session.prompt("tell me a story")
        text, cuts = "", 0
        final: str | None = None
        while final is None:
            async with session.live_events() as following:
                with trio.move_on_after(0.73):  # the connection is cut
                    while final is None:
                        item, _ = await following.receive()
                        if isinstance(item, StreamDelta):
                            text = text[: item.offset] + item.text
                        elif isinstance(item, Event) and item.type == "assistant/message":
                            final = text
            cuts += 1
        result = await turn.result()
        await keeps_its_promises(engine, session)
    assert cuts > 10
    assert final == result.text == TEXT


async def test_s27_a_reader_that_stopped_slows_nobody_and_catches_up_without_loss(autojump_clock):
    limits = Limits(live_items=32)
    many = 3_000
    async with open_engine(limits=limits) as engine:
        session = await engine.create()
        seqs: list[list[int]] = [[] for _ in range(8)]

        async def follow(into: list[int]) -> None:
            async with session.events(-1) as feed:
                async for item in feed:
                    if isinstance(item, Event):
                        into.append(item.seq)

        async with trio.open_nursery() as readers:
            for into in seqs:
                readers.start_soon(follow, into)
            stopped = session.events(-1)
            dropped = session.events(-1)
            async with stopped, dropped:
                await trio.testing.wait_all_tasks_blocked()
                hub = engine._stage.feeds._hubs[session.id]
                for _ in range(many):
                    await session.append("todo/write", {"items": []})
                    hub.push_live("shown")  # type: ignore[arg-type]  # any item will do
                await trio.testing.wait_all_tasks_blocked()
                assert [len(into) for into in seqs] == [many] * 8
                assert all(len(r._live or ()) <= 32 for r in hub._readers)
                caught_up = []
                while len(caught_up) < many:
                    item = await stopped.receive()
                    if isinstance(item, Event):
                        caught_up.append(item.seq)
            readers.cancel_scope.cancel()
    assert caught_up == list(range(many))


async def test_s39_a_turn_goes_on_without_its_only_client_and_memory_stays_flat(autojump_clock):
    model = ScriptedModel(lambda _: Say(TEXT, pieces=100, delay_s=0.001))
    async with open_engine(model=model) as engine:
        session = await engine.create()

        async def client() -> None:
            async with session.events(-1) as feed:
                async for _ in feed:
                    pass

        with trio.move_on_after(0.05):  # gone, in the middle of a reply
            async with trio.open_nursery() as nursery:
                nursery.start_soon(client)
                turn = await session.prompt("go")
                await trio.sleep_forever()
        await turn.result()
        hub = engine._stage.feeds._hubs[session.id]
        assert hub.readers == 0
        gc.collect()
        tracemalloc.start()
        try:
            before, _ = tracemalloc.get_traced_memory()
            await session.run("and more")
            gc.collect()
            after, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        events = await stored(engine, session.id)
        texts = [d["content"][0]["text"] for d in of(events, "assistant/message")]
    assert texts == [TEXT, TEXT]
    assert after - before < 200_000
