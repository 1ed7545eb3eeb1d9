"""The body of a Messages request, as a function of what the log shows. Pure.

Source: P1, K-11, K-30.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final, assert_never

from actors.json import JsonObject, JsonValue
from actors.log.foreign import mend
from actors.log.projection import (
    AssistantMessage,
    ProjectedCall,
    ProjectedMessage,
    SystemMessage,
    ToolResultMessage,
    UserMessage,
)
from actors.ports.model import ModelRequest, ToolSchema
from runtime.models.provider_config import OFF, Settings, present, settings
from runtime.models.provider_content import (
    Image,
    Shown,
    arguments_object,
    shown,
    string,
    text_of,
    thoughts,
    wire_id,
    wire_name,
)

CONTINUES: Final = "[The conversation goes on from here.]"
"""The user's first words where the visible history begins with a reply: the wire wants a user first."""
_EFFORTS: Final = {"minimal": "low"}
_Said = tuple[str, JsonObject]
"""A role and one of its blocks."""


def messages_body(request: ModelRequest, model: str, *, max_tokens: int) -> JsonObject:
    """Return the body of a streamed request.

    The whole prefix is marked for the provider's cache, except for a summary, which is asked for once.

    Args:
        request: what to ask.
        model: the provider's name of the model.
        max_tokens: the longest reply when the request's config names none; the wire wants a number.
    """
    config = settings(request.config)
    head, rest = _split(request.messages)
    body: JsonObject = {
        "model": model,
        "max_tokens": config.max_tokens if config.max_tokens is not None else max_tokens,
        "messages": list(wire_messages(rest, model)),
        "stream": True,
    }
    if head:
        body["system"] = [{"type": "text", "text": text} for text in head]
    if request.tools:
        body["tools"] = [_tool(schema) for schema in request.tools]
    if request.purpose == "turn":
        body["cache_control"] = {"type": "ephemeral"}
    mended: JsonObject = mend(body | _options(config) | config.rest).value
    return mended


def _options(config: Settings) -> JsonObject:
    stops: JsonValue = [config.stop] if isinstance(config.stop, str) else config.stop
    options = present(temperature=config.temperature, top_p=config.top_p, stop_sequences=stops)
    if config.effort == OFF:
        return options | {"thinking": {"type": "disabled"}}
    if config.effort is None:
        return options
    effort: JsonObject = {"effort": _EFFORTS.get(config.effort, config.effort)}
    return options | {"thinking": {"type": "adaptive"}, "output_config": effort}


def _tool(schema: ToolSchema) -> JsonObject:
    return {
        "name": wire_name(schema.name),
        "description": schema.description,
        "input_schema": schema.parameters,
    }


def _split(messages: Sequence[ProjectedMessage]) -> tuple[list[str], Sequence[ProjectedMessage]]:
    """Part the system messages at the head from the conversation."""
    head: list[str] = []
    for place, message in enumerate(messages):
        if not isinstance(message, SystemMessage):
            return head, messages[place:]
        head += filter(None, [text_of(message.content)])
    return head, ()


def wire_messages(messages: Iterable[ProjectedMessage], model: str) -> Iterator[JsonObject]:
    """Yield messages whose roles take turns, a user first, each result right behind its call.

    Reasoning goes back to the model that signed it: the provider refuses that of another one.
    """
    said = [part for message in messages for part in _said(message, model)]
    if not said or said[0][0] != "user":
        said.insert(0, ("user", _text(CONTINUES)))
    for role, parts in groupby(said, key=lambda part: part[0]):
        blocks: list[JsonValue] = [block for _, block in parts]
        if role == "user":
            # Results stand first in a message: what a user said between them comes behind.
            blocks.sort(key=lambda block: not _is_result(block))
        yield {"role": role, "content": blocks}


def _is_result(block: JsonValue) -> bool:
    return isinstance(block, dict) and block["type"] == "tool_result"


def _said(message: ProjectedMessage, model: str) -> Iterator[_Said]:
    match message:
        case SystemMessage():
            # The wire has no system role in mid-conversation that every model takes.
            text = text_of(message.content)
            if text:
                yield "user", _text(f"<system>\n{text}\n</system>")
        case UserMessage():
            yield from (("user", _block(piece)) for piece in shown(message.content))
        case AssistantMessage():
            yield from (("assistant", block) for block in _assistant(message, model))
        case ToolResultMessage():
            yield "user", _result(message)
        case _:
            assert_never(message)


def _text(text: str) -> JsonObject:
    return {"type": "text", "text": text}


def _block(piece: Shown) -> JsonObject:
    if not isinstance(piece, Image):
        return _text(piece.text)
    if piece.url is not None:
        return {"type": "image", "source": {"type": "url", "url": piece.url}}
    source: JsonObject = {"type": "base64", "media_type": piece.media_type, "data": piece.data}
    return {"type": "image", "source": source}


def _assistant(message: AssistantMessage, model: str) -> Iterator[JsonObject]:
    own = (block for block in thoughts(message.content) if block.get("model", model) == model)
    yield from (thought for block in own for thought in _thought(block))
    yield from (_block(piece) for piece in shown(message.content))
    yield from (_call(call) for call in message.tool_calls)


def _thought(block: JsonObject) -> Iterator[JsonObject]:
    """Yield reasoning that this provider signed; it takes no other back."""
    if block.get("type") == "redacted_thinking" and block.get("data"):
        yield {"type": "redacted_thinking", "data": block["data"]}
    elif block.get("signature"):
        thought, signature = string(block.get("thinking")), block["signature"]
        yield {"type": "thinking", "thinking": thought, "signature": signature}


def _call(call: ProjectedCall) -> JsonObject:
    return {
        "type": "tool_use",
        "id": wire_id(call.tool_call_id),
        "name": wire_name(call.tool_name),
        "input": arguments_object(call.arguments),
    }


def _result(message: ToolResultMessage) -> JsonObject:
    result: JsonObject = {"type": "tool_result", "tool_use_id": wire_id(message.tool_call_id)}
    content: list[JsonValue] = [_block(piece) for piece in shown(message.output)]
    if content:
        result["content"] = content
    if message.is_error:
        result["is_error"] = True
    return result
