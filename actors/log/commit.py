"""One event at a time into the state: a live draft through every gate, a stored event through the structural ones.

Source: S-11, S-14, D-49, D-150, K-30, K-34.
"""

from collections.abc import Iterable
from typing import Final

import orjson

from actors.errors.log import SurfaceOpError
from actors.json import JsonObject, JsonValue
from actors.log.blobs import BLOB_MARK
from actors.log.budget import ERROR_TEXT_BYTES
from actors.log.codec import encode
from actors.log.content_gate import check_calls, check_content
from actors.log.core_words import CORE_TYPES, CORE_WORDS, SURFACE_WORDS
from actors.log.envelope_gate import check_envelope, check_known
from actors.log.event_budget import fit
from actors.log.events import Draft, Event, Hide, OpenEvent, Replace
from actors.log.hide_gate import check_hide, check_hide_structure
from actors.log.live_gate import LIVE_CHECKS
from actors.log.message_projection_step import commit, projected_contents
from actors.log.message_steps import hide
from actors.log.replace_gate import check_replace
from actors.log.state import State
from actors.log.steps import STEPS
from actors.log.stored import StoredEvents

_NO_FIELDS: Final[JsonObject] = {}
_CHANGES: Final = (b'"tool-', b'"headerSeq"')
_MARKS: Final[dict[str, tuple[bytes, ...]]] = {
    **{word: _CHANGES for word in SURFACE_WORDS if word != "tool/result"},
    "user/message": (*_CHANGES, b'"id"', b'"dedupeKey"'),
    **{word.type: () for word in CORE_WORDS if word.type not in STEPS},
    **dict.fromkeys(("turn/end", "request/header", "request/context", "compaction/start"), ()),
    **dict.fromkeys(("session/closed", "session/reopened"), ()),
    "compaction/end": (b'"ccrHash"',),
    "agent/inbox/spliced": (),
}
"""The words of which only data with one of these marks in its JSON text says something to the fold; the
queue reads its records itself."""


def encode_draft(state: State, draft: Draft) -> bytes:
    """Return the JSON text of a draft's data; a large tool result or error text is cut, with a marker.

    Raises:
        UnknownEventTypeError: its type is not registered; looked at before everything else (K-34).
        EventDataError: it is not plain JSON.
        OverBudgetError: a message or the arguments of a call are over 1 MiB (K-4).
    """
    if draft.type not in CORE_TYPES:
        state.vocabulary.check(draft.type)
    body = encode(draft.data)
    return body if len(body) <= ERROR_TEXT_BYTES else fit(draft.type, body).body


def append_draft(state: State, draft: Draft, body: bytes, time_ms: int) -> Event:
    """Append one draft, whose text is ``body``. Every append passes here: it is written to be short.

    Raises:
        SurfaceOpError: it does not fit, and nothing changed.
        RequestHeaderError: a header is not in its canonical form, and nothing changed.
        InboxSpliceError: a queue record does not fit, and nothing changed.
        DuplicateInputError: it queues a message that waits already, and nothing changed.
    """
    word, data, op, sources = draft.type, draft.data, draft.op, draft.sources
    fields = data if type(data) is dict else _NO_FIELDS
    if op is not None or sources is not None:
        _check_operation(state, draft)
    if op is None and word in LIVE_CHECKS:
        LIVE_CHECKS[word](state, fields)
    if b'"tool-' in body or b'"headerSeq"' in body:
        check_content(state, word, fields)
        check_calls(fields)
    stored = state.events
    time = time_ms if draft.time_ms is None else draft.time_ms
    event: Event = OpenEvent(stored.next_seq, time, word, body, op, sources, draft.ignorable)
    event.__class__ = Event
    if word in STEPS:
        STEPS[word](state, event, fields)
    else:
        _project(state, event)
    if op is not None and type(op) is Hide:
        hide(state, event, op)
    if BLOB_MARK in body:
        state.put_away = event.seq
    stored.append(event)
    return event


def replay(state: State, events: Iterable[Event]) -> None:
    """Append stored events; only what the fold rests on is checked (K-30).

    Raises:
        SurfaceOpError: ``seq-gap``, or an operation that has no meaning on the surface it finds.
        UnknownEventTypeError: a type is unknown and not marked ignorable (D-140).
        InboxSpliceError: a queue record does not fit.
    """
    stored = state.events
    for event in events:
        if event.seq != stored.next_seq:
            raise SurfaceOpError("seq-gap", f"{event.seq} stands where {stored.next_seq} is due")
        if event.type not in CORE_TYPES:
            check_known(state, event.type, ignorable=event.ignorable)
        _replay_known(state, event)


def refold(state: State, stop: int, before: State | None) -> State:
    """Return the state of the events below ``stop``, whatever words were taken back since.

    Args:
        state: a later one.
        stop: how far to fold.
        before: an earlier state of the same log to start from, when it is not beyond ``stop``.
    """
    if before is not None and before.events.next_seq <= stop:
        anew = before.fork()
    else:
        anew = State(state.vocabulary, state.projections, StoredEvents(state.events.base))
    for event in state.events.between(anew.events.next_seq, stop):
        _replay_known(anew, event)
    return anew


def _replay_known(state: State, event: Event) -> None:
    word, body = event.type, event.body
    fields = _needed_fields(word, body)
    if event.op is not None or event.sources is not None:
        _check_structure(state, event)
    if fields and (b'"tool-' in body or b'"headerSeq"' in body):
        check_content(state, word, fields)
    if word in STEPS:
        STEPS[word](state, event, fields)
    else:
        _project(state, event)
    if type(event.op) is Hide:
        hide(state, event, event.op)
    if BLOB_MARK in body:
        state.put_away = event.seq
    state.events.append(event)


def _needed_fields(word: str, body: bytes) -> JsonObject:
    """Return the data of a stored event, or nothing where folding it looks at nothing of it."""
    marks = _MARKS.get(word)
    if marks is not None:
        for mark in marks:
            if mark in body:
                break
        else:
            return _NO_FIELDS
    return _fields(body)


def _fields(body: bytes) -> JsonObject:
    data: JsonValue = orjson.loads(body)
    return data if type(data) is dict else _NO_FIELDS


def _check_operation(state: State, draft: Draft) -> None:
    op = draft.op
    check_envelope(state, draft.type, op, draft.sources)
    if isinstance(op, Replace):
        check_replace(state, draft.type, draft.data, op, draft.sources)
    elif op is not None:
        check_hide(state, draft.type, draft.data, op, draft.sources)


def _check_structure(state: State, event: Event) -> None:
    if state.vocabulary.knows(event.type):
        check_envelope(state, event.type, event.op, event.sources)
    if isinstance(event.op, Hide):
        check_hide_structure(state, event.op, event.sources)
    elif isinstance(event.op, Replace) and state.vocabulary.is_surface(event.type):
        check_replace(state, event.type, event.data(), event.op, event.sources, live=False)


def _project(state: State, event: Event) -> None:
    """Let a message projection do its work; the other words without a step change nothing."""
    if state.vocabulary.is_projection(event.type):
        commit(state, event.type, projected_contents(state, event))
