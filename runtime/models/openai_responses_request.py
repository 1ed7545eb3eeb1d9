"""The body of a Responses request, as a function of what the log shows. Pure.

Nothing is kept by the provider: every request carries the whole history, reasoning included in the
sealed form that the provider gave it.

Source: P1, K-11, K-30.
"""

from collections.abc import Iterable, Iterator
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
from runtime.models.openai_messages import EFFORTS, NO_OUTPUT, said, said_by_user
from runtime.models.provider_config import Settings, present, settings
from runtime.models.provider_content import (
    Image,
    Shown,
    arguments_text,
    shown,
    string,
    text_of,
    thoughts,
    wire_id,
    wire_name,
)

SEALED: Final = "encryptedContent"
"""The key of a thinking block that holds OpenAI's sealed reasoning."""


def responses_body(request: ModelRequest, model: str, *, reasoning: bool) -> JsonObject:
    """Return the body of a streamed request.

    Args:
        request: what to ask.
        model: the provider's name of the model.
        reasoning: the model reasons, so its sealed reasoning is asked for.
    """
    config = settings(request.config)
    body: JsonObject = {
        "model": model,
        "input": list(response_items(request.messages)),
        "stream": True,
        "store": False,
    }
    if request.tools:
        body["tools"] = [_tool(schema) for schema in request.tools]
    if reasoning or config.effort is not None:
        body["include"] = ["reasoning.encrypted_content"]
    mended: JsonObject = mend(body | _options(config) | config.rest).value
    return mended


def _options(config: Settings) -> JsonObject:
    effort: JsonObject | None = None
    if config.effort is not None:
        effort = {"effort": EFFORTS.get(config.effort, config.effort), "summary": "auto"}
    return present(
        temperature=config.temperature,
        top_p=config.top_p,
        max_output_tokens=config.max_tokens,
        reasoning=effort,
    )


def _tool(schema: ToolSchema) -> JsonObject:
    return {
        "type": "function",
        "name": wire_name(schema.name),
        "description": schema.description,
        "parameters": schema.parameters,
        "strict": False,
    }


def response_items(messages: Iterable[ProjectedMessage]) -> Iterator[JsonObject]:
    """Yield the items in order; one that would show nothing is left out."""
    for message in messages:
        match message:
            case SystemMessage():
                yield from said(message.role, text_of(message.content))
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
        return {"type": "input_image", "image_url": piece.address, "detail": "auto"}
    return {"type": "input_text", "text": piece.text}


def _assistant(message: AssistantMessage) -> Iterator[JsonObject]:
    yield from (_reasoning(block) for block in thoughts(message.content) if block.get(SEALED))
    yield from said("assistant", text_of(message.content))
    yield from (_call(call) for call in message.tool_calls)


def _reasoning(block: JsonObject) -> JsonObject:
    thought = string(block.get("thinking"))
    summary: list[JsonValue] = [{"type": "summary_text", "text": thought}] if thought else []
    return {
        "type": "reasoning",
        "id": block.get("id"),
        "summary": summary,
        "encrypted_content": block.get(SEALED),
    }


def _call(call: ProjectedCall) -> JsonObject:
    return {
        "type": "function_call",
        "call_id": wire_id(call.tool_call_id),
        "name": wire_name(call.tool_name),
        "arguments": arguments_text(call.arguments),
    }


def _result(message: ToolResultMessage) -> JsonObject:
    pieces = shown(message.output)
    output: JsonValue = text_of(message.output) or NO_OUTPUT
    if any(isinstance(piece, Image) for piece in pieces):
        output = [_part(piece) for piece in pieces]
    call_id = wire_id(message.tool_call_id)
    return {"type": "function_call_output", "call_id": call_id, "output": output}
