"""Sizes, cuts and snapshots of event data."""

from typing import Any

from actors.errors.log import EventDataError
from actors.log.budget import CONTENT_BYTES, budget_content, budget_text
from actors.log.codec import decode, encode
from actors.log.event_budget import budget_data
from actors.log.json_text import escaped_bytes, json_bytes, json_units


def budget_string(given: dict[str, Any]) -> dict[str, Any]:
    text = budget_text(given["text"], given.get("budget", CONTENT_BYTES))
    return {
        "text": text,
        "escapedBytes": escaped_bytes(text),
        "unchanged": text is given["text"],
    }


def json_size(given: dict[str, Any]) -> dict[str, Any]:
    value = given["value"]
    sizes = {"jsonBytes": json_bytes(value), "jsonUnits": json_units(value)}
    return {**sizes, "escapedBytes": escaped_bytes(value)} if isinstance(value, str) else sizes


def truncate_content(given: dict[str, Any]) -> dict[str, Any]:
    content = budget_content(given["content"], given.get("budget", CONTENT_BYTES))
    return {"content": content, "unchanged": content is given["content"]}


def apply_budget(given: dict[str, Any]) -> dict[str, Any]:
    data, truncated = budget_data(given["type"], given["data"])
    return {"data": data, "truncated": truncated, "dataKind": _kind(data)}


def _kind(value: object) -> str:
    kinds = {str: "string", bool: "boolean", int: "number", float: "number", list: "array"}
    return "null" if value is None else kinds.get(type(value), "object")


def snapshot(given: dict[str, Any]) -> object:
    return decode(encode(given["value"]))


def json_value(given: dict[str, Any]) -> dict[str, Any]:
    try:
        encode(given["value"])
    except EventDataError:
        return {"ok": False}
    return {"ok": True}


OPS = {
    "budgetString": budget_string,
    "jsonSize": json_size,
    "truncateContent": truncate_content,
    "applyBudget": apply_budget,
    "snapshotJson": snapshot,
    "json_value": json_value,
}
