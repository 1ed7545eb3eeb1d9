"""Streams in each wire form, whole, in any pieces, and cut at every place."""

import itertools

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from actors.log.foreign import mend
from actors.ports.model import (
    BlockEnd,
    Failed,
    Finished,
    ModelRequest,
    Part,
    TextDelta,
    UsageReport,
)
from actors.rules.assembly import Assembled
from runtime.models.anthropic_reading import MessagesReader
from runtime.models.openai_chat_reading import ChatReader
from runtime.models.openai_responses_reading import ResponsesReader
from runtime.models.provider_sse import DONE, FrameDecoder, decoded
from runtime.models.provider_stream import Reader
from tests.contracts.model_contract import assembled, parts_of
from tests.fake_provider.clients import fed_model
from tests.fake_provider.wire_forms import FORMS, Called, Form, Told, data, event, frames

REQUEST = ModelRequest(session_id="s-1", turn=1, step=1, model="provider/model-1", messages=())
TOLD = Told(
    thinking=("Zwei plus", " drei …"),
    text=("It is ", "fünf 🙂", "."),
    calls=(Called("call-a", "add", ('{"a": 2', ', "b": 3}')), Called("call-b", "now", ())),
)
READERS = {"chat": ChatReader, "responses": ResponsesReader, "messages": MessagesReader}

forms = pytest.mark.parametrize("form", FORMS)


def reader(form: Form) -> Reader:
    model = ("model-1",) if form == "messages" else ()
    return READERS[form](lambda name: name, *model)


def read(form: Form, pieces: list[bytes]) -> list[Part]:
    """Read a stream as the adapter does, without its connection."""
    folded, decoder, parts = reader(form), FrameDecoder(), []
    for piece in pieces:
        for text in decoder.feed(piece):
            parts += folded.rest() if text == DONE else folded.take(decoded(text))
    if not ended(parts):
        parts += folded.rest()
    return parts


def ended(parts: list[Part]) -> bool:
    return bool(parts) and isinstance(parts[-1], Finished | Failed)


def result(parts: list[Part]) -> Assembled:
    return assembled(parts).result()


@forms
def test_a_whole_stream_gives_reasoning_text_calls_and_usage(form: Form) -> None:
    whole = result(read(form, frames(form, TOLD)))

    thinking, text = whole.content
    assert thinking["thinking"] == "Zwei plus drei …"
    assert text == {"type": "text", "text": "It is fünf 🙂."}
    assert [(call.id, call.name, call.arguments) for call in whole.calls] == [
        ("call-a", "add", '{"a": 2, "b": 3}'),
        ("call-b", "now", "{}"),
    ]
    assert whole.stop_reason == "toolUse"
    assert whole.usage == {
        "input": 10,
        "output": 7,
        "cacheRead": 4,
        "cacheWrite": 0,
        "reasoning": 2,
        "totalTokens": 21,
    }


@forms
def test_a_stream_byte_by_byte_gives_the_same(form: Form) -> None:
    raw = b"".join(frames(form, TOLD))

    assert read(form, [raw[n : n + 1] for n in range(len(raw))]) == read(form, [raw])


@forms
@given(cuts=st.lists(st.integers(0, 4_000), max_size=12))
def test_a_stream_in_any_pieces_gives_the_same(form: Form, cuts: list[int]) -> None:
    raw = b"".join(frames(form, TOLD))
    bounds = [0, *sorted(cuts), len(raw)]
    pieces = [raw[start:stop] for start, stop in itertools.pairwise(bounds)]

    assert read(form, pieces) == read(form, [raw])


@forms
@pytest.mark.parametrize("newline", [b"\r\n", b"\r"])
def test_every_kind_of_line_end_is_read(form: Form, newline: bytes) -> None:
    raw = b"".join(frames(form, TOLD)).replace(b"\n", newline)
    whole = read(form, frames(form, TOLD))

    assert read(form, [raw, b"\n\n"]) == whole
    assert read(form, [raw[n : n + 1] for n in range(len(raw))] + [b"\n\n"]) == whole


