"""The end of a turn: what it left open is closed, and ``turn/end`` is written, in one batch.

Source: P5, S-13 and S-09 of the scenarios, D-271, D-272, K-9.
"""

from actors.json import JsonObject
from actors.log.events import Draft
from actors.rules.interrupt import CallFate, Ending
from actors.session.call import CallSpec, closed
from actors.session.drafts import decided_draft, result_draft
from actors.session.state import SessionState


def closing_drafts(
    session: SessionState,
    number: int,
    step: int,
    end: Ending,
) -> list[Draft]:
    """Return the batch that ends the turn ``number``.

    Open asks are withdrawn; every call without a result gets one; the end says why.
    """
    fold = session.log.fold
    drafts = [decided_draft(ask_id, "cancel", "interrupt") for ask_id in fold.open_asks]
    for call in fold.open_calls.values():
        fate: CallFate = "straggler" if call.decision == "allow" else "not-started"
        spec = CallSpec(
            id=call.tool_call_id,
            made_as=call.tool_call_id,
            name=call.name,
            arguments="",
            seq=call.seq,
            turn=number,
            step=step,
        )
        drafts.append(result_draft(closed(fate), spec))
    drafts.append(Draft("turn/end", _end_data(number, end)))
    return drafts


def _end_data(number: int, end: Ending) -> JsonObject:
    data: JsonObject = {"turn": number, "reason": end.reason}
    if end.cause is not None:
        data["cause"] = end.cause
    if end.error is not None:
        data["detail"] = {"error": end.error}
    return data
