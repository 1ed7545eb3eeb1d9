"""What every request of a session is made with: configuration and tools.

Shape: ``{"config": {"provider", "model", "reasoningEffort"?, "temperature"?, "maxTokens"?, "stop"?, ...},
"adapterDefaults"?: {"reasoningEffort"?: true, "maxTokens"?: true}, "tools"?: [...]}``. The system prompt
is no part of it: it is a node of the surface.

Source: D-90..D-99, K-11, K-35.
"""

from collections.abc import Iterable
from typing import Any, Final, Literal, TypeAlias, TypeGuard

import attrs

from actors.errors.log import RequestHeaderError
from actors.json import JsonObject, JsonValue
from actors.log.events import Event
from actors.log.json_equality import json_equal
from actors.log.json_text import json_text

HeaderReason: TypeAlias = Literal["initial", "resume", "change", "series"]

_DEFAULTED: Final = ("reasoningEffort", "maxTokens")


@attrs.frozen
class HeaderSnapshot:
    """Why a header is logged before a request."""

    reason: HeaderReason
    starts_series: bool = False

    def data(self, header: JsonObject) -> JsonObject:
        """Return the data of the ``request/header`` event."""
        data: JsonObject = {"header": header, "reason": self.reason}
        return data | {"startsSeries": True} if self.starts_series else data


def canonical(header: JsonObject) -> JsonObject:
    """Return a header that somebody built in its one form; only its writer uses this.

    Empty ``tools`` go, and defaults without a true mark or without a value in ``config``.

    Source: D-91, D-94.
    """
    config, tools = header.get("config"), header.get("tools")
    marks = header.get("adapterDefaults")
    made: JsonObject = {"config": config}
    if isinstance(marks, dict) and isinstance(config, dict):
        kept: JsonObject = {k: True for k in _DEFAULTED if marks.get(k) is True and k in config}
        made |= {"adapterDefaults": kept} if kept else {}
    return made | {"tools": tools} if tools else made


def check_header(header: object) -> JsonObject:
    """Return ``header`` when it is in its one form; nothing is repaired.

    Raises:
        RequestHeaderError: ``header-noncanonical``, ``header-config``, ``header-effort`` or
            ``header-adapter-defaults``.

    Source: D-91..D-93.
    """
    if not isinstance(header, dict):
        raise RequestHeaderError("header-noncanonical", "it must be an object")
    if "system" in header or header.get("tools", [0]) == [] or header.get("adapterDefaults") == {}:
        detail = "leave system, empty tools and empty adapterDefaults out"
        raise RequestHeaderError("header-noncanonical", detail)
    config = header.get("config")
    if not isinstance(config, dict) or not _has_config(config):
        detail = "config needs provider and model, and plain values"
        raise RequestHeaderError("header-config", detail)
    if "reasoningEffort" in config and not _is_name(config["reasoningEffort"]):
        raise RequestHeaderError("header-effort", "reasoningEffort must be text")
    if not _marks_fit(header.get("adapterDefaults"), config):
        detail = "a mark is true and belongs to a reasoningEffort or maxTokens of config"
        raise RequestHeaderError("header-adapter-defaults", detail)
    return header


def check_header_event(word: str, data: JsonValue) -> None:
    """Check the data of a ``request/header`` event; other words pass.

    Raises:
        RequestHeaderError: as :func:`check_header`; ``legacy-header-delta`` or
            ``legacy-header-fallback`` for what older logs had.

    Source: D-91, D-99.
    """
    if word == "request/header-delta":
        raise RequestHeaderError("legacy-header-delta", "only whole headers are read")
    if word == "request/header":
        fields = data if isinstance(data, dict) else {}
        if fields.get("reason") == "fallback":
            raise RequestHeaderError(
                "legacy-header-fallback", "only the header that was used counts"
            )
        check_header(fields.get("header"))


def headers_equal(one: JsonObject, other: JsonObject) -> bool:
    """Return whether two canonical headers lead to the same requests.

    Every value of ``config`` counts, an absent ``stop`` differs from an empty one, and tools compare by
    their text, so that another order of keys is a change (other bytes go to the provider).

    Source: D-95, P1 (which is why unknown keys of ``config`` count too).
    """
    return (
        json_equal(one.get("config"), other.get("config"))
        and json_equal(one.get("adapterDefaults"), other.get("adapterDefaults"))
        and _tool_texts(one) == _tool_texts(other)
    )


def fold_header(events: Iterable[Event], start: JsonObject | None = None) -> JsonObject | None:
    """Return the header in force after ``events``: that of the last ``request/header``, else ``start``.

    Source: D-96.
    """
    header = start
    for event in events:
        if event.type == "request/header":
            header = header_of(event.data())
    return header


def header_of(data: JsonValue) -> JsonObject:
    """Return the canonical header in the data of a ``request/header`` event."""
    found = data.get("header") if isinstance(data, dict) else None
    return canonical(found) if isinstance(found, dict) else {}


def header_snapshot(
    baseline: JsonObject | None,
    header: JsonObject,
    *,
    first_request: bool,
    starts_series: bool = False,
    follows_replacement: bool = False,
) -> HeaderSnapshot | None:
    """Return why ``header`` must be logged before the next request, or None.

    Args:
        baseline: the header in force, if the log has one.
        header: the canonical header of the next request.
        first_request: whether this loop has made no request yet.
        starts_series: whether the request starts a series of messages.
        follows_replacement: whether the surface was changed since the last request.

    Source: D-97, D-98.
    """
    if baseline is None:
        return HeaderSnapshot("initial")
    if first_request:
        return HeaderSnapshot("resume")
    begins = starts_series or follows_replacement
    if not headers_equal(baseline, header):
        return HeaderSnapshot("change", begins)
    return HeaderSnapshot("series") if begins else None


def _has_config(config: JsonObject) -> bool:
    stop = config.get("stop", [])
    return (
        _is_name(config.get("provider"))
        and _is_name(config.get("model"))
        and all(_is_number(config[key]) for key in ("temperature", "maxTokens") if key in config)
        and isinstance(stop, list)
        and all(isinstance(word, str) for word in stop)
    )


def _marks_fit(marks: JsonValue, config: JsonObject) -> bool:
    return marks is None or (
        isinstance(marks, dict)
        and all(k in _DEFAULTED and v is True and k in config for k, v in marks.items())
    )


def _tool_texts(header: JsonObject) -> list[str]:
    tools = header.get("tools", [])
    return [json_text(tool) for tool in tools] if isinstance(tools, list) else [json_text(tools)]


def _is_name(value: Any) -> TypeGuard[str]:  # noqa: ANN401 - any JSON value
    return isinstance(value, str) and value != ""


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
