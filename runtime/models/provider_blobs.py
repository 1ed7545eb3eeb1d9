"""Pictures that messages name by digest, put where a wire form finds them.

Nothing but pictures is loaded: a file is named to the model, which reads it with a tool.

Source: K-5.
"""

from base64 import b64encode
from typing import Final

import attrs

from actors.json import JsonObject, JsonValue
from actors.log.blobs import Digest, is_digest
from actors.log.projection import (
    AssistantMessage,
    ProjectedMessage,
    SystemMessage,
    ToolResultMessage,
    UserMessage,
)
from actors.ports.model import ModelRequest

PICTURE_BYTES: Final = 20 * 1024 * 1024
"""The largest picture that is sent."""
PICTURE_TYPES: Final = frozenset(("image/png", "image/jpeg", "image/gif", "image/webp"))
"""What every provider takes."""


async def with_pictures(request: ModelRequest, *, seen: bool = True) -> ModelRequest:
    """Return the request with each picture as data, or as a text that says why it is not shown.

    It is a function of the log and the blobs that the log names (P1).

    Args:
        request: what is asked; without pictures it is returned itself.
        seen: the model sees pictures.
    """
    if not any(_pictures(_content(message)) for message in request.messages):
        return request
    loaded: dict[Digest, str | None] = {}
    messages = []
    for message in request.messages:
        for block in _pictures(_content(message)):
            digest = block.get("blob")
            if seen and isinstance(digest, str) and digest not in loaded and not _why_not(block):
                loaded[digest] = await _load(request, digest)
        messages.append(_with_data(message, loaded, seen=seen))
    return attrs.evolve(request, messages=messages)


async def _load(request: ModelRequest, digest: Digest) -> str | None:
    """Return a picture in base64; None when the session does not hold it, or it is too large."""
    if request.blobs is None or not is_digest(digest):
        return None
    data = await request.blobs.read(digest, 0, PICTURE_BYTES + 1)
    return None if data is None or len(data) > PICTURE_BYTES else b64encode(data).decode()


def _with_data(
    message: ProjectedMessage, loaded: dict[Digest, str | None], *, seen: bool
) -> ProjectedMessage:
    content = _content(message)
    if not any(_pictures(content)):
        return message
    assert isinstance(content, list)
    blocks: list[JsonValue] = [
        _shown(block, loaded, seen=seen) if _is_picture(block) else block for block in content
    ]
    match message:
        case ToolResultMessage():
            return attrs.evolve(message, output=blocks)
        case UserMessage() | AssistantMessage() | SystemMessage():
            return attrs.evolve(message, content=blocks)


def _shown(block: JsonValue, loaded: dict[Digest, str | None], *, seen: bool) -> JsonValue:
    assert isinstance(block, dict)
    if not seen:
        return _told(block, "this model sees no pictures")
    if "blob" not in block:
        return block
    why = _why_not(block)
    if why is not None:
        return _told(block, why)
    data = loaded.get(str(block["blob"]))
    if data is None:
        return _told(block, f"{block['blob']} cannot be read, or is too large")
    return {"type": "image", "data": data, "mediaType": _media_type(block)}


def _why_not(block: JsonObject) -> str | None:
    media_type = _media_type(block)
    return None if media_type in PICTURE_TYPES else "a picture of this kind cannot be sent"


def _told(block: JsonObject, why: str) -> JsonObject:
    name = block.get("name")
    called = f" {name}" if isinstance(name, str) else ""
    return {"type": "text", "text": f"[picture{called} ({_media_type(block)}) left out: {why}]"}


def _media_type(block: JsonObject) -> str:
    named = (block.get(key) for key in ("mediaType", "mimeType", "media_type"))
    return next((name for name in named if isinstance(name, str)), "image/png")


def _content(message: ProjectedMessage) -> JsonValue:
    return message.output if isinstance(message, ToolResultMessage) else message.content


def _pictures(content: JsonValue) -> list[JsonObject]:
    if not isinstance(content, list):
        return []
    return [block for block in content if isinstance(block, dict) and _is_picture(block)]


def _is_picture(block: JsonValue) -> bool:
    return isinstance(block, dict) and block.get("type") == "image"
