"""The compact record of a stream: bounded, without its text twice, and told again with its times."""

from itertools import islice

import orjson
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from actors.log.events import Event
from actors.ports.model import (
    BlockEnd,
    Finished,
    Part,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
)
from actors.rules.assembly import Assembly
from actors.rules.stream_record import MOST_PIECES, MOST_TEXT, StreamRecord
from actors.session.live import RequestStarted, StreamDelta
from actors.testing.model import ScriptedModel
from actors.testing.script import Beat, Call, CallTools, Fail, Say, Think
from actors.testing.tools import CountingTool
from runtime import Engine, Session, open_engine
from runtime.models.replay import ReplayModel
from runtime.models.replay_pieces import Call as RecordedCall
from runtime.models.replay_reading import record
from runtime.models.replay_recording import Piece
from runtime.models.replay_streams import stream_pieces

KINDS = ("text", "thinking", "call")
TEXTS = st.text(st.characters(codec="utf-8"), max_size=5)
STREAMS = st.lists(st.tuples(st.integers(0, 3), TEXTS, st.integers(0, 900)), max_size=40)


def told(stream: list[tuple[int, str, int]]) -> tuple[Assembly, StreamRecord, list[Piece]]:
    """Fold a stream as the engine does; the kind of a block follows from its number."""
    assembly, kept, pieces, at_ms = Assembly(), StreamRecord(), [], 0
    for block, text, delay_ms in stream:
        at_ms += delay_ms
        kind = KINDS[block % 3]
        part: Part
        if kind == "call":
            named = not any(
                isinstance(p.part, ToolCallDelta) and p.part.index == block for p in pieces
            )
            names = (f"c-{block}", "tool") if named else (None, None)
            part = ToolCallDelta(block, *names, text)
            assembly.tool_call(block, *names, text)
            kept.note(at_ms / 1000, block, "call", text, *names)
        elif kind == "text":
            part = TextDelta(block, text)
            assembly.text(block, text)
            kept.note(at_ms / 1000, block, "text", text)
        else:
            part = ThinkingDelta(block, text)
            assembly.thinking(block, text)
            kept.note(at_ms / 1000, block, "thinking", text)
        pieces.append(Piece(delay_ms / 1000, part))
    kept.ended(at_ms / 1000)
    return assembly, kept, pieces


def stored(kept: StreamRecord, held: list[int] | None = None) -> object:
    return orjson.loads(orjson.dumps(kept.data(held)))


@given(STREAMS)
def test_a_whole_reply_is_told_again_piece_by_piece_at_its_times(
    stream: list[tuple[int, str, int]],
) -> None:
    assembly, kept, pieces = told(stream)
    assembly.finish("stop")
    reply = assembly.result()
    calls = [RecordedCall(c.id, c.name, c.arguments) for c in reply.calls]
    again = stream_pieces(stored(kept), reply.content, calls, [Finished("stop")], whole=True)
    if not pieces:
        assert again is None
        return
    assert again is not None
    deltas = [piece for piece in again if not isinstance(piece.part, BlockEnd | Finished)]
    assert [p.part for p in deltas] == [p.part for p in pieces]
    assert [p.delay_s for p in deltas] == pytest.approx([p.delay_s for p in pieces])
    ends = [piece.part for piece in again if isinstance(piece.part, BlockEnd)]
    assert {end.index for end in ends} == {block for block, _, _ in stream}


@given(STREAMS)
def test_a_cut_reply_is_told_again_with_what_its_message_does_not_hold(
    stream: list[tuple[int, str, int]],
) -> None:
    assembly, kept, pieces = told(stream)
    held = [block.index for block in assembly.visible()]
    again = stream_pieces(stored(kept, held), assembly.prefix(), (), [], whole=False)
    assert [p.part for p in again or ()] == [p.part for p in pieces]


