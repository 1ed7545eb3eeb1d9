"""What a log amounts to, in figures: enough to compare two readers of the same file.

Source: D-50, D-190..D-193, S-110, K-37.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from actors.json import JsonObject, JsonValue
from actors.log.consumed_work import consumed_work
from actors.log.core_words import SURFACE_WORDS
from actors.log.events import Event, Hide, Replace
from runtime.formats.loading import load_log, vocabulary_of
from runtime.formats.readlog import ReadLog

_ENDS_REPLY: Final = frozenset(
    ("user/message", "system/message", "developer/message", "tool/result", "turn/start", "turn/end")
)


def figures(read: ReadLog) -> JsonObject:
    """Return the figures of a file.

    Shape: ``{bytes, format, formatVersion, seedLength, parentSession, lines, packedRows, events, storedSeq,
    nodes, nodeTypes, replacements, messages, endSeedSeqs, turnEnds, closersNeeded, requestHeaders,
    pending, consumedWork, eventTypes, unknownTypes}``; seqs are those of the file.

    Raises:
        SurfaceOpError, InboxSpliceError: as :func:`runtime.formats.loading.load_log`.
    """
    log = load_log(read)
    nodes = log.fold.nodes
    inbox = log.fold.inbox
    consumed = consumed_work(read.events)
    return {
        "bytes": read.file.size_bytes,
        "format": read.format,
        "formatVersion": read.version,
        "seedLength": read.header.get("seedLength"),
        "parentSession": read.origin.parent is not None,
        "lines": read.file.lines,
        "packedRows": read.file.packed_rows,
        "events": len(log),
        "storedSeq": read.file.stored_seq,
        "nodes": list(nodes),
        "nodeTypes": dict(Counter(log.event(seq).type for seq in nodes)),
        "replacements": list(_replacements(read.events)),
        "messages": len(log.projection().messages),
        "endSeedSeqs": [e.seq for e in read.events if e.type == "session/end-seed"],
        "turnEnds": _said(read.events, "turn/end", "reason"),
        "closersNeeded": len(log.closers(profile=read.profile)),
        "requestHeaders": _said(read.events, "request/header", "reason"),
        "pending": {"nextTurn": len(inbox.next_turn), "nextStep": len(inbox.next_step)},
        "consumedWork": {"endSeq": consumed.end_seq, "droppedUnrun": consumed.dropped_unrun},
        "eventTypes": [*sorted({event.type for event in read.events})],
        "unknownTypes": _unknown(read),
    }


def _said(events: Iterable[Event], word: str, key: str) -> list[JsonValue]:
    datas = (event.data() for event in events if event.type == word)
    return [data.get(key) if isinstance(data, dict) else None for data in datas]


def _unknown(read: ReadLog) -> list[JsonValue]:
    known = vocabulary_of(read)
    return [*sorted({event.type for event in read.events if not known.knows(event.type)})]


def _replacements(events: Iterable[Event]) -> Iterable[JsonObject]:
    """Yield each replacement with the nodes it took, in surface order."""
    nodes: list[int] = []
    replying = False
    for event in events:
        op = event.op
        if isinstance(op, Replace):
            first, last = nodes.index(op.start_seq), nodes.index(op.end_seq)
            yield {
                "seq": event.seq,
                "startSeq": op.start_seq,
                "endSeq": op.end_seq,
                "shadowedSeqs": [*nodes[first : last + 1]],
            }
            nodes[first : last + 1] = [event.seq]
        elif isinstance(op, Hide):
            nodes = [seq for seq in nodes if not op.start_seq <= seq <= op.end_seq]
        elif event.type in SURFACE_WORDS or _opens_node(event, replying):
            nodes.append(event.seq)
        replying = _replies(event, replying)


def _replies(event: Event, before: bool) -> bool:
    if event.type in ("assistant/message", "tool/call"):
        return True
    return before and event.type not in _ENDS_REPLY


def _opens_node(event: Event, replying: bool) -> bool:
    """A call without a reply to stand in makes a node of its own (S-62)."""
    if event.type != "tool/call" or replying:
        return False
    data = event.data()
    return not (isinstance(data, dict) and data.get("inline") is True)
