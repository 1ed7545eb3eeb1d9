"""Appends and occlusions from outside: what a caller may write, and as what.

Source: K-23, design 4.
"""

from collections.abc import Sequence
from typing import Final

from actors.errors.session import EngineWordError, TurnOpenError
from actors.json import JsonObject
from actors.log.core_words import SURFACE_WORDS
from actors.log.events import Draft, Hide, Replace, SurfaceOp
from actors.log.log import Log
from actors.log.payload_views import check_payload
from actors.log.projection import Content
from actors.session.content import content_value
from actors.session.messages import Append

EVIDENCE: Final = frozenset(
    {
        "gate/decision",
        "approval/asked",
        "approval/decided",
        "agent/inbox/spliced",
        "session/end-seed",
        "session/closed",
        "session/reopened",
        "session/title",
        "child/started",
        "child/ended",
        "request/header",
        "request/context",
        "assistant/attempt",
        "llm/retry",
        "compaction/start",
        "compaction/end",
        "compaction/surface",
    }
)
"""Words that say what the engine did: nobody else may say so."""

OPEN_TURN: Final = SURFACE_WORDS | {"tool/call", "turn/start", "turn/end"}
"""Words that would break a turn that the engine runs."""


def append_draft(message: Append) -> Draft:
    """Return the draft of a caller's append.

    Raises:
        EngineWordError: it is evidence that only the engine writes.
        EventDataError: a field of a core word is missing or of another type (S-56).
    """
    if message.type in EVIDENCE:
        raise EngineWordError(message.type)
    check_payload(message.type, message.data)
    return Draft(message.type, message.data, message.op, message.sources, message.ignorable)


def check_open_turn(log: Log, drafts: Sequence[Draft]) -> None:
    """Check that nothing of what a caller writes would break the turn that the engine runs.

    Log-only words are taken at any time, and operations on what stands before the turn (S-92 FIX); what
    would stand in the turn, or reach into it, is not.

    Raises:
        TurnOpenError: it would break the turn.
    """
    for draft in drafts:
        if draft.op is None:
            breaks = draft.type in OPEN_TURN
        else:
            breaks = _last_reached(log, draft.op) > log.fold.last_turn_end
        if breaks:
            raise TurnOpenError(draft.type)


def _last_reached(log: Log, op: SurfaceOp) -> int:
    if isinstance(op, Hide):
        return op.end_seq
    return max(log.fold.between(op.start_seq, op.end_seq), default=op.end_seq)


def occlusion_draft(log: Log, start: int, end: int, summary: Content | None) -> Draft:
    """Return the draft that hides the closed interval of seqs, or puts a summary in its place.

    With a summary ``start`` and ``end`` are nodes and the range is one of positions (D-41); without,
    every node whose seq lies in the interval leaves the surface.
    """
    if summary is None:
        return Draft("compaction/surface", {}, op=Hide(start, end))
    data: JsonObject = {"content": content_value(summary), "source": "compaction"}
    return Draft(
        "user/message",
        data,
        op=Replace(start, end),
        sources=log.fold.between(start, end) or None,
    )