@forms
def test_a_stream_cut_at_any_byte_never_invents_a_call(form: Form) -> None:
    raw = b"".join(frames(form, TOLD))
    whole = result(read(form, [raw]))
    said = {"thinking": "Zwei plus drei …", "text": "It is fünf 🙂."}

    for end in range(len(raw)):
        parts = read(form, [raw[:end]])
        cut = result(parts)
        assert cut.calls in ([], whole.calls)
        assert bool(cut.calls) <= ended(parts)
        assert cut.broke is not ended(parts)
        for block in cut.content:
            kind = block["type"]
            assert said[kind].startswith(block[kind])


@forms
def test_what_comes_behind_the_end_changes_nothing(form: Form) -> None:
    parts = read(form, frames(form, TOLD))

    assert isinstance(parts[-1], Finished)
    assert sum(isinstance(part, Finished | Failed) for part in parts) == 1


@forms
def test_a_reply_that_hit_the_limit_loses_its_calls(form: Form) -> None:
    cut = result(read(form, frames(form, attrs.evolve(TOLD, cut_at_limit=True))))

    assert cut.stop_reason == "length"
    assert cut.calls == []


@forms
def test_a_character_whose_halves_come_apart_is_shown_whole(form: Form) -> None:
    parts = read(form, frames(form, Told(text=("so \ud83d", "\ude42 it is"))))

    assert "".join(p.text for p in parts if isinstance(p, TextDelta)) == "so 🙂 it is"
    assert mend(result(parts).content).value == [{"type": "text", "text": "so 🙂 it is"}]


@forms
def test_half_a_character_is_shown_as_a_mark_and_the_log_can_count_it(form: Form) -> None:
    parts = read(form, frames(form, Told(text=("so \ud83d", " it is"))))

    assert "".join(p.text for p in parts if isinstance(p, TextDelta)) == "so \ufffd it is"
    assert mend(result(parts).content) == ([{"type": "text", "text": "so \ufffd it is"}], 1)


@forms
def test_half_a_character_in_arguments_reaches_the_log(form: Form) -> None:
    parts = read(form, frames(form, Told(calls=(Called("c", "say", ('{"a":"\ud83d', '"}')),))))

    assert mend(result(parts).calls[0].arguments) == ('{"a":"\ufffd"}', 1)


@forms
@given(st.dictionaries(st.sampled_from(["type", "choices", "delta", "item", "index", "usage",
    "response", "message", "content_block", "output_index", "error"]),
    st.recursive(st.none() | st.booleans() | st.integers() | st.sampled_from(
        ["response.completed", "message_delta", "content_block_start", "text_delta", "x"]),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
            st.sampled_from(["delta", "type", "tool_calls", "function", "text", "index", "usage"]),
            inner, max_size=3), max_leaves=8)))  # fmt: skip
def test_nonsense_is_left_aside_and_never_raises(form: Form, frame: dict) -> None:
    parts = [*(folded := reader(form)).take(frame), *folded.take(frame), *folded.rest()]

    assembled(parts).prefix()


@forms
async def test_the_adapter_reads_byte_by_byte_what_it_reads_whole(form: Form) -> None:
    raw = b"".join(frames(form, TOLD))
    pieces = [raw[n : n + 1] for n in range(len(raw))]

    assert await parts_of(fed_model(form, pieces), REQUEST) == read(form, [raw])


@forms
@pytest.mark.parametrize("lost", [False, True])
async def test_the_adapter_says_that_a_stream_cut_between_frames_broke(
    form: Form, lost: bool
) -> None:
    told = frames(form, TOLD)
    whole = read(form, told)
    for count in range(len(told)):
        parts = await parts_of(fed_model(form, told[:count], broken=lost), REQUEST)
        last = parts[-1] if parts else None
        if isinstance(last, Finished):
            assert last == whole[-1]  # only what comes behind the end was lost
            assert count >= len(told) - 2
        elif lost:
            assert isinstance(last, Failed)
            assert (last.bucket, last.code) == ("transient", "LLM_CONNECTION_FAILED")
        else:
            assert not isinstance(last, Failed)


@forms
@pytest.mark.parametrize(
    "junk", [b"data: {]\n\n", b"data: 5\n\n", b'data: "\xff"\n\n', b"data: \n\n"]
)
async def test_a_frame_that_cannot_be_read_ends_the_stream_with_a_retryable_failure(
    form: Form, junk: bytes
) -> None:
    parts = await parts_of(fed_model(form, [*frames(form, TOLD)[:4], junk]), REQUEST)

    assert isinstance(parts[-1], Failed)
    assert (parts[-1].bucket, parts[-1].code) == ("transient", "LLM_STREAM_MALFORMED")