@given(st.integers(1, 20_000), st.integers(1, 3))
def test_a_record_is_bounded_and_keeps_all_of_the_text(count: int, blocks: int) -> None:
    kept = StreamRecord()
    for number in range(count):
        kept.note(number / 1000, number * blocks // count, "text", "ab")
    data = kept.data()
    sizes = [len(run["chars"]) for run in data["runs"]]
    assert sum(sizes) <= MOST_PIECES
    assert sum(sum(run["chars"]) for run in data["runs"]) == 2 * count
    assert sum(sum(run["ms"]) for run in data["runs"]) == count - 1
    assert len(orjson.dumps(data)) < 12_000


def test_blocks_that_take_turns_for_ever_are_given_up_and_said_to_be() -> None:
    kept = StreamRecord()
    for number in range(50_000):
        kept.note(number / 1000, number % 2, "text", "a")
    data = kept.data()
    assert data["cut"] is True
    assert len(data["runs"]) <= 2 * MOST_PIECES + 1
    assert stream_pieces(data, [], (), [], whole=True) is None


def test_the_text_of_calls_that_no_message_holds_is_bounded() -> None:
    kept = StreamRecord()
    kept.note(0, 0, "text", "visible")
    kept.note(1, 1, "call", "x" * (MOST_TEXT + 1), "c", "tool")
    data = kept.data([0])
    assert (data["cut"], len(data["runs"])) == (True, 1)


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=3),
        lambda x: (
            st.lists(x)
            | st.dictionaries(
                st.sampled_from(["runs", "block", "kind", "ms", "chars", "text", "endMs"]), x
            )
        ),
        max_leaves=12,
    )
)
def test_a_stream_field_that_holds_anything_else_is_no_record(value: object) -> None:
    again = stream_pieces(value, [], (), [], whole=True)
    assert again is None or all(isinstance(piece, Piece) for piece in again)


class _Uneven:
    """Pieces at uneven times, then a failure in mid-reply the first time."""

    def beats(self, request: object, /):
        yield Beat(0.25, TextDelta(0, "One "))
        yield Beat(1.5, TextDelta(0, "two"))
        if request.attempt == 1:
            yield from Fail("transient", "LLM_UNAVAILABLE", "gone").beats(request)
        else:
            call = CallTools(Call("look", {"at": "all"}), text="Look: ", delay_s=0.5)
            yield from islice(Think("hm", call).beats(request), 2, None)


LOOK = CountingTool(name="look", effect="read")


async def watched(engine: Engine, session: Session) -> list[tuple[object, ...]]:
    """Run one turn; return what was shown, with how long after the request it came."""
    shown: list[tuple[object, ...]] = []
    asked_s = 0.0
    async with session.events() as feed:
        await session.prompt("go")
        async for item in feed:
            now_s = trio.current_time()
            if isinstance(item, RequestStarted):
                asked_s = now_s
                shown.append(("asked", item.step, item.attempt))
            elif isinstance(item, StreamDelta):
                shown.append((item.kind, item.text, round(now_s - asked_s, 2)))
            elif isinstance(item, Event) and item.type == "turn/end":
                return shown
    raise AssertionError("the feed ended before the turn")


async def test_a_conversation_is_replayed_as_it_was_with_its_failures_and_its_times(
    autojump_clock: trio.testing.MockClock,
) -> None:
    replies = [_Uneven(), _Uneven(), Think("hm", Say("a b c", pieces=3, delay_s=2))]
    async with open_engine(model=ScriptedModel(replies), tools=[LOOK]) as engine:
        session = await engine.create(id="s")
        first = await watched(engine, session)
        events = await session.read()
    recording = record("s", events)
    model = ReplayModel({"s": recording}, speed=1)
    async with open_engine(model=model, tools=[LOOK]) as engine:
        again = await watched(engine, await engine.create(id="s"))
    assert again == first
    assert [entry[1:] for entry in first if entry[0] == "asked"] == [(1, 1), (1, 2), (2, 1)]
    assert ("text", "two", 1.75) in first


async def test_an_attempt_and_a_cut_reply_keep_their_stream_beside_what_they_delivered(
    autojump_clock: trio.testing.MockClock,
) -> None:
    slow = Say("a b c d", pieces=4, delay_s=1)
    model = ScriptedModel([Fail("transient", "X", "y", text="half"), slow])
    async with open_engine(model=model) as engine:
        session = await engine.create()
        turn = await session.prompt("go")
        await trio.sleep(1 + 2.5)
        await session.interrupt().settled()
        await turn.result()
        events = await session.read()
    (attempt,) = [e.data() for e in events if e.type == "assistant/attempt"]
    assert attempt["stream"]["runs"] == [{"block": 0, "kind": "text", "ms": [0], "chars": [4]}]
    (message,) = [e.data() for e in events if e.type == "assistant/message"]
    assert message["interrupted"] is True
    (run,) = message["stream"]["runs"]
    assert sum(run["chars"]) == len(message["content"][0]["text"])
    assert run["ms"] == [1000] * len(run["chars"])
