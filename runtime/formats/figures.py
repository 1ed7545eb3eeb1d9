"""What a log amounts to, in figures: enough to compare two readers of the same file.

Source: D-50, D-190..D-193, S-110, K-37.
"""

from collections import Counter
from collections.abc import Iterable

from actors.json import JsonObject, JsonValue
from actors.log.consumed_work import consumed_work
from actors.log.events import Event
from actors.log.history import Replacement, follow_replacements
from actors.log.log import Log
from runtime.formats.loading import vocabulary_of
from runtime.formats.readlog import ReadLog


def figures(read: ReadLog) -> JsonObject:
    """Return the figures of a file.

    Shape: ``{bytes, format, formatVersion, seedLength, parentSession, lines, packedRows, events, storedSeq,
    nodes, nodeTypes, replacements, messages, endSeedSeqs, turnEnds, closersNeeded, requestHeaders,
    pending, consumedWork, eventTypes, unknownTypes}``; seqs are those of the file.

    Raises:
        SurfaceOpError, InboxSpliceError: as :func:`runtime.formats.loading.load_log`.
    """
    log = Log(vocabulary_of(read))
    replacements = follow_replacements(log, read.events)
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
        "replacements": [_replacement(one) for one in replacements],
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


def _replacement(made: Replacement) -> JsonObject:
    return {
        "seq": made.seq,
        "startSeq": made.start_seq,
        "endSeq": made.end_seq,
        "shadowedSeqs": [*made.shadowed],
    }


def _said(events: Iterable[Event], word: str, key: str) -> list[JsonValue]:
    datas = (event.data() for event in events if event.type == word)
    return [data.get(key) if isinstance(data, dict) else None for data in datas]


def _unknown(read: ReadLog) -> list[JsonValue]:
    known = vocabulary_of(read)
    return [*sorted({event.type for event in read.events if not known.knows(event.type)})]
