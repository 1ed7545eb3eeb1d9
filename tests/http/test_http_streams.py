"""Event streams: complete, in order and bounded, whatever the connection does."""

import struct
from itertools import pairwise
from random import Random  # noqa: TID251 - seeded
from socket import SO_LINGER, SOL_SOCKET

import pytest
import trio
from http_client import serving

from actors.testing.model import ScriptedModel
from actors.testing.script import Hang, Say
from runtime import open_engine
from runtime.faces.http.limits import HttpLimits
from runtime.faces.http.serving import ServerLimits
from runtime.faces.http.stream import cursor_of

TEXT = "a reply of known text, in pieces " * 12


async def fill(session, count, start=0):
    for number in range(start, start + count):
        await session.append("todo/write", {"items": [], "number": number})


def entries_of(frames):
    """Return the durable events that the frames hold, as they came."""
    found = []
    for frame in frames:
        if frame["kind"] == "entries":
            found += frame["entries"]
        elif frame["kind"] == "entry":
            found.append(frame["entry"])
    return found


async def test_a_stream_without_a_cursor_begins_now():
    async with open_engine(model=ScriptedModel([Say("x")])) as engine, serving(engine) as client:
        session = await engine.create(id="s")
        await fill(session, 3)
        async with client.stream("s") as stream:
            frames = await stream.until("replay-end")
            assert [f["kind"] for f in frames] == ["hello", "replay-end"]
            assert frames[0]["highWaterSeq"] == 3
            assert frames[1]["lastReplayedSeq"] == -1


async def test_the_ten_live_events_arrive_in_their_order():
    model = ScriptedModel([Say("some words", pieces=3)])
    async with open_engine(model=model) as engine, serving(engine) as client:
        await engine.create(id="s")
        async with client.stream("s") as stream, client.stream("s", "&noDelta=true") as quiet:
            await stream.until("replay-end")
            await quiet.until("replay-end")
            await client.prompt("go", "m1", "s")
            frames = await stream.until("agent_end")
            words = [f["event"]["type"] for f in frames]
            assert words == [
                *("message_start", "message_end", "agent_start", "turn_start", "message_start"),
                *["message_update"] * words.count("message_update"),
                *("message_end", "turn_end", "agent_end"),
            ]
            assert "message_update" in words
            seqs = [f["seq"] for f in frames]
            assert seqs == sorted(seqs)
            loud = [f["event"] for f in frames if f["event"]["type"] != "message_update"]
            assert [f["event"] for f in await quiet.until("agent_end")] == loud


@pytest.mark.parametrize("cuts", [30, pytest.param(1000, marks=pytest.mark.slow)])
async def test_a_client_that_is_cut_at_random_misses_nothing_and_gets_nothing_twice(cuts):
    """S-25."""
    chance = Random(cuts)
    async with open_engine() as engine, serving(engine) as client:
        session = await engine.create(id="s")
        seqs, written, cursor = [], 0, "-1.0"

        async def produce():
            nonlocal written
            while True:
                await fill(session, count := chance.randrange(1, 4), written)
                written += count
                await trio.sleep(0.001 if chance.random() < 0.5 else 0)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(produce)
            for _ in range(cuts):
                async with client.stream("s", "&features=entries", last_event_id=cursor) as stream:
                    with trio.move_on_after(chance.random() * 0.02):
                        while True:
                            frame = await stream.frame()
                            seqs += [entry["seq"] for entry in entries_of([frame])]
                            cursor = stream.cursor or cursor
            nursery.cancel_scope.cancel()
        assert seqs == list(range(len(seqs)))
        assert len(seqs) > cuts
        async with client.stream("s", "&after=-1", last_event_id=cursor) as stream:
            rest = [entry["seq"] for entry in entries_of(await stream.until("replay-end"))]
        assert seqs + rest == list(range((await session.row()).length))


@pytest.mark.parametrize("feature", ["", "&features=deltas"])
async def test_the_text_of_a_client_that_is_cut_within_a_message_is_the_stored_one(feature):
    """S-26."""
    model = ScriptedModel([Say(TEXT, pieces=120, delay_s=0.005)])
    async with open_engine(model=model) as engine, serving(engine) as client:
        await engine.create(id="s")
        text, cursor, cuts = "", "-1.0", 0
        await client.prompt("go", "m1", "s")
        while text != TEXT:
            async with client.stream("s", feature, last_event_id=cursor) as stream:
                await stream.until("replay-end")
                with trio.move_on_after(5):  # a line that says nothing more is cut too
                    for _ in range(
                        8
                    ):  # not by the clock, so that each line brings the text further
                        text = grown(text, await stream.frame())
                        assert TEXT.startswith(text)
                        if text == TEXT:
                            break
                cuts += text != TEXT
        assert cuts > 2
        stored = (await engine.session("s").result("m1")).text
        assert text == stored


