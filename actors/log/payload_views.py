"""The one converter between the data of core events and their typed views.

Reading is strict about types (no text becomes a number), so a view is also the schema check of its word.

Source: K-1, K-29, S-56.
"""

from collections.abc import Callable, Mapping
from functools import partial
from operator import eq
from types import MappingProxyType
from typing import Any, Final

import attrs
from cattrs import Converter
from cattrs.errors import CattrsError
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override

from actors.errors.log import EventDataError
from actors.json import JsonObject, JsonValue
from actors.log import payloads
from actors.log import state_payloads as state
from actors.log.events import Draft
from actors.log.payloads import Content, Payload

PAYLOADS: Final[Mapping[str, type[Payload]]] = MappingProxyType(
    {
        "turn/start": payloads.TurnStarted,
        "turn/end": payloads.TurnEnded,
        "system/message": payloads.SystemMessageAdded,
        "developer/message": payloads.DeveloperMessageAdded,
        "user/message": payloads.UserMessageAdded,
        "assistant/message": payloads.AssistantMessageAdded,
        "assistant/attempt": payloads.AttemptFailed,
        "tool/call": payloads.ToolCalled,
        "tool/result": payloads.ToolReturned,
        "request/header": payloads.HeaderLogged,
        "request/context": payloads.ContextLogged,
        "gate/decision": payloads.GateDecided,
        "approval/asked": payloads.ApprovalAsked,
        "approval/decided": payloads.ApprovalDecided,
        "agent/inbox/spliced": payloads.InputSpliced,
        "compaction/start": payloads.CompactionStarted,
        "compaction/end": payloads.CompactionEnded,
        "llm/retry": payloads.RetryLogged,
        "session/title": payloads.Titled,
        "image/offload": payloads.ImagesOffloaded,
        "todo/write": state.TodoWritten,
        "session/end-seed": state.SeedEnded,
        "agent/inbox/hold": state.InputHeld,
        "child/started": state.ChildStarted,
        "child/ended": state.ChildEnded,
        "session/closed": state.SessionClosed,
        "session/reopened": state.SessionReopened,
        "session/paused": state.SessionPaused,
        "sandbox/mode": state.SandboxModeSet,
        "session/thinking-level": state.ThinkingLevelSet,
        "llm/usage": state.TokensUsed,
        "compaction/surface": state.NodesHidden,
        "compaction/fallback": state.SummarizerFailed,
        "compaction/skip": state.CompactionSkipped,
        "plugin/installed": state.PluginInstalled,
        "plugin/uninstalled": state.PluginUninstalled,
        "plugin/mounted": state.PluginMounted,
        "plugin/unmounted": state.PluginUnmounted,
        "plugin/toggled": state.PluginToggled,
        "plugin/updated": state.PluginUpdated,
        "plugin/opens": state.PluginOpens,
        "doors/updated": state.DoorsUpdated,
        "capability/used": state.CapabilityUsed,
        "hook/registered": state.HookRegistered,
        "kv/written": state.ValueWritten,
        "preset/applied": state.PresetApplied,
        "credentials/changed": state.CredentialsChanged,
    }
)
"""The view of every core word."""

_WORDS: Final = {kind: word for word, kind in PAYLOADS.items()}


def view(word: str, data: JsonValue) -> Payload | None:
    """Return the typed view of the data of an event of type ``word``; None when the word has none.

    Raises:
        EventDataError: a field is missing or of another type; the path names the first one.
    """
    kind = PAYLOADS.get(word)
    if kind is None:
        return None
    if not isinstance(data, dict):
        raise EventDataError("data", "it must be an object")
    try:
        found: Payload = _STRUCTURE[word](data, kind)
    except _MISFITS:
        raise _fault(kind, data) from None
    return found


def check_payload(word: str, data: JsonValue) -> None:
    """Check the data of a core event against the schema of its word; other words pass.

    Raises:
        EventDataError: a field is missing or of another type.
    """
    view(word, data)


def draft_of(payload: Payload) -> Draft:
    """Return the draft of an event with this payload; fields that are None are left out."""
    data: JsonObject = _converter.unstructure(payload)
    return Draft(_WORDS[type(payload)], data)


class _MisfitError(Exception):
    """A value has another type than its field; stays inside this module."""


_MISFITS: Final = (_MisfitError, CattrsError, KeyError, TypeError, ValueError)


def _fault(kind: type[Payload], data: JsonObject) -> EventDataError:
    for field in attrs.fields(kind):
        key = _wire_name(field.name)
        if key not in data:
            if field.default is attrs.NOTHING:
                return EventDataError(f"data.{key}", "it is missing")
            continue
        try:
            _converter.structure(data[key], field.type)
        except _MISFITS as misfit:
            return EventDataError(f"data.{key}", str(misfit) or f"it is no {field.type}")
    return EventDataError("data", f"it is no {kind.__name__}")


def _wire_name(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.title() for part in rest)


def _exactly(*kinds: type) -> Callable[[Any, Any], Any]:
    names = " or ".join(kind.__name__ for kind in kinds)

    def take(value: Any, _: Any) -> Any:  # noqa: ANN401 - any JSON value
        if type(value) not in kinds:
            raise _MisfitError(f"{type(value).__name__} stands where {names} is due")
        return value

    return take


def _exactly_or_none(kind: type) -> Callable[[Any, Any], Any]:
    """As the converter's own way with ``kind | None``, in a third of the time."""
    take = _exactly(kind)

    def take_or_none(value: Any, _: Any) -> Any:  # noqa: ANN401 - any JSON value
        return value if value is None or type(value) is kind else take(value, _)

    return take_or_none


def _content(value: Any, _: Any) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, str):
        return value
    if not isinstance(value, list) or not all(map(_is_block, value)):
        raise _MisfitError("content must be text or a list of blocks with a type")
    return value


def _is_block(block: object) -> bool:
    return isinstance(block, dict) and isinstance(block.get("type"), str)


def _objects(value: Any, _: Any) -> Any:  # noqa: ANN401 - any JSON value
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise _MisfitError("it must be a list of objects")
    return value


def _made() -> Converter:
    made = Converter(detailed_validation=False)
    for scalar in (str, int, bool):
        made.register_structure_hook(scalar, _exactly(scalar))
        made.register_structure_hook_func(partial(eq, scalar | None), _exactly_or_none(scalar))
    made.register_structure_hook(float, _exactly(int, float))
    made.register_structure_hook_func(lambda t: t == Content, _content)
    made.register_structure_hook_func(lambda t: t == dict[str, Any], _exactly(dict))
    made.register_structure_hook_func(lambda t: t == list[Any], _exactly(list))
    made.register_structure_hook_func(lambda t: t == list[dict[str, Any]], _objects)
    for kind in PAYLOADS.values():
        names: dict[str, Any] = {
            field.name: override(rename=_wire_name(field.name)) for field in attrs.fields(kind)
        }
        made.register_structure_hook(kind, make_dict_structure_fn(kind, made, **names))
        names["_cattrs_omit_if_default"] = True
        made.register_unstructure_hook(kind, make_dict_unstructure_fn(kind, made, **names))
    return made


_converter: Final = _made()
_STRUCTURE: Final = {word: _converter.get_structure_hook(kind) for word, kind in PAYLOADS.items()}
"""Looked up once: the converter's own search is a fifth of a check."""
