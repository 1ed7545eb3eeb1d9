"""Who begins to follow in the middle is told what came before of what goes on, once."""

from itertools import pairwise

import trio
from promises import stored

from actors.log.events import Event
from actors.session.live_events import AgentEnd, MessageEnd, MessageStart, MessageUpdate
from actors.testing.model import ScriptedModel
from actors.testing.script import Hang, Say
from runtime import open_engine
from runtime.stores.memory import MemoryStore

TEXT = "a reply of known text, in pieces " * 8


async def to_the_end(following):
    """Return the items and what they are, until the run has ended."""
    items, heard = [], []
    while not heard or not isinstance(heard[-1], AgentEnd):
        item, told = await following.receive()
        items.append(item)
        heard += told
    return items, heard


async def test_a_reader_in_the_middle_of_a_reply_gets_it_so_far_and_its_rest(autojump_clock):
    model = ScriptedModel([Say(TEXT, pieces=50, delay_s=1)])
    async with open_engine(model=model) as engine:
        session = await engine.create()
        await session.prompt("go")
        await trio.sleep(20.5)
        async with session.live_events() as following:
            assert [event.type for event in following.turn][-1] == "request/context"
            items, heard = await to_the_end(following)
        partials = [e.partial["content"][0]["text"] for e in heard if isinstance(e, MessageUpdate)]
        assert partials[0] == TEXT[: len(partials[0])] != ""
        assert partials[-1] == TEXT
        assert all(one < other for one, other in pairwise(partials))
        assert not [e for e in heard if isinstance(e, MessageStart)]
        seqs = [item.seq for item in items if isinstance(item, Event)]
        assert seqs == list(range(following.begin, len(await stored(engine, session.id))))


async def test_the_pieces_of_every_reader_make_the_text_that_is_stored(autojump_clock):
    model = ScriptedModel([Say(TEXT, pieces=50, delay_s=1)])
    async with open_engine(model=model) as engine:
        session = await engine.create()
        await session.prompt("go")
        texts = []

        async def read(after_s):
            await trio.sleep(after_s)
            text = ""
            async with session.live_events() as following:
                while True:
                    item, _ = await following.receive()
                    if isinstance(item, Event):
                        if item.type == "assistant/message":
                            texts.append((text, item.data()["content"][0]["text"]))
                            return
                    elif hasattr(item, "text"):
                        assert item.offset == len(text)
                        text += item.text

        async with trio.open_nursery() as readers:
            for after_s in (0.3, 1.7, 10, 25.5, 48):
                readers.start_soon(read, after_s)
        assert texts == [(TEXT, TEXT)] * 5


async def test_following_does_not_wake_a_session_and_understands_it_when_it_wakes(autojump_clock):
    store = MemoryStore()
    async with open_engine(store, model=ScriptedModel([Say("one"), Hang("two")])) as engine:
        session = await engine.create(id="s")
        await session.run("first")
        await session.prompt("second")
        await session.prompt("waits", when="next")
        await trio.sleep(1)
    async with open_engine(store, model=ScriptedModel([Say("x"), Say("y")])) as engine:
        session = engine.session("s")
        async with session.live_events() as following:
            await trio.sleep(5)
            assert engine.active == 0
            await session.prompt("third")
            _, heard = await to_the_end(following)
        ends = [event.message["content"] for event in heard if isinstance(event, MessageEnd)]
        assert ends[0] == "waits"
        assert ends[1][0]["text"] == "x"


async def test_a_cancelled_wait_loses_nothing(autojump_clock):
    model = ScriptedModel([Say(TEXT, pieces=10, delay_s=1)] * 2)
    async with open_engine(model=model) as engine:
        session = await engine.create()
        await session.run("go")
        async with session.live_events() as following:
            await session.prompt("again")
            seqs = []
            while len(seqs) < 4:
                with trio.move_on_after(0.05):
                    item, _ = await following.receive()
                    seqs += [item.seq] if isinstance(item, Event) else []
        assert seqs == list(range(following.begin, following.begin + 4))
