"""The events that settle a call and an ask."""

import attrs

from actors.json import JsonObject, JsonValue
from actors.log.events import Draft
from actors.log.foreign import mend
from actors.session.call import CallOutcome, CallSpec


def foreign_draft(word: str, data: JsonObject) -> Draft:
    """Return a draft of text that a model or a tool made: unpaired surrogates are replaced, and counted.

    Source: K-36.
    """
    value, places = mend(data)
    return Draft(word, value | {"mended": places} if places else value)


def result_draft(outcome: CallOutcome, call: CallSpec) -> Draft:
    """Return the ``tool/result`` of a call; it cites the call's event (D-132)."""
    content: JsonValue = (
        list(outcome.content) if isinstance(outcome.content, list) else outcome.content
    )
    data: JsonObject = {"toolCallId": call.id, "content": content}
    if outcome.error is not None:
        data["error"] = outcome.error
    if outcome.meta is not None:
        data["meta"] = outcome.meta
    if outcome.overflow is not None:
        data["overflow"] = outcome.overflow
    data |= {"turn": call.turn, "step": call.step}
    return attrs.evolve(foreign_draft("tool/result", data), sources=(call.seq,))


def decided_draft(ask_id: str, decision: str, source: str, by: str | None = None) -> Draft:
    """Return the ``approval/decided`` of an ask (K-17)."""
    data: JsonObject = {"approvalId": ask_id, "decision": decision, "source": source}
    if by is not None:
        data["by"] = by
    return Draft("approval/decided", data)