def grown(text, frame):
    if frame["kind"] == "delta":
        piece = frame["delta"]
        assert piece["offset"] in (0, len(text))
        return text[: piece["offset"]] + piece["text"]
    event = frame.get("event", {})
    message = event.get("partial") or event.get("message") or {}
    if message.get("role") != "assistant":
        return text
    return message["content"][0]["text"] if message["content"] else text


@pytest.mark.parametrize(
    ("events", "clients"), [(1500, 3), pytest.param(8_000, 8, marks=pytest.mark.slow)]
)
async def test_one_stalled_and_one_half_closed_client_harm_nobody(events, clients):
    """S-27: the slow one is told, and goes on from its cursor without loss."""
    limits = HttpLimits(patience_s=0.5)
    # The stalled client reads again only behind all events, so the last frame must be able to wait that long.
    server = ServerLimits(drain_s=2, write_s=600)
    async with open_engine() as engine, serving(engine, limits=limits, server=server) as client:
        session = await engine.create(id="s")
        counts = [0] * clients

        async def follow(number):
            async with client.stream("s", "&features=entries&after=-1") as stream:
                while counts[number] < events:
                    for entry in entries_of([await stream.frame()]):
                        assert entry["seq"] == counts[number]
                        counts[number] += 1

        async with (
            client.stream("s", "&features=entries", narrow=True) as stalled,
            client.stream("s") as half,
            trio.open_nursery() as followers,
        ):
            await stalled.until("replay-end")
            await half.socket.send_eof()
            for number in range(clients):
                followers.start_soon(follow, number)
            wide = {"items": [], "padding": "x" * 8000}
            for _ in range(events):
                await session.append("todo/write", wide)
            followers.cancel_scope.deadline = trio.current_time() + 60
            frames = await to_the_end(stalled)
        assert counts == [events] * clients
        assert frames[-1]["code"] == "SDK_OVERLOADED"
        assert frames[-1]["willRetry"] is True
        seqs = [entry["seq"] for entry in entries_of(frames)]
        assert seqs == list(range(len(seqs)))
        assert len(seqs) < events
        async with client.stream("s", last_event_id=stalled.cursor) as again:
            rest = entries_of(await again.until("replay-end"))
        assert seqs + [entry["seq"] for entry in rest] == list(range(events))


async def to_the_end(stream):
    frames = []
    try:
        while True:
            frames.append(await stream.frame())
    except trio.EndOfChannel:
        return frames


async def until(true):
    with trio.fail_after(5):
        while not true():  # noqa: ASYNC110 - what is looked at knows no events
            await trio.sleep(0.02)


async def test_a_session_goes_on_when_its_only_client_is_gone():
    """S-39."""
    model = ScriptedModel([Say(TEXT, pieces=60, delay_s=0.005)])
    async with open_engine(model=model) as engine, serving(engine) as client:
        session = await engine.create(id="s")
        async with client.stream("s") as stream:
            await client.prompt("go", "m1", "s")
            await stream.until("message_update")
            stream.socket.setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
        assert (await session.result("m1")).text == TEXT
        async with client.stream("s", "&after=-1") as stream:
            read = entries_of(await stream.until("replay-end"))
        assert [entry["seq"] for entry in read] == list(range((await session.row()).length))


async def test_leaving_a_stream_releases_it_at_once():
    """S-48."""
    async with open_engine() as engine, serving(engine) as client:
        await engine.create(id="s")
        for _ in range(20):
            async with client.stream("s") as stream:
                await stream.until("hello")
        asks = engine._stage.services.asks
        await until(lambda: not engine._stage.feeds._hubs["s"].readers and not asks._watches)


async def test_the_last_event_id_counts_before_the_query_where_it_is_a_place_in_the_log():
    async with open_engine() as engine, serving(engine) as client:
        await fill(await engine.create(id="s"), 10)
        for header, first in (("6.3", 7), ("99.0", 3), ("x", 3), ("6", 3), (None, 3)):
            async with client.stream("s", "&after=2", last_event_id=header) as stream:
                frames = await stream.until("replay-end")
                assert entries_of(frames)[0]["seq"] == first
        async with client.stream("s", "&after=10") as stream:
            frames = await stream.until("error")
            assert [f["kind"] for f in frames] == ["hello", "error"]
            assert frames[-1]["code"] == "SDK_CURSOR_INVALID"
            with pytest.raises(trio.EndOfChannel):
                await stream.frame()
            assert stream.ended


