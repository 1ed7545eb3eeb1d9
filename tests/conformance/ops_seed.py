"""A session constructed from a seed of version 4 events."""

from typing import Any

from actors.log.codec import encode
from actors.log.events import Event, Replace
from actors.log.log import Log
from actors.log.request_header import check_header_event
from actors.log.vocabulary import Vocabulary
from actors.log.wire import check_envelope
from runtime.formats.dsh_header import check_session_header
from runtime.formats.dsh_messages import check_message
from runtime.formats.dsh_shapes import ShapeError, to_native
from tests.conformance.answers import Refused

VERSION = 4


def seed_admit(given: dict[str, Any]) -> dict[str, Any]:
    if "header" in given:
        check_session_header(given["header"], session_id="sess", version=VERSION)
    seed = given.get("seed", [])
    try:
        events = [_admitted(position, raw) for position, raw in enumerate(seed)]
    except ShapeError as error:
        raise Refused(error.rule) from error
    log = Log.load(events, Vocabulary(known={event.type for event in events}))
    nodes = log.fold.nodes
    return {
        "seq": len(log),
        "firstLiveSeq": len(seed),
        "lastType": events[-1].type if events else None,
        "nodes": nodes,
        "messageIds": [log.event(seq).data()["id"] for seq in nodes],
    }


def _admitted(position: int, raw: Any) -> Event:
    raw = check_envelope(raw, seq=position)
    word, data = raw["type"], raw["data"]
    check_header_event(word, data)
    check_message(word, data)
    op = raw.get("surfaceOp", "append")
    sources = raw.get("sourceEventSeqs")
    return Event(
        raw["seq"],
        raw["time"],
        word,
        encode(to_native(word, data, VERSION)),
        None if op == "append" else Replace(op["startSeq"], op["endSeq"]),
        None if sources is None else tuple(sources),
        raw.get("ignorable", False),
    )


OPS = {"seed_admit": seed_admit}
