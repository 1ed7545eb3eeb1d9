"""The replay model answers as it was recorded, from the request alone."""

import math
from typing import Any

import attrs
import pytest
import trio

from actors.log.codec import encode
from actors.log.events import Event, Replace
from actors.ports.model import Failed, Finished, ModelRequest, Part, TextDelta, ToolCallDelta
from actors.rules.assembly import Assembled, Assembly
from runtime.formats.reading import read_log
from runtime.models.replay import NO_RECORDING, PAST_THE_END, ReplayModel
from runtime.models.replay_pieces import cut
from runtime.models.replay_reading import record
from runtime.models.replay_recording import Recording
from tests.formats import dsh_samples as dsh

ASK = ModelRequest(session_id="s", turn=1, step=1, model="replay/recorded", messages=())


def native(*events: tuple[str, Any]) -> list[Event]:
    return [Event(i, 1000 * i, word, encode(data)) for i, (word, data) in enumerate(events)]


TWO_TURNS = native(
    ("user/message", {"content": "read two files", "source": "user"}),
    ("turn/start", {"turn": 1}),
    ("assistant/message", {"content": [{"type": "text", "text": "I read both."}], "turn": 1}),
    ("tool/call", {"toolCallId": "c1", "name": "read", "arguments": '{"path":"a"}'}),
    ("tool/call", {"toolCallId": "c2", "name": "read", "arguments": '{"path":"b"}'}),
    ("tool/result", {"toolCallId": "c2", "content": "beta", "error": True}),
    ("tool/result", {"toolCallId": "c1", "content": "alpha", "meta": {"lines": 1}}),
    (
        "assistant/message",
        {"content": [{"type": "thinking", "thinking": "hm"}], "usage": {"input": 7}, "turn": 1},
    ),
    ("turn/end", {"turn": 1, "reason": "completed"}),
    ("user/message", {"content": "context", "source": "plugin:x"}),
    ("user/message", {"content": "thanks", "source": "user"}),
    ("turn/start", {"turn": 2}),
    ("assistant/message", {"content": "You are welcome.", "stopReason": "stop"}),
    ("turn/end", {"turn": 2, "reason": "completed"}),
)
RECORDING = record("two-turns", TWO_TURNS)


async def parts_of(model: ReplayModel, **request: Any) -> list[Part]:
    async with model.stream(attrs.evolve(ASK, **request)) as stream:
        return [part async for part in stream]


def assembled(parts: list[Part]) -> Assembled:
    """Fold the parts the way the engine does."""
    assembly = Assembly()
    for part in parts:
        match part:
            case TextDelta(index, text):
                assembly.text(index, text)
            case ToolCallDelta(index, call_id, name, arguments):
                assembly.tool_call(index, call_id, name, arguments)
            case Finished(stop_reason):
                assembly.finish(stop_reason)
            case _ if hasattr(part, "block"):
                assembly.block_end(part.index, part.block)
            case _ if hasattr(part, "usage"):
                assembly.usage(part.usage)
    return assembly.result()


async def answer(model: ReplayModel, **request: Any) -> Assembled:
    return assembled(await parts_of(model, **request))


async def test_a_step_comes_back_with_its_text_and_its_calls() -> None:
    reply = await answer(ReplayModel({"s": RECORDING}))
    assert reply.content == [{"type": "text", "text": "I read both."}]
    assert [(call.id, call.name, call.arguments) for call in reply.calls] == [
        ("c1", "read", '{"path":"a"}'),
        ("c2", "read", '{"path":"b"}'),
    ]
    assert reply.stop_reason == "toolUse"


async def test_the_next_step_and_the_next_turn_follow() -> None:
    model = ReplayModel({"s": RECORDING})
    second = await answer(model, step=2)
    assert (second.content, second.usage) == (
        [{"type": "thinking", "thinking": "hm"}],
        {"input": 7},
    )
    thanks = await answer(model, turn=2)
    assert (thanks.content, thanks.stop_reason) == (
        [{"type": "text", "text": "You are welcome."}],
        "stop",
    )


@pytest.mark.parametrize(("turn", "same_as"), [(3, 1), (4, 2), (101, 1)])
async def test_behind_the_last_turn_comes_the_first_again(turn: int, same_as: int) -> None:
    model = ReplayModel(lambda _: RECORDING)
    assert await parts_of(model, turn=turn) == await parts_of(model, turn=same_as)


async def test_a_step_that_was_not_recorded_ends_the_turn() -> None:
    reply = await answer(ReplayModel({"s": RECORDING}), step=9)
    assert (reply.content, reply.calls) == ([{"type": "text", "text": PAST_THE_END}], [])


async def test_a_session_without_a_recording_gets_a_failure_not_an_exception() -> None:
    for model in (ReplayModel({}), ReplayModel({"s": Recording(name="x", turns=())})):
        (failed,) = await parts_of(model)
        assert isinstance(failed, Failed)
        assert (failed.code, failed.bucket) == (NO_RECORDING, "non-retryable")


