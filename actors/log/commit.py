"""One event at a time into the state: a live draft through every gate, a stored event through the structural ones.

Source: S-11, S-14, D-49, D-150, K-30, K-34.
"""

import orjson

from actors.errors.log import OverBudgetError, SurfaceOpError
from actors.json import JsonValue
from actors.log.codec import encode
from actors.log.content_gate import check_content
from actors.log.envelope_gate import check_envelope, check_known
from actors.log.event_budget import MESSAGE_BYTES
from actors.log.events import Draft, Event, Hide, Replace
from actors.log.hide_gate import check_hide, check_hide_structure
from actors.log.live_gate import check_live
from actors.log.projection_step import commit, projected_contents
from actors.log.replace_gate import check_replace
from actors.log.request_header import check_header_event
from actors.log.state import State
from actors.log.steps import apply, reads_data
from actors.log.stored import StoredEvents


def encode_draft(draft: Draft) -> bytes:
    """Return the JSON text of a draft's data.

    Raises:
        EventDataError: it is not plain JSON.
        OverBudgetError: it is over 1 MiB (K-4).
    """
    body = encode(draft.data)
    if len(body) > MESSAGE_BYTES:
        raise OverBudgetError("data", len(body), MESSAGE_BYTES)
    return body


def append_draft(state: State, draft: Draft, body: bytes, time_ms: int) -> Event:
    """Append one draft, whose type is known and whose text is ``body``.

    Raises:
        SurfaceOpError: it does not fit, and nothing changed.
        RequestHeaderError: a header is not in its canonical form, and nothing changed.
        InboxSpliceError: a queue record does not fit, and nothing changed.
        DuplicateInputError: it queues a message that waits already, and nothing changed.
    """
    op, sources = draft.op, draft.sources
    if op is not None or sources is not None:
        check_envelope(state, draft.type, op, sources)
        if isinstance(op, Replace):
            check_replace(state, draft.type, draft.data, op, sources)
        elif isinstance(op, Hide):
            check_hide(state, draft.type, draft.data, op, sources)
    if draft.type == "request/header":
        check_header_event(draft.type, draft.data)
    check_content(state, draft.type, draft.data)
    check_live(state, draft.type, draft.data, op)
    time = time_ms if draft.time_ms is None else draft.time_ms
    event = Event(state.events.next_seq, time, draft.type, body, op, sources, draft.ignorable)
    _commit(state, event, draft.data)
    return event


def replay(state: State, event: Event) -> None:
    """Append a stored event; only what the fold rests on is checked (K-30).

    Raises:
        SurfaceOpError: its operation has no meaning on the surface it finds.
        UnknownEventTypeError: its type is unknown and not marked ignorable (D-140).
        InboxSpliceError: a queue record does not fit.
    """
    if event.seq != state.events.next_seq:
        raise SurfaceOpError("seq-gap", f"{event.seq} stands where {state.events.next_seq} is due")
    check_known(state, event.type, ignorable=event.ignorable)
    _replay_known(state, event)


def _replay_known(state: State, event: Event) -> None:
    data = orjson.loads(event.body) if reads_data(event.type) else None
    if event.op is not None or event.sources is not None:
        if state.vocabulary.knows(event.type):
            check_envelope(state, event.type, event.op, event.sources)
        if isinstance(event.op, Hide):
            check_hide_structure(state, event.op, event.sources)
        elif isinstance(event.op, Replace) and state.vocabulary.is_surface(event.type):
            check_replace(state, event.type, data, event.op, event.sources, live=False)
    check_content(state, event.type, data)
    _commit(state, event, data)


def _commit(state: State, event: Event, data: JsonValue) -> None:
    contents = (
        projected_contents(state, event) if state.vocabulary.is_projection(event.type) else None
    )
    apply(state, event, data)
    state.events.append(event)
    if contents is not None:
        commit(state, event.type, contents)


def refold(state: State, stop: int) -> State:
    """Return the state of the events below ``stop``, whatever words were taken back since."""
    anew = State(state.vocabulary, state.projections, StoredEvents(state.events.base))
    for event in state.events.between(state.events.base, stop):
        _replay_known(anew, event)
    return anew
