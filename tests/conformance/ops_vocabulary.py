"""Event types, message sources and message roles."""

from typing import Any

from actors.errors import GreenroomError
from actors.log.core_words import CORE_WORDS
from actors.log.roles import MessageRoles
from actors.log.sources import parse_source
from actors.log.vocabulary import Vocabulary


def event_catalog(_: dict[str, Any]) -> list[dict[str, str]]:
    return [
        {"type": w.type, "category": w.category, "owner": w.owner, "tier": w.tier}
        for w in CORE_WORDS
    ]


def register_event_type(given: dict[str, Any]) -> list[str]:
    vocabulary = Vocabulary()
    answers = []
    for step in given["steps"]:
        try:
            vocabulary.register(step["type"], owner=step.get("owner", "p"))
            answers.append("ok")
        except GreenroomError as error:
            answers.append(error.code)
    return answers


def register_role(given: dict[str, Any]) -> object:
    roles = MessageRoles()
    if "steps" in given:
        return [_registered(roles, role) for role in given["steps"]]
    for role in given["registered"]:
        roles.register(role)
    dispose = roles.register(given["role"])
    listed = roles.registered()
    dispose()
    dispose()
    return {"listed": listed, "afterDispose": roles.registered()}


def _registered(roles: MessageRoles, role: str) -> str:
    try:
        roles.register(role)
    except GreenroomError as error:
        return error.code
    return "ok"


def parse_event_source(given: dict[str, Any]) -> dict[str, Any]:
    source = parse_source(given["source"])
    return {"kind": source.kind, "raw": source.raw, "treatedAsUser": source.treated_as_user}


def event_source(given: dict[str, Any]) -> dict[str, Any]:
    source = parse_source(given["source"])
    return {"kind": source.kind, "treated_as_user": source.treated_as_user}


OPS = {
    "eventCatalog": event_catalog,
    "registerEventType": register_event_type,
    "registerMessageRole": register_role,
    "parseEventSource": parse_event_source,
    "event_source": event_source,
}
