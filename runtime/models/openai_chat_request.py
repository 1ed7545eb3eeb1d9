"""The body of a Chat Completions request, as a function of what the log shows. Pure.

Source: P1, K-11, K-30.
"""

from collections.abc import Iterable, Iterator
from typing import assert_never

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
from runtime.models.openai_messages import EFFORTS, NO_OUTPUT, said, said_by_user
from runtime.models.provider_config import Settings, present, settings
from runtime.models.provider_content import (
    Image,
    Shown,
    arguments_text,
    shown,
    text_of,
    wire_id,
    wire_name,
)


def chat_body(request: ModelRequest, model: str, *, compatible: bool) -> JsonObject:
    """Return the body of a streamed request.

    Args:
        request: what to ask.
        model: the provider's name of the model.
        compatible: another server than OpenAI's, which may know the older words only.
    """
    body: JsonObject = {
        "model": model,
        "messages": list(chat_messages(request.messages)),
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if request.tools:
        body["tools"] = [_tool(schema) for schema in request.tools]
    config = settings(request.config)
    mended: JsonObject = mend(body | _options(config, compatible=compatible) | config.rest).value
    return mended


def _options(config: Settings, *, compatible: bool) -> JsonObject:
    limit = "max_tokens" if compatible else "max_completion_tokens"
    effort = EFFORTS.get(config.effort, config.effort) if config.effort is not None else None
    return present(
        temperature=config.temperature,
        top_p=config.top_p,
        stop=config.stop,
        reasoning_effort=effort,
        **{limit: config.max_tokens},
    )


def _tool(schema: ToolSchema) -> JsonObject:
    function: JsonObject = {
        "name": wire_name(schema.name),
        "description": schema.description,
        "parameters": schema.parameters,
    }
    return {"type": "function", "function": function}


def chat_messages(messages: Iterable[ProjectedMessage]) -> Iterator[JsonObject]:
    """Yield the messages in order; one that would show nothing is left out.

    Developer messages are sent as system messages, which compatible servers know too.
    """
    for message in messages:
        match message:
            case SystemMessage():
                yield from said("system", text_of(message.content))
            case UserMessage():
                yield from said_by_user(shown(message.content), _part)
            case AssistantMessage():
                yield from _assistant(message)
            case ToolResultMessage():
                yield _result(message)
            case _:
                assert_never(message)


def _part(piece: Shown) -> JsonObject:
    if isinstance(piece, Image):
        return {"type": "image_url", "image_url": {"url": piece.address}}
    return {"type": "text", "text": piece.text}


def _assistant(message: AssistantMessage) -> Iterator[JsonObject]:
    text = text_of(message.content)
    calls: list[JsonValue] = [_call(call) for call in message.tool_calls]
    if calls:
        yield {"role": "assistant", "content": text or None, "tool_calls": calls}
    else:
        yield from said("assistant", text)


def _call(call: ProjectedCall) -> JsonObject:
    function: JsonObject = {
        "name": wire_name(call.tool_name),
        "arguments": arguments_text(call.arguments),
    }
    return {"id": wire_id(call.tool_call_id), "type": "function", "function": function}


def _result(message: ToolResultMessage) -> JsonObject:
    text = text_of(message.output, left_out="[image left out: only text can be shown here]")
    call_id = wire_id(message.tool_call_id)
    return {"role": "tool", "tool_call_id": call_id, "content": text or NO_OUTPUT}
