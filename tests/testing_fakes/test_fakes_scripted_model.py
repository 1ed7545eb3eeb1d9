"""The scripted model does what its script says, and keeps the contract of models while it does."""

import pytest
import trio

from actors.errors.rules import SettingError
from actors.ports.model import (
    BlockEnd,
    Failed,
    Finished,
    Model,
    ModelRequest,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    UsageReport,
)
from actors.testing.model import SCRIPT_EXHAUSTED, ScriptedModel
from actors.testing.script import (
    Call,
    CallTools,
    CutAfter,
    Fail,
    Hang,
    Raise,
    Reply,
    Say,
    Think,
)
from tests.contracts.model_contract import ModelContract, assembled, parts_of


def asked(turn: int = 1, step: int = 1, *, summary: bool = False) -> ModelRequest:
    purpose = "summary" if summary else "turn"
    return ModelRequest(
        session_id="s", turn=turn, step=step, purpose=purpose, model="m", messages=()
    )


class TestSayingKeepsTheContract(ModelContract):
    @pytest.fixture
    def model(self) -> Model:
        return ScriptedModel(
            lambda _: Say("hello there", pieces=3, delay_s=0.5, usage={"input": 1})
        )


class TestCallingToolsKeepsTheContract(ModelContract):
    @pytest.fixture
    def model(self) -> Model:
        calls = CallTools(Call("one", {"a": 1}), Call("two", "{broken"), text="both")
        return ScriptedModel(lambda _: Think("which?", calls))


class TestFailingKeepsTheContract(ModelContract):
    @pytest.fixture
    def model(self) -> Model:
        return ScriptedModel(lambda _: Fail("quota", "NO_MONEY", "pay first", text="I was"))


async def test_text_comes_in_as_many_pieces_as_asked_for() -> None:
    model = ScriptedModel([Say("hello world", pieces=3)])

    assert await parts_of(model, asked()) == [
        TextDelta(0, "hel"),
        TextDelta(0, "lo w"),
        TextDelta(0, "orld"),
        BlockEnd(0, {"type": "text", "text": "hello world"}),
        Finished("stop"),
    ]


async def test_text_that_is_too_short_comes_in_fewer_pieces_and_never_in_empty_ones() -> None:
    parts = await parts_of(ScriptedModel([Say("ab", pieces=5)]), asked())

    assert [part.text for part in parts if isinstance(part, TextDelta)] == ["a", "b"]


async def test_no_pieces_at_all_is_refused() -> None:
    with pytest.raises(SettingError, match="pieces is 0"):
        await parts_of(ScriptedModel([Say("ab", pieces=0)]), asked())


async def test_each_piece_waits_its_delay(autojump_clock: trio.testing.MockClock) -> None:
    started_s = trio.current_time()
    await parts_of(ScriptedModel([Say("abcd", pieces=4, delay_s=0.25)]), asked())

    assert trio.current_time() - started_s == pytest.approx(1)


async def test_a_call_streams_its_name_then_its_arguments_in_two_halves() -> None:
    parts = await parts_of(ScriptedModel([CallTools(Call("add", {"a": 1}))]), asked(2, 3))

    assert parts == [
        ToolCallDelta(0, "call-2-3-1", "add"),
        ToolCallDelta(0, None, None, '{"a'),
        ToolCallDelta(0, None, None, '":1}'),
        BlockEnd(
            0, {"type": "toolCall", "id": "call-2-3-1", "name": "add", "arguments": '{"a":1}'}
        ),
        Finished("toolUse"),
    ]


async def test_calls_keep_their_order_their_ids_and_text_that_is_no_json() -> None:
    script = [CallTools(Call("one"), Call("two", "{", id="mine"), text="look")]
    result = assembled(await parts_of(ScriptedModel(script), asked())).result()

    assert [(c.id, c.name, c.arguments) for c in result.calls] == [
        ("call-1-1-1", "one", "{}"),
        ("mine", "two", "{"),
    ]
    assert result.content == [{"type": "text", "text": "look"}]


