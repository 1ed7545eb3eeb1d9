"""A session is woken from what is visible and open, whatever was ever written (S-34), and misses nothing."""

import attrs
import pytest
import trio
import trio.testing

from actors.errors.store import StoreUnavailableError
from actors.log.events import Draft, Hide
from actors.log.log import Log
from actors.ports.store import SessionRecord, Snapshot
from actors.rules.budget import Budget
from actors.session.snapshotting import AT_REST, EVERY
from actors.testing.model import ScriptedModel
from actors.testing.script import Call, CallTools, Say
from runtime import Agent, Limits, open_engine
from runtime.stores.memory import MemoryStore
from runtime.stores.open import open_store


class CountingStore(MemoryStore):
    """Knows how many events were read, and can refuse snapshots."""

    def __init__(self) -> None:
        super().__init__()
        self.rows_read = 0
        self.puts = 0
        self.refuses = False

    async def read(self, session_id, start=0, stop=None):
        events = await super().read(session_id, start, stop)
        self.rows_read += len(events)
        return events

    async def put_snapshot(self, snapshot: Snapshot, *, epoch: int) -> None:
        self.puts += 1
        if self.refuses:
            raise StoreUnavailableError("the store", "no room")
        await super().put_snapshot(snapshot, epoch=epoch)


def turn(number: int, text: str = "visible") -> list[Draft]:
    name = f"c{number}"
    return [
        Draft("user/message", {"content": text, "id": f"m{number}"}),
        Draft("turn/start", {"turn": number}),
        Draft("assistant/message", {"content": text}),
        Draft("tool/call", {"toolCallId": name, "name": "t", "arguments": "{}"}),
        Draft("tool/result", {"toolCallId": name, "content": text}),
        Draft("turn/end", {"turn": number, "reason": "completed"}),
    ]


def mostly_hidden(turns: int) -> Log:
    """Return a log of so many turns, of which only the last five are visible."""
    log = Log()
    for number in range(1, turns - 4):
        log.append(*turn(number, "old"), time_ms=number)
    log.append(Draft("compaction/surface", {}, Hide(0, len(log) - 1)), time_ms=0)
    for number in range(turns - 4, turns + 1):
        log.append(*turn(number), time_ms=number)
    return log


async def stored(store, log: Log, session_id: str = "s") -> None:
    epoch = await store.claim("the test")
    record = SessionRecord(id=session_id, created_ms=1)
    await store.create(record, log.events(), epoch=epoch)
    await store.release(epoch)


def engine_on(store, *, model=None, **options):
    return open_engine(store, model=model or ScriptedModel(lambda _: Say("ok")), **options)


async def wake_and_rest(store, session_id: str = "s") -> None:
    async with engine_on(store) as engine:
        await engine.session(session_id).inspect()


async def rows_to_wake(turns: int) -> tuple[int, int]:
    """Return the rows that the first and the second waking read."""
    store = CountingStore()
    await stored(store, mostly_hidden(turns))
    counted = []
    for _ in range(2):
        store.rows_read = 0
        async with engine_on(store) as engine:
            inspection = await engine.session("s").inspect()
            counted.append(store.rows_read)
            assert len(inspection.nodes) == 15
            assert inspection.turns == turns
    return counted[0], counted[1]


async def test_s34_waking_reads_what_is_visible_whatever_is_hidden():
    few = await rows_to_wake(60)
    many = await rows_to_wake(17_000)
    assert few[0] > 300
    assert many[0] > 100_000
    assert few[1] == many[1] == 0


async def test_a_woken_session_goes_on_where_it_stood():
    store = CountingStore()
    await stored(store, mostly_hidden(100))
    await wake_and_rest(store)
    requests = []
    for rows in (True, False):
        model = ScriptedModel(lambda _: Say("ok"))
        if not rows:
            store._sessions["s"].snapshot = None
        async with engine_on(store, model=model) as engine:
            session = await engine.session("s").fork()
            assert (await session.run("and now")).completed
        requests.append(list(model.requests[0].messages))
    assert [(type(m), m.content) for m in requests[0][:-1] if hasattr(m, "content")] == [
        (type(m), m.content) for m in requests[1][:-1] if hasattr(m, "content")
    ]


async def test_old_events_are_read_forked_repeated_and_hidden_as_before():
    store = CountingStore()
    whole = mostly_hidden(2_000)
    await stored(store, whole)
    await wake_and_rest(store)
    async with engine_on(store) as engine:
        session = engine.session("s")
        assert (await session.inspect()).events == len(whole)
        store.rows_read = 0
        async with session.events(after=99, live=False) as feed:
            found = [await feed.__anext__() for _ in range(50)]
        assert found == list(whole.events(100, 150))
        child = await session.fork(at=599)
        assert (await child.inspect()).turns == 100
        again = await session.prompt("old", message_id="m7")
        assert again.duplicate
        assert (await again.result()).text == "old"
        first = next(iter((await session.inspect()).nodes))
        start = max(first, 0)
        await session.occlude(start, start + 5)
        assert (await session.run("go on")).completed
        assert Log.load(await store.read("s")).fold.nodes == (await session.inspect()).nodes


async def test_what_is_looked_for_in_old_events_is_fetched_in_pieces():
    store = CountingStore()
    await stored(store, mostly_hidden(17_000))
    await wake_and_rest(store)
    async with engine_on(store) as engine:
        session = engine.session("s")
        await session.inspect()
        store.rows_read = 0
        assert (await session.prompt("old", message_id="m9000")).duplicate
        assert 0 < store.rows_read < 3_000


