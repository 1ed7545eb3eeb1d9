"""One reply in each wire form, as the frames that a provider would stream."""

import json
from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

import attrs

Form: TypeAlias = Literal["chat", "responses", "messages"]
FORMS: Sequence[Form] = ("chat", "responses", "messages")


@attrs.frozen
class Called:
    """A call in a reply; ``pieces`` of its argument text as they are streamed."""

    id: str
    name: str
    pieces: tuple[str, ...] = ("{}",)


@attrs.frozen(kw_only=True)
class Told:
    """What a provider says in one reply."""

    thinking: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    calls: tuple[Called, ...] = ()
    cut_at_limit: bool = False
    input_tokens: int = 10
    cached_tokens: int = 4
    output_tokens: int = 7
    thinking_tokens: int = 2


def frames(form: Form, told: Told) -> list[bytes]:
    """Return the frames of a reply."""
    makers = {"chat": _chat, "responses": _responses, "messages": _messages}
    return list(makers[form](told))


def form_of(path: str) -> Form:
    """Return which form a request was made in."""
    words = {"/chat/completions": "chat", "/responses": "responses", "/messages": "messages"}
    return next(form for end, form in words.items() if path.partition("?")[0].endswith(end))


def data(value: object) -> bytes:
    return b"data: " + _json(value) + b"\n\n"


def event(value: dict) -> bytes:
    return b"event: " + value["type"].encode() + b"\n" + data(value)


def _json(value: object) -> bytes:
    """Write JSON as providers do: any half of a character as an escape."""
    return json.dumps(value, separators=(",", ":")).encode()


def _chat(told: Told) -> Iterator[bytes]:
    def chunk(delta: dict, finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return data({"id": "c-1", "object": "chat.completion.chunk", "choices": [choice]})

    yield chunk({"role": "assistant", "content": ""})
    yield from (chunk({"reasoning_content": piece}) for piece in told.thinking)
    yield from (chunk({"content": piece}) for piece in told.text)
    for index, call in enumerate(told.calls):
        function = {"name": call.name, "arguments": ""}
        head = {"index": index, "id": call.id, "type": "function", "function": function}
        yield chunk({"tool_calls": [head]})
        for piece in call.pieces:
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    reason = "length" if told.cut_at_limit else "tool_calls" if told.calls else "stop"
    yield chunk({}, reason)
    usage = {
        "prompt_tokens": told.input_tokens + told.cached_tokens,
        "completion_tokens": told.output_tokens,
        "total_tokens": told.input_tokens + told.cached_tokens + told.output_tokens,
        "prompt_tokens_details": {"cached_tokens": told.cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": told.thinking_tokens},
    }
    yield data({"id": "c-1", "object": "chat.completion.chunk", "choices": [], "usage": usage})
    yield b"data: [DONE]\n\n"


def _responses(told: Told) -> Iterator[bytes]:
    number = iter(range(10_000))

    def say(word: str, **more: object) -> bytes:
        return event({"type": f"response.{word}", "sequence_number": next(number), **more})

    yield say("created", response={"id": "r-1", "status": "in_progress"})
    index = 0
    for kind, pieces in (("reasoning", told.thinking), ("message", told.text)):
        if not pieces:
            continue
        item = {"id": f"i-{index}", "type": kind}
        yield say("output_item.added", output_index=index, item=item)
        word = "reasoning_summary_text" if kind == "reasoning" else "output_text"
        for piece in pieces:
            yield say(f"{word}.delta", output_index=index, content_index=0, delta=piece)
        sealed = {"encrypted_content": "sealed-1"} if kind == "reasoning" else {}
        yield say("output_item.done", output_index=index, item=item | sealed)
        index += 1
    for call in told.calls:
        item = {"id": f"i-{index}", "type": "function_call", "call_id": call.id, "name": call.name}
        yield say("output_item.added", output_index=index, item=item | {"arguments": ""})
        for piece in call.pieces:
            yield say("function_call_arguments.delta", output_index=index, delta=piece)
        whole = {"arguments": "".join(call.pieces)}
        yield say("output_item.done", output_index=index, item=item | whole)
        index += 1
    usage = {
        "input_tokens": told.input_tokens + told.cached_tokens,
        "input_tokens_details": {"cached_tokens": told.cached_tokens},
        "output_tokens": told.output_tokens,
        "output_tokens_details": {"reasoning_tokens": told.thinking_tokens},
        "total_tokens": told.input_tokens + told.cached_tokens + told.output_tokens,
    }
    cut = {"incomplete_details": {"reason": "max_output_tokens"}} if told.cut_at_limit else {}
    word = "incomplete" if told.cut_at_limit else "completed"
    yield say(word, response={"id": "r-1", "status": word, "usage": usage} | cut)


def _messages(told: Told) -> Iterator[bytes]:
    started = {"input_tokens": told.input_tokens, "cache_read_input_tokens": told.cached_tokens}
    message = {"id": "m-1", "type": "message", "role": "assistant", "content": []}
    yield event({"type": "message_start", "message": message | {"usage": started}})
    yield event({"type": "ping"})
    index = 0
    for kind, pieces in (("thinking", told.thinking), ("text", told.text)):
        if not pieces:
            continue
        block = {"type": kind, kind: ""}
        yield event({"type": "content_block_start", "index": index, "content_block": block})
        for piece in pieces:
            delta = {"type": f"{kind}_delta", kind: piece}
            yield event({"type": "content_block_delta", "index": index, "delta": delta})
        if kind == "thinking":
            delta = {"type": "signature_delta", "signature": "signed-1"}
            yield event({"type": "content_block_delta", "index": index, "delta": delta})
        yield event({"type": "content_block_stop", "index": index})
        index += 1
    for call in told.calls:
        block = {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}
        yield event({"type": "content_block_start", "index": index, "content_block": block})
        for piece in call.pieces:
            delta = {"type": "input_json_delta", "partial_json": piece}
            yield event({"type": "content_block_delta", "index": index, "delta": delta})
        yield event({"type": "content_block_stop", "index": index})
        index += 1
    reason = "max_tokens" if told.cut_at_limit else "tool_use" if told.calls else "end_turn"
    details = {"thinking_tokens": told.thinking_tokens}
    usage = {"output_tokens": told.output_tokens, "output_tokens_details": details}
    yield event({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage})
    yield event({"type": "message_stop"})
