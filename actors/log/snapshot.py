"""A snapshot of the fold as bytes: what a log amounts to, with the events that are visible or open.

A log that begins with one holds no other event below the snapshot: what was hidden costs nothing. It is a
cache. Bytes that are not exactly what this version wrote for this session, at this length, under this
vocabulary, are refused, and the log is folded from its events.

Shape: ``GRNSNAP1``, the digest of all that follows, the length of each section, then the sections: the
binding (JSON), the state (JSON), the columns of the events (JSON), their bodies one behind the other, and
three tables of names (JSON).

Source: design 7, P2, P10.
"""

from hashlib import blake2b
from itertools import accumulate, pairwise
from struct import Struct
from typing import Any, Final, TypeAlias, cast

import attrs
import orjson

from actors.log.calls import Call
from actors.log.events import Event, Hide, OpenEvent, Replace
from actors.log.message_projections import Projections
from actors.log.names import Names
from actors.log.snapshot_state import fill_state, needed_seqs, state_to_json
from actors.log.state import State
from actors.log.steps import LASTING, STEPS
from actors.log.stored import StoredEvents
from actors.log.surface import Node
from actors.log.vocabulary import Vocabulary

VERSION: Final = 3
"""Raise it when the same events fold to another state than before, or the sections mean something else."""

_MAGIC: Final = b"GRNSNAP1"
_DIGEST_BYTES: Final = 16
_LENGTHS: Final = Struct("<7Q")
_BEGIN: Final = len(_MAGIC) + _DIGEST_BYTES
_FIELDS: Final = [[field.name for field in attrs.fields(cls)] for cls in (State, Node, Call, Event)]
_SHAPE: Final = blake2b(
    repr((_FIELDS, sorted(STEPS), sorted(LASTING))).encode(), digest_size=_DIGEST_BYTES
).hexdigest()
"""A field or a word with a meaning more or less is another version, also when nobody thought of raising it."""
_Marks: TypeAlias = tuple[Replace | Hide | None, tuple[int, ...] | None, bool]
_NO_MARKS: Final[_Marks] = (None, None, False)
_OPS: Final[dict[str, type[Replace] | type[Hide]]] = {"replace": Replace, "hide": Hide}


def encode_snapshot(state: State, session_id: str) -> bytes:
    """Return the snapshot of a state; it costs what is visible and open, and the names of calls and messages.

    ``session_id`` names the session whose log it is; its events begin at 0.
    """
    events = [state.events.at(seq) for seq in needed_seqs(state)]
    sections = (
        _binding(session_id, state.events.next_seq, state.vocabulary),
        orjson.dumps(state_to_json(state)),
        orjson.dumps(_columns(events)),
        b"".join([event.body for event in events]),
        state.call_ids.pack(),
        state.dedupe.pack(),
        state.ask_ids.pack(),
    )
    rest = b"".join((_LENGTHS.pack(*map(len, sections)), *sections))
    return b"".join((_MAGIC, _digest(rest), rest))


def decode_snapshot(
    body: bytes, session_id: str, seq: int, vocabulary: Vocabulary, projections: Projections
) -> State | None:
    """Return the state after the first ``seq`` events of the session; None when the bytes do not tell it."""
    rest = body[_BEGIN:]
    if body[:_BEGIN] != _MAGIC + _digest(rest):
        return None
    begin = _LENGTHS.size
    ends = accumulate(_LENGTHS.unpack_from(rest), initial=begin)
    binding, told, columns, bodies, *names = [rest[a:b] for a, b in pairwise(ends)]
    if binding != _binding(session_id, seq, vocabulary):
        return None
    saved = orjson.loads(told)
    if any(projections.find(word) is None for word in saved["used_projections"]):
        return None
    early = _events(orjson.loads(columns), bodies)
    state = State(vocabulary, projections, StoredEvents(floor=seq, early=early))
    state.call_ids, state.dedupe, state.ask_ids = [Names.unpack(text, seq) for text in names]
    fill_state(state, saved)
    return state


def _digest(content: bytes) -> bytes:
    return blake2b(content, digest_size=_DIGEST_BYTES).digest()


def _binding(session_id: str, seq: int, vocabulary: Vocabulary) -> bytes:
    """Return what a snapshot must have been made for to be believed."""
    bound = {
        "version": VERSION,
        "shape": _SHAPE,
        "session": session_id,
        "seq": seq,
        "words": vocabulary.fingerprint(),
    }
    return orjson.dumps(bound)


def _columns(events: list[Event]) -> dict[str, Any]:
    words = {event.type: 0 for event in events}
    places = {word: place for place, word in enumerate(words)}
    return {
        "seqs": [event.seq for event in events],
        "times": [event.time_ms for event in events],
        "words": list(words),
        "types": [places[event.type] for event in events],
        "sizes": [len(event.body) for event in events],
        "marks": {str(event.seq): _marks(event) for event in events if _is_marked(event)},
    }


def _events(columns: dict[str, Any], bodies: bytes) -> dict[int, Event]:
    words = columns["words"]
    ends = pairwise(accumulate(columns["sizes"], initial=0))
    rows = zip(columns["seqs"], columns["times"], columns["types"], ends, strict=True)
    marks = {int(seq): _read_marks(told) for seq, told in columns["marks"].items()}
    events: dict[int, Event] = {}
    for seq, time_ms, word, (begin, end) in rows:
        rare = marks.get(seq, _NO_MARKS)
        event = OpenEvent(seq, time_ms, words[word], bodies[begin:end], *rare)
        event.__class__ = Event
        events[seq] = cast("Event", event)
    return events


def _is_marked(event: Event) -> bool:
    return event.op is not None or event.sources is not None or event.ignorable


def _marks(event: Event) -> list[Any]:
    op = event.op
    word = "replace" if isinstance(op, Replace) else "hide"
    told = None if op is None else [word, op.start_seq, op.end_seq]
    return [told, event.sources, event.ignorable]


def _read_marks(marks: list[Any]) -> _Marks:
    told, sources, ignorable = marks
    op = None if told is None else _OPS[told[0]](*told[1:])
    return op, None if sources is None else tuple(sources), ignorable