async def test_snapshots_are_written_in_the_life_of_a_session_and_nobody_waits():
    store = CountingStore()
    await stored(store, mostly_hidden(EVERY))
    async with engine_on(store) as engine:
        session = engine.session("s")
        await session.run("go")
        await trio.testing.wait_all_tasks_blocked()
        assert store.puts == 1
        kept = await store.snapshot("s")
        assert kept is not None
        await session.run("go")
        await trio.testing.wait_all_tasks_blocked()
        assert await store.snapshot("s") == kept
    assert store.puts == 1


async def test_a_session_that_goes_to_rest_waits_for_the_snapshot_it_is_writing():
    class SlowStore(CountingStore):
        async def put_snapshot(self, snapshot, *, epoch):
            for _ in range(50):
                await trio.lowlevel.checkpoint()
            await super().put_snapshot(snapshot, epoch=epoch)

    store = SlowStore()
    await stored(store, mostly_hidden(EVERY))
    await wake_and_rest(store)
    assert store.puts == 1
    assert await store.snapshot("s") is not None


async def test_what_is_all_visible_is_not_written_twice():
    store = CountingStore()
    log = Log()
    for number in range(1, AT_REST):
        log.append(Draft("user/message", {"content": f"{number}"}), time_ms=number)
        log.append(Draft("llm/usage", {}), time_ms=number)
        log.append(Draft("user/message", {"content": f"{number}"}), time_ms=number)
    await stored(store, log)
    await wake_and_rest(store)
    assert store.puts == 0


@pytest.mark.parametrize("turns", [60, 400])
async def test_a_snapshot_that_cannot_be_written_is_missed_by_nobody(turns):
    store = CountingStore()
    store.refuses = True
    await stored(store, mostly_hidden(turns))
    for _ in range(2):
        async with engine_on(store) as engine:
            assert (await engine.session("s").run("go")).completed
    assert store.puts >= 1
    assert await store.snapshot("s") is None


@pytest.mark.parametrize("place", [0, 20, 200, -1])
async def test_a_damaged_snapshot_is_thrown_away_and_the_log_is_folded(place):
    store = CountingStore()
    log = mostly_hidden(100)
    await stored(store, log)
    await wake_and_rest(store)
    held = store._sessions["s"]
    body = bytearray(held.snapshot.body)
    body[place] ^= 1
    held.snapshot = Snapshot("s", held.snapshot.seq, bytes(body))
    store.rows_read = 0
    async with engine_on(store) as engine:
        assert (await engine.session("s").inspect()).nodes == log.fold.nodes
        assert store.rows_read >= len(log)
        assert (await engine.session("s").run("go")).completed


async def test_a_fork_begins_with_the_snapshot_of_its_source():
    store = CountingStore()
    await stored(store, mostly_hidden(2_000))
    await wake_and_rest(store)
    async with engine_on(store) as engine:
        child = await engine.session("s").fork()
        name = child.id
    async with engine_on(store) as engine:
        store.rows_read = 0
        inspection = await engine.session(name).inspect()
        assert store.rows_read < 20
        assert len(inspection.nodes) == 15
        assert (await engine.session(name).run("go")).completed
    assert Log.load(await store.read(name)).fold.turns == 2_001


async def test_a_deleted_session_leaves_no_snapshot(tmp_path):
    async with open_store(str(tmp_path / "store.db")) as store:
        await stored(store, mostly_hidden(100))
        async with engine_on(store) as engine:
            await engine.session("s").inspect()
        assert await store.snapshot("s") is not None
        async with engine_on(store) as engine:
            await engine.session("s").inspect()
            await engine.session("s").delete()
        assert store._writer._db.execute("SELECT count(*) FROM snapshots").get == 0


async def test_a_budget_counts_what_was_spent_before_the_snapshot():
    store = CountingStore()
    log = Log()
    for number in range(1, 101):
        *begin, end = turn(number)
        reply = {"content": "x", "usage": {"input": 10, "output": 0}}
        log.append(*begin, Draft("assistant/message", reply), end, time_ms=number)
    log.append(Draft("compaction/surface", {}, Hide(0, len(log) - 1)), time_ms=0)
    log.append(*turn(101), time_ms=0)
    await stored(store, log)
    await wake_and_rest(store)
    assert await store.snapshot("s") is not None
    agent = Agent(
        name="default", model=ScriptedModel(lambda _: Say("ok")), budget=Budget(tokens=1_000)
    )
    other = Agent(name="other", model=agent.model)
    await stored(store, Log.load(log.events()), "another")
    store._sessions["another"].record = attrs.evolve(
        store._sessions["another"].record, agent="other"
    )
    async with engine_on(store, agents=[other]) as engine:
        await engine.session("another").inspect()
    assert await store.snapshot("another") is not None
    async with open_engine(store, agents=[agent, other]) as engine:
        assert (await engine.session("another").run("go")).completed
        result = await engine.session("s").run("go")
        assert not result.completed


async def test_the_model_reads_what_was_hidden_before_the_snapshot():
    def answer(request):
        last = request.messages[-1]
        return Say("read it") if "old" in str(last) else CallTools(Call("ccr_retrieve"))

    store = CountingStore()
    log = mostly_hidden(100)
    log.append(
        Draft("compaction/start", {}),
        Draft(
            "compaction/end",
            {
                "reason": "completed",
                "ccrHash": "h" * 8,
                "summarySeq": 0,
                "occludedMessages": 3,
                "occludedChars": 9,
            },
        ),
        time_ms=0,
    )
    await stored(store, log)
    await wake_and_rest(store)
    async with engine_on(
        store, model=ScriptedModel([CallTools(Call("ccr_retrieve")), Say("done")]), limits=Limits()
    ) as engine:
        session = engine.session("s")
        assert (await session.run("look")).text == "done"
        texts = [e.data() for e in await store.read("s", len(log)) if e.type == "tool/result"]
    assert "h" * 8 in str(texts)