@pytest.mark.parametrize("piece", [b"x", b"data: 12345678\n"])
def test_a_frame_that_never_ends_is_refused(piece: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.models.provider_sse.LONGEST_FRAME_BYTES", 100)
    decoder = FrameDecoder()

    with pytest.raises(ValueError, match="more than 100 bytes"):
        list(itertools.chain.from_iterable(decoder.feed(piece) for _ in range(200)))


def test_a_byte_order_mark_and_comments_are_passed_by() -> None:
    assert list(FrameDecoder().feed(b"\xef\xbb\xbfdata: 1\n: on\nid: 4\ndata: 2\n\n")) == ["1\n2"]


IN_STREAM = {
    "chat": data({"error": {"message": "slow down", "code": "rate_limit_exceeded"}}),
    "responses": event({"type": "error", "code": "rate_limit_exceeded", "message": "slow down"}),
    "messages": event({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}),
}


@forms
def test_a_failure_in_the_middle_of_a_stream_is_transient(form: Form) -> None:
    parts = read(form, [*frames(form, TOLD)[:4], IN_STREAM[form]])

    failures = [part for part in parts if isinstance(part, Failed)]
    assert [failed.bucket for failed in failures] == ["transient"]


HELD_BACK = {
    "chat": data({"choices": [{"delta": {}, "finish_reason": "content_filter"}]}),
    "responses": event(
        {
            "type": "response.incomplete",
            "response": {"incomplete_details": {"reason": "content_filter"}},
        }
    ),
    "messages": event({"type": "message_delta", "delta": {"stop_reason": "refusal"}}),
}


@forms
def test_a_reply_that_is_held_back_is_a_final_failure(form: Form) -> None:
    last = read(form, [HELD_BACK[form]])[-1]

    assert isinstance(last, Failed)
    assert (last.bucket, last.code) == ("non-retryable", "LLM_CONTENT_FILTERED")


def test_signatures_of_reasoning_are_kept_in_its_block() -> None:
    messages = result(read("messages", frames("messages", TOLD))).content[0]
    responses = result(read("responses", frames("responses", TOLD))).content[0]

    assert messages["signature"] == "signed-1"
    assert responses["encryptedContent"] == "sealed-1"


def test_reasoning_that_the_provider_hid_passes_through() -> None:
    block = {"type": "redacted_thinking", "data": "hidden-1"}
    hidden = event({"type": "content_block_start", "index": 0, "content_block": block})

    assert read("messages", [hidden]) == [BlockEnd(0, block | {"model": "model-1"})]


def test_a_compatible_server_may_stop_for_calls_without_saying_so() -> None:
    call = {"id": "c", "function": {"name": "now", "arguments": ""}}
    said = data({"choices": [{"delta": {"tool_calls": [call]}, "finish_reason": "stop"}]})

    whole = result(read("chat", [said]))

    assert whole.stop_reason == "toolUse"
    assert [(c.name, c.arguments) for c in whole.calls] == [("now", "{}")]


def test_an_item_that_came_without_deltas_is_taken_whole() -> None:
    def done(index: int, item: dict) -> bytes:
        word = "response.output_item.done"
        return event({"type": word, "output_index": index, "item": item})

    parts = read("responses", [
        done(0, {"type": "reasoning", "summary": [{"text": "Hm."}], "encrypted_content": "x"}),
        done(1, {"type": "message", "content": [{"type": "output_text", "text": "Five."}]}),
        done(2, {"type": "function_call", "call_id": "c", "name": "now", "arguments": "{}"}),
        event({"type": "response.completed", "response": {}}),
    ])  # fmt: skip
    whole = result(parts)

    assert [block.get("thinking") or block.get("text") for block in whole.content] == [
        "Hm.",
        "Five.",
    ]
    assert [(call.id, call.name) for call in whole.calls] == [("c", "now")]


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_token_is_counted_once(fresh: int, cached: int, output: int) -> None:
    told = Told(text=("x",), input_tokens=fresh, cached_tokens=cached, output_tokens=output)
    for form in FORMS:
        usage = [p.usage for p in read(form, frames(form, told)) if isinstance(p, UsageReport)][-1]
        assert (usage["input"], usage["cacheRead"], usage["output"]) == (fresh, cached, output)
        assert usage["totalTokens"] == fresh + cached + output
