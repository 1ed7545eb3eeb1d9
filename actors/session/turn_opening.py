"""The batch that opens a turn: the prompt, what was claimed, the messages, ``turn/start``.

Source: K-38, D-110..D-116.
"""

from collections.abc import Sequence

from actors.json import JsonObject
from actors.log.events import Draft
from actors.log.inbox import Splice
from actors.session.prompt_admission import admission_drafts
from actors.session.state import SessionState


def opening_drafts(
    session: SessionState, claimed: Sequence[Splice], messages: Sequence[JsonObject], number: int
) -> list[Draft]:
    """Return what is folded in one batch; a turn that a caller appended and left open is closed before."""
    unfinished = session.log.closers() if session.log.fold.open_turn else ()
    return [
        *unfinished,
        *_admission(session),
        *(Draft("agent/inbox/spliced", record.data()) for record in claimed),
        *(Draft("user/message", message) for message in messages),
        Draft("turn/start", {"turn": number}),
    ]


def _admission(session: SessionState) -> list[Draft]:
    prompt = session.agent.system
    if session.admitted == (prompt,):
        return []
    return admission_drafts(session.log.projection().messages, prompt)