async def test_reasoning_stands_in_front_of_every_block_of_the_reply() -> None:
    script = [Think("hm", CallTools(Call("one"), text="look"))]
    parts = await parts_of(ScriptedModel(script), asked())

    assert parts[0] == ThinkingDelta(0, "hm")
    assert assembled(parts).result().content == [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "look"},
    ]
    assert [call.name for call in assembled(parts).result().calls] == ["one"]


async def test_a_failure_keeps_all_that_it_says() -> None:
    model = ScriptedModel([Fail("transient", "BUSY", "later", 7.5)])

    assert await parts_of(model, asked()) == [
        Failed(bucket="transient", code="BUSY", message="later", retry_after_s=7.5)
    ]


async def test_usage_is_reported_before_the_end() -> None:
    parts = await parts_of(ScriptedModel([Say("", usage={"input": 3})]), asked())

    assert parts == [UsageReport({"input": 3}), Finished("stop")]


@pytest.mark.parametrize(("parts", "seen"), [(1, ""), (2, '{"a'), (3, '{"a":1}')])
async def test_a_cut_stream_ends_without_an_end_marker_and_has_no_call(
    parts: int, seen: str
) -> None:
    model = ScriptedModel([CutAfter(parts, CallTools(Call("add", {"a": 1})))])
    got = await parts_of(model, asked())

    assert "".join(p.arguments for p in got if isinstance(p, ToolCallDelta)) == seen
    assert assembled(got).result().broke
    assert assembled(got).result().calls == []


async def test_a_hanging_stream_waits_until_the_reader_leaves(
    autojump_clock: trio.testing.MockClock,
) -> None:
    model = ScriptedModel([Hang("so far")])
    got = []
    with trio.move_on_after(1000) as scope:
        async with model.stream(asked()) as stream:
            got.extend([part async for part in stream])

    assert scope.cancelled_caught
    assert model.open_streams == 0


async def test_a_raising_stream_raises_the_very_error_after_its_text() -> None:
    error = ConnectionError("gone")
    model = ScriptedModel([Raise(error, "so")])
    async with model.stream(asked()) as stream:
        assert await anext(stream) == TextDelta(0, "so")
        with pytest.raises(ConnectionError) as raised:
            await anext(stream)

    assert raised.value is error
    assert model.open_streams == 0


async def test_a_stream_that_was_left_gives_nothing_more() -> None:
    model = ScriptedModel([Say("hello", pieces=5)])
    async with model.stream(asked()) as stream:
        await anext(stream)
        assert model.open_streams == 1

    assert model.open_streams == 0
    with pytest.raises(StopAsyncIteration):
        await anext(stream)


async def test_replies_may_be_made_from_the_request() -> None:
    def echo(request: ModelRequest) -> Reply:
        return Say(f"step {request.step}")

    one_by_one, all_of_them = ScriptedModel([echo, Say("end")]), ScriptedModel(echo)

    assert (await parts_of(one_by_one, asked(step=4)))[0] == TextDelta(0, "step 4")
    assert (await parts_of(one_by_one, asked(step=5)))[0] == TextDelta(0, "end")
    for step in range(3):
        assert (await parts_of(all_of_them, asked(step=step)))[0] == TextDelta(0, f"step {step}")


async def test_a_script_that_has_run_out_says_which_request_was_one_too_many() -> None:
    model = ScriptedModel([Say("only this")])
    await parts_of(model, asked())

    (failed,) = await parts_of(model, asked(2, 5))

    assert isinstance(failed, Failed)
    assert (failed.bucket, failed.code) == ("non-retryable", SCRIPT_EXHAUSTED)
    assert "had 1 replies" in failed.message
    assert "turn 2, step 5" in failed.message


async def test_summaries_take_nothing_from_the_replies() -> None:
    model = ScriptedModel([Say("answer")], summaries=[Say("short")])

    assert (await parts_of(model, asked(summary=True)))[0] == TextDelta(0, "short")
    assert (await parts_of(model, asked()))[0] == TextDelta(0, "answer")
    assert isinstance((await parts_of(model, asked(summary=True)))[0], Failed)


async def test_every_request_is_remembered_in_order() -> None:
    model = ScriptedModel(lambda _: Say("x"))
    requests = [asked(1), asked(2), asked(2, summary=True)]
    for request in requests:
        await parts_of(model, request)

    assert model.requests == requests
    assert model.name == "scripted/model"
