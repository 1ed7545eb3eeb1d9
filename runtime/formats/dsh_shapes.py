"""DSH payloads and their native, flat shapes; each direction undoes the other. Pure.

A wrapped message is flattened: its ``source`` becomes ``origin`` (``source.callId`` the ``toolCallId``),
what is not known of it stays in ``data.message``. Content blocks are kept as they are.

Source: K-29, K-33, K-35, D-24..D-28, D-205.
"""

from typing import Final

from actors.json import JsonObject, JsonValue
from runtime.formats.dsh_words import SURFACE

_FLAT: Final = {"id": "id", "content": "content", "source": "origin"}
_NESTED: Final = {flat: key for key, flat in _FLAT.items()}
_ROLES: Final = {
    "system/message": "system",
    "developer/message": "developer",
    "user/message": "user",
    "assistant/message": "assistant",
}
_RESULT_WRAPPER: Final = "tool-result"
"""The block that held a tool's result up to version 3 (D-26)."""


class ShapeError(Exception):
    """The payload cannot be mapped; the reader and the writer say where it stood."""

    def __init__(self, rule: str, detail: str) -> None:
        super().__init__(rule, detail)
        self.rule, self.detail = rule, detail


def to_native(word: str, data: JsonValue, version: int) -> JsonValue:
    """Return the native data of a DSH event.

    Raises:
        ShapeError: a shape that its type cannot have, or two values that would share one key.
    """
    if word in SURFACE:
        return _flat_message(word, data, version)
    if word == "tool/call":
        return _renamed(_object(word, data), {"callId": "toolCallId"}, {"inline": True})
    if word == "turn/end":
        return _flat_ending(_object(word, data))
    if word == "request/header" and version == 0:
        return _split_header(_object(word, data))
    return data


def from_native(word: str, data: JsonValue, version: int) -> JsonValue:
    """Return the DSH data of a native event that :func:`to_native` could have made.

    Raises:
        ShapeError: DSH has no form for it.
    """
    if word in SURFACE:
        return _wrapped_message(word, data, version)
    if word == "tool/call":
        call = {**_object(word, data)}
        call.pop("inline", None)
        return _renamed(call, {"toolCallId": "callId"}, {})
    if word == "turn/end":
        return _wrapped_ending(_object(word, data))
    if word == "request/header" and version == 0:
        return _joined_header(_object(word, data))
    return data


def _role(word: str, version: int) -> str:
    return _ROLES.get(word) or ("user" if version == 0 else "tool")


def _flat_message(word: str, data: JsonValue, version: int) -> JsonObject:
    outer = {**_object(word, data)} if word != "user/message" else {"message": data}
    message = {**_object(word, outer.pop("message", None))}
    if message.get("role") == _role(word, version):
        del message["role"]
    flat: JsonObject = {_FLAT[key]: message.pop(key) for key in list(message) if key in _FLAT}
    if word == "tool/result":
        _lift_call_id(flat)
        _lift_flag(outer, flat, message)
    if message:
        flat["message"] = message
    return _joined(word, outer, flat)


def _wrapped_message(word: str, data: JsonValue, version: int) -> JsonObject:
    outer = {**_object(word, data)}
    kept = _object(word, outer.pop("message", {}))
    call_id = outer.pop("toolCallId", None) if word == "tool/result" else None
    flat = {_NESTED[key]: outer.pop(key) for key in list(outer) if key in _NESTED}
    message: JsonObject = {**flat, **kept}
    source = message.get("source")
    if call_id is not None:
        if not isinstance(source, dict):
            raise ShapeError("message-source", "a result has no origin")
        message["source"] = {**source, "callId": call_id}
    if word == "tool/result" and outer.get("error") is True and _flagged(message):
        del outer["error"]
    if "id" not in message or not isinstance(message.get("source"), dict):
        raise ShapeError("message-source", "a DSH message has an id and a source")
    message.setdefault("role", _role(word, version))
    if word != "user/message":
        return {**outer, "message": message}
    if outer:
        raise ShapeError("message-keys", f"a DSH user message has no {', '.join(sorted(outer))}")
    return message


def _lift_call_id(flat: JsonObject) -> None:
    source = flat.get("origin")
    if not isinstance(source, dict) or not isinstance(source.get("callId"), str):
        raise ShapeError("message-tool-source", "a tool result names its call in source.callId")
    rest = {**source}
    flat["toolCallId"] = rest.pop("callId")
    flat["origin"] = rest


def _lift_flag(outer: JsonObject, flat: JsonObject, message: JsonObject) -> None:
    """Natively one key says that a call failed; the flag stays where it was, too."""
    if "error" in outer:
        if not isinstance(outer["error"], dict):
            raise ShapeError("tool-error", "data.error is not an object")
    elif _flagged({**message, "content": flat.get("content")}):
        flat["error"] = True


def _flagged(message: JsonObject) -> bool:
    if message.get("isError") is True:
        return True
    blocks = message.get("content")
    wrappers = blocks if isinstance(blocks, list) else []
    return any(
        isinstance(block, dict)
        and block.get("type") == _RESULT_WRAPPER
        and block.get("isError") is True
        for block in wrappers
    )


def _flat_ending(data: JsonObject) -> JsonObject:
    reason = data.get("reason")
    if not isinstance(reason, dict) or not isinstance(reason.get("kind"), str):
        raise ShapeError("turn-end-reason", "reason is an object with a kind")
    detail = {**reason}
    flat: JsonObject = {"reason": detail.pop("kind")}
    if detail:
        flat["detail"] = detail
    return _joined("turn/end", {key: data[key] for key in data if key != "reason"}, flat)


def _wrapped_ending(data: JsonObject) -> JsonObject:
    rest = {**data}
    detail = rest.pop("detail", {})
    if not isinstance(detail, dict) or not isinstance(rest.get("reason"), str):
        raise ShapeError("turn-end-reason", "reason is a word and detail an object")
    return {**rest, "reason": {"kind": rest["reason"], **detail}}


def _split_header(data: JsonObject) -> JsonObject:
    header = data.get("header")
    if not isinstance(header, dict) or "system" not in header:
        return data
    rest = {**header}
    system = rest.pop("system")
    return _joined("request/header", {**data, "header": rest}, {"system": system})


def _joined_header(data: JsonObject) -> JsonObject:
    header = data.get("header")
    if not isinstance(header, dict) or "system" not in data:
        return data
    rest = {**data}
    system = rest.pop("system")
    return {**rest, "header": {**header, "system": system}}


def _renamed(data: JsonObject, names: dict[str, str], added: JsonObject) -> JsonObject:
    renamed: JsonObject = {new: data[old] for old, new in names.items() if old in data}
    rest = {key: data[key] for key in data if key not in names}
    return _joined("tool/call", rest, {**renamed, **added})


def _joined(word: str, kept: JsonObject, made: JsonObject) -> JsonObject:
    shared = kept.keys() & made.keys()
    if shared:
        raise ShapeError("key-collision", f"{word} has {', '.join(sorted(shared))} twice")
    return {**kept, **made}


def _object(word: str, value: JsonValue) -> JsonObject:
    if not isinstance(value, dict):
        raise ShapeError("event-data", f"the data or the message of {word} is not an object")
    return value
