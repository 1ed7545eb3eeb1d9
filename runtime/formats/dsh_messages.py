"""What a DSH message must carry before a seed or a stored log is admitted. Pure.

Source: D-24, D-25, D-27, D-130.
"""

from typing import Final

from actors.json import JsonObject, JsonValue
from runtime.formats.dsh_shapes import ShapeError

_ROLES: Final = {
    "system/message": "system",
    "developer/message": "developer",
    "user/message": "user",
    "assistant/message": "assistant",
    "tool/result": "tool",
}


def check_message(word: str, data: JsonValue) -> None:
    """Check the message of a version 4 surface event; other words pass.

    Raises:
        ShapeError: ``message-id``, ``message-role`` (``developer-role`` when only one of type and role
            says developer), ``message-source``, ``message-content``, ``message-model-source``,
            ``message-tool-source`` or ``tool-error-flag``.
    """
    if word not in _ROLES:
        return
    outer = data if isinstance(data, dict) else {}
    inner = outer if word == "user/message" else outer.get("message")
    message = inner if isinstance(inner, dict) else {}
    if not _is_name(message.get("id")):
        raise ShapeError("message-id", "a message has an id")
    _check_role(word, message.get("role"))
    _check_source(word, message.get("source"))
    if not isinstance(message.get("content"), list):
        raise ShapeError("message-content", "content is a list of blocks")
    if word == "tool/result" and "error" in outer and message.get("isError") is not True:
        raise ShapeError("tool-error-flag", "error stands only beside isError: true")


def _check_role(word: str, role: JsonValue) -> None:
    if role == _ROLES[word]:
        return
    developer = "developer" in (role, _ROLES[word])
    raise ShapeError("developer-role" if developer else "message-role", f"{word} by {role!r}")


def _check_source(word: str, source: JsonValue) -> None:
    if not isinstance(source, dict) or not _is_name(source.get("kind")):
        raise ShapeError("message-source", "a source is an object with a kind")
    if word == "assistant/message" and not _says(source, "model", "provider", "model"):
        raise ShapeError("message-model-source", "a reply names its provider and model")
    if word == "tool/result" and not _says(source, "tool", "callId"):
        raise ShapeError("message-tool-source", "a tool result names its call in source.callId")


def _says(source: JsonObject, kind: str, *names: str) -> bool:
    return source.get("kind") == kind and all(_is_name(source.get(name)) for name in names)


def _is_name(value: JsonValue) -> bool:
    return isinstance(value, str) and value != ""
