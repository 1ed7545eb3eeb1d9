"""What answers look like: the records that are sent, and the shapes of those frames that are answers. Pure.

Units: names in ``_at`` are milliseconds since 1970.
"""

from collections.abc import Sequence
from typing import Literal

import attrs

from actors.json import JsonObject, JsonValue
from actors.log.project import message_to_wire
from actors.log.projection import Projection
from actors.ports.store import SessionRow


@attrs.frozen
class ForkPoint:
    """A fork reads the first ``cut`` events of ``source``."""

    source: str
    cut: int


@attrs.frozen(kw_only=True)
class SessionInfo:
    """What is stored about a session; ``events`` counts inherited ones too, ``damage`` says why they cannot be read."""

    id: str
    agent: str
    origin: str
    events: int
    created_at: int
    last_activity_at: int
    title: str | None = None
    parent: str | None = None
    forked_from: ForkPoint | None = None
    damage: str | None = None


@attrs.frozen
class SessionInfos:
    """Some sessions."""

    sessions: Sequence[SessionInfo]


@attrs.frozen
class SessionMade:
    """A session that was made; durable."""

    id: str


@attrs.frozen(kw_only=True)
class ProjectionShown:
    """The messages that a model sees now; ``nextSeq`` is the length of the log."""

    messages: Sequence[JsonObject]
    next_seq: int


@attrs.frozen(kw_only=True)
class Appended:
    """The event that was appended."""

    seq: int
    type: str


@attrs.frozen(kw_only=True)
class Kept:
    """Content that a session holds; ``block`` stands in the content of a message that names it."""

    digest: str
    size_bytes: int
    media_type: str
    block: JsonObject
    name: str | None = None


@attrs.frozen(kw_only=True)
class Ack:
    """What became of a prompt; ``routedChannel`` is absent for a duplicate."""

    kind: Literal["ack"]
    session_id: str
    message_id: str
    duplicate: bool
    high_water_seq: int
    routed_channel: Literal["steer", "followUp"] | None = None


@attrs.frozen(kw_only=True)
class DecideResult:
    """What became of an answer; with ``features=winner`` also what settled the ask."""

    kind: Literal["decide-result"]
    approval_id: str
    outcome: Literal["applied", "superseded"]
    decision: str | None = None
    source: str | None = None
    by: str | None = None


@attrs.frozen(kw_only=True)
class Entry:
    """One stored event."""

    seq: int
    time: int
    type: str
    data: JsonValue
    ignorable: bool | None = None
    surface_op: JsonObject | None = None
    source_event_seqs: Sequence[int] | None = None


@attrs.frozen(kw_only=True)
class Entries:
    """A page of stored events; with ``nextCursor`` there are more."""

    kind: Literal["entries"]
    session_id: str
    entries: Sequence[Entry]
    next_cursor: str | None = None


@attrs.frozen(kw_only=True)
class SessionLine:
    """A session in the list of all."""

    id: str
    title: str | None
    last_activity_at: int


@attrs.frozen(kw_only=True)
class SessionList:
    """All sessions."""

    kind: Literal["sessions"]
    sessions: Sequence[SessionLine]


@attrs.frozen(kw_only=True)
class Refusal:
    """What was refused, and by which code."""

    kind: Literal["error"]
    code: str
    message: str


def session_info(row: SessionRow) -> SessionInfo:
    """Return what is told of a stored session."""
    record = row.record
    lineage = record.lineage
    return SessionInfo(
        id=record.id,
        agent=record.agent,
        origin=record.origin,
        events=row.length,
        created_at=record.created_ms,
        last_activity_at=row.updated_ms,
        title=record.title,
        parent=record.parent,
        forked_from=None if lineage is None else ForkPoint(lineage.source, lineage.cut),
        damage=row.damage,
    )


def projection_shown(projection: Projection) -> ProjectionShown:
    """Return the messages as JSON."""
    messages = [message_to_wire(message) for message in projection.messages]
    return ProjectionShown(messages=messages, next_seq=projection.next_seq)