@pytest.mark.parametrize(
    "text", [None, "", ".", "1", "1.", ".1", "-.1", "1.x", "٣.1", "1" * 17 + ".0"]
)
def test_what_is_no_id_of_ours_is_no_cursor(text):
    assert cursor_of(text) is None


async def test_a_missing_session_is_told_on_the_stream_which_ends():
    async with open_engine() as engine, serving(engine) as client:
        async with client.stream("nobody") as stream:
            frame = await stream.frame()
            assert (frame["kind"], frame["code"]) == ("error", "SESSION_NOT_FOUND")
            with pytest.raises(trio.EndOfChannel):
                await stream.frame()
            assert stream.ended


async def test_a_deleted_session_ends_its_streams_with_a_reason():
    async with open_engine() as engine, serving(engine) as client:
        session = await engine.create(id="s")
        await fill(session, 1)
        async with client.stream("s") as stream:
            await stream.until("replay-end")
            await session.delete()
            assert (await stream.until("error"))[-1]["code"] == "FEED_DETACHED"


async def test_heartbeats_come_in_silence_and_say_what_runs_also_to_who_came_late():
    limits = HttpLimits(heartbeat_s=0.1, ping_s=0.15)
    async with open_engine(model=ScriptedModel([Hang("x")])) as engine:
        async with serving(engine, limits=limits) as client:
            await engine.create(id="s")
            async with client.stream("s") as stream:
                beat = (await stream.until("heartbeat"))[-1]
                assert (beat["runState"], beat["stage"], beat["elapsedMs"]) == ("idle", None, 0)
                await client.prompt("go", "m1", "s")
                await stream.until("message_update")
            await trio.sleep(0.2)
            async with client.stream("s") as late:
                beats = [(await late.until("heartbeat"))[-1] for _ in range(3)]
                assert {beat["runState"] for beat in beats} == {"running"}
                assert beats[-1]["stage"] == {"type": "thinking"}
                elapsed = [beat["elapsedMs"] for beat in beats]
                assert elapsed[0] >= 200
                assert all(one < other for one, other in pairwise(elapsed))
                assert late.comments >= 1


@pytest.mark.parametrize("streams", [60, pytest.param(500, marks=pytest.mark.slow)])
async def test_many_streams_get_the_same_events(streams):
    async with open_engine() as engine, serving(engine) as client:
        session = await engine.create(id="s")
        await fill(session, 1)
        done = 0

        async def follow(task_status):
            nonlocal done
            async with client.stream("s", "&features=entries") as stream:
                await stream.until("replay-end")
                task_status.started()
                got = []
                while len(got) < 5:
                    got += entries_of([await stream.frame()])
                assert [entry["seq"] for entry in got] == [1, 2, 3, 4, 5]
                done += 1

        async def begin(task_status=trio.TASK_STATUS_IGNORED):
            await follow(task_status)

        async with trio.open_nursery() as nursery:
            for _ in range(streams):
                await nursery.start(begin)
            await fill(session, 5)
        assert done == streams


async def test_a_client_may_have_only_so_many_streams():
    limits = HttpLimits(streams=2)
    async with open_engine() as engine, serving(engine, limits=limits) as client:
        await engine.create(id="s")
        async with client.stream("s"), client.stream("s"):
            refused = await client.get("/v1/events?sessionId=s")
            assert (refused.status, refused.code) == (503, "SDK_OVERLOADED")
            async with client.stream("s", x_client_id="another") as stream:
                await stream.until("hello")


async def test_a_stalled_client_is_cut_by_the_deadline_of_a_write():
    server = ServerLimits(write_s=0.3, drain_s=2)
    async with open_engine() as engine, serving(engine, server=server) as client:
        session = await engine.create(id="s")
        await fill(session, 1)
        async with client.stream("s", "&features=entries&after=-1") as stalled:
            await stalled.until("replay-end")
            wide = {"items": [], "padding": "x" * 500_000}
            for _ in range(20):
                await session.append("todo/write", wide)
            await until(lambda: not engine._stage.feeds._hubs["s"].readers)