async def test_a_summary_is_the_recorded_one_or_says_what_it_is_about() -> None:
    plain = await answer(ReplayModel({"s": RECORDING}), purpose="summary", messages=(None, None))
    assert plain.content == [
        {"type": "text", "text": "2 earlier messages were about: read two files"}
    ]
    summed = attrs.evolve(RECORDING, summaries=("first", "second"))
    texts = [
        (await answer(ReplayModel({"s": summed}), purpose="summary", turn=turn)).content[0]["text"]
        for turn in (1, 2, 3)
    ]
    assert texts == ["first", "second", "first"]


async def test_full_speed_takes_no_time_but_still_checkpoints(autojump_clock: Any) -> None:
    started = trio.current_time()
    parts = await parts_of(ReplayModel({"s": RECORDING}))
    assert trio.current_time() == started
    with trio.CancelScope() as scope:
        scope.cancel()
        await parts_of(ReplayModel({"s": RECORDING}))
    assert scope.cancelled_caught
    assert len(parts) > 5


async def test_the_recorded_pace_is_scaled(autojump_clock: Any) -> None:
    async def taken(speed: float) -> float:
        started = trio.current_time()
        await parts_of(ReplayModel({"s": RECORDING}, speed))
        return trio.current_time() - started

    once = await taken(1)
    assert once > 0
    assert math.isclose(await taken(10), once / 10)


def test_text_is_cut_into_pieces_that_give_it_back() -> None:
    for text in ("", " ", "one", "a b  c\n\n d", "x" * 1000, "word " * 50, "\u3000é \U0001f600"):
        assert "".join(cut(text)) == text
    assert len(list(cut("several words in a row, one after another"))) > 2


CHUNKED = dsh.log(
    0,
    dsh.turn(),
    dsh.event("step/start", {"turn": 1, "step": 1}, time=100),
    dsh.user("hello", time=100),
    dsh.chunk(type="block-start", index=0, blockType="text") | {"time": 350},
    dsh.chunk(type="text-delta", index=0, text="par") | {"time": 350},
    dsh.chunk(
        type="finish",
        reason={"kind": "error", "failure": {"message": "529 overloaded", "code": "BUSY"}},
    )
    | {"time": 360},
    dsh.chunk(type="text-delta", index=0, text="whole") | {"time": 1360},
    dsh.chunk(type="text-delta", index=0, text=" text") | {"time": 90_000_000},
    dsh.chunk(type="block-end", index=0, block={"type": "text", "text": "whole text"}),
    dsh.chunk(type="usage", usage={"inputTokens": 3, "odd": 1}),
    dsh.chunk(type="finish", reason={"kind": "stop"}),
    dsh.reply("whole text"),
    dsh.ended(),
)


async def test_recorded_chunks_keep_their_pieces_and_their_pace() -> None:
    step = record("x", read_log(CHUNKED).events).turns[0].steps[0]
    assert [piece.part for piece in step.pieces[:2]] == [
        TextDelta(0, "whole"),
        TextDelta(0, " text"),
    ]
    assert [piece.delay_s for piece in step.pieces[:2]] == [1.0, 10.0]
    reply = await answer(ReplayModel(lambda _: record("x", read_log(CHUNKED).events)), attempt=2)
    assert (reply.content, reply.usage) == ([{"type": "text", "text": "whole text"}], {"input": 3})


async def test_a_recorded_failure_comes_once_and_may_be_tried_again() -> None:
    model = ReplayModel(lambda _: record("x", read_log(CHUNKED).events))
    first = await parts_of(model, attempt=1)
    assert first == [
        TextDelta(0, "par"),
        Failed(bucket="transient", code="BUSY", message="529 overloaded"),
    ]
    for attempt in (2, 3):
        assert (await parts_of(model, attempt=attempt))[-1] == Finished("stop")


async def test_a_turn_that_ended_in_a_failure_fails_for_good() -> None:
    events = native(
        ("user/message", {"content": "hi"}),
        ("turn/start", {}),
        ("assistant/attempt", {"errorMessage": "bad gateway"}),
        (
            "assistant/message",
            {"content": [], "stopReason": "error", "errorMessage": "your key is wrong"},
        ),
        ("turn/end", {"reason": "error"}),
    )
    recording = record("x", events)
    model = ReplayModel({"s": recording})
    (first,), (second,) = await parts_of(model), await parts_of(model, attempt=2)
    assert isinstance(first, Failed)
    assert isinstance(second, Failed)
    assert (first.bucket, second.bucket) == ("transient", "non-retryable")
    assert recording.turns[0].ending == "error"


def test_what_the_user_said_and_what_was_summed_up_are_known() -> None:
    assert [*RECORDING.prompts()] == ["read two files", "thanks"]
    assert RECORDING.events == len(TWO_TURNS)
    summed = [*TWO_TURNS, Event(14, 0, "user/message", b'{"content":"short"}', Replace(0, 13))]
    assert record("x", summed).summaries == ("short",)
