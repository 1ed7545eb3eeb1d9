"""The surface, seeds and repair, in the words of the D rules: events there are in version 4 form."""

from collections.abc import Callable, Iterable
from typing import Any

from actors.errors import GreenroomError
from actors.errors.log import SurfaceOpError
from actors.json import JsonValue
from actors.log.codec import encode
from actors.log.core_words import SURFACE_WORDS
from actors.log.enclosure import check_enclosure
from actors.log.events import Draft, Event, SurfaceOp
from actors.log.history import Replacement, follow_replacements
from actors.log.log import Log
from actors.log.message_projections import ProjectionContext, Projections
from actors.log.project import event_message
from actors.log.projection import AssistantMessage, ProjectedMessage
from actors.log.request_header import check_header_event
from actors.log.seeds import fork_marker, restored_marker, seed_boundaries
from actors.log.vocabulary import Vocabulary
from actors.log.wire import check_envelope, op_from_wire, sources_from_wire
from runtime.formats.dsh_messages import check_message
from runtime.formats.dsh_shapes import ShapeError, from_native, to_native
from runtime.formats.dsh_words import WORDS, is_known
from tests.conformance.answers import Refused

VERSION = 4
REDACT = "demo/redact"
Wire = dict[str, Any]


def native(raw: Wire) -> Event:
    """Return the event of a version 4 object, checked as its reader checks it."""
    check_envelope(raw)
    word = raw["type"]
    try:
        check_message(word, raw["data"])
        check_header_event(word, raw["data"])
        data = to_native(word, raw["data"], VERSION)
    except ShapeError as error:
        raise Refused(error.rule) from error
    op, sources = _surface_fields(raw)
    return Event(raw["seq"], raw["time"], word, encode(data), op, sources, "ignorable" in raw)


def _surface_fields(raw: Wire) -> tuple[SurfaceOp | None, tuple[int, ...] | None]:
    word, op, sources = raw["type"], raw.get("surfaceOp"), raw.get("sourceEventSeqs")
    if word not in SURFACE_WORDS:
        return _log_only_fields(raw)
    if "surfaceOp" not in raw:
        raise SurfaceOpError("surface-op-required")
    if "sourceEventSeqs" not in raw:
        return _op(op), None
    if word == "assistant/message":
        raise SurfaceOpError("assistant-sources")
    return _op(op), sources_from_wire(sources, before=raw["seq"])


def _log_only_fields(raw: Wire) -> tuple[None, None]:
    if "ignorable" in raw and not is_known(raw["type"]):
        return None, None
    for key, rule in (("surfaceOp", "not-surface-op"), ("sourceEventSeqs", "not-surface-sources")):
        if key in raw:
            raise SurfaceOpError(rule)
    return None, None


def _op(wire: object) -> SurfaceOp | None:
    return None if wire == "append" else op_from_wire(wire)


def vocabulary_of(raws: Iterable[Wire]) -> Vocabulary:
    return Vocabulary(WORDS | {raw["type"] for raw in raws if not raw.get("ignorable")})


def load(raws: list[Wire], base_seq: int = 0) -> tuple[Log, tuple[Replacement, ...]]:
    log = Log(vocabulary_of(raws), base_seq=base_seq)
    return log, follow_replacements(log, map(native, raws))


def _surface(log: Log, replaced: tuple[Replacement, ...]) -> Wire:
    return {
        "nodes": log.fold.nodes,
        "replacements": [
            {
                "seq": one.seq,
                "startSeq": one.start_seq,
                "endSeq": one.end_seq,
                "shadowedSeqs": one.shadowed,
            }
            for one in replaced
        ],
        "replaceGeneration": log.fold.replace_generation,
        "contentGeneration": log.fold.content_generation,
    }


def surface_fold(given: Wire) -> object:
    return _surface(*load(given["events"]))


def surface_window(given: Wire) -> object:
    return _surface(*load(given["events"], given["baseSeq"]))


def session_append(given: Wire) -> object:
    log, results = Log(vocabulary_of(given["ops"])), []
    for op in given["ops"]:
        try:
            event = native({"seq": len(log), "time": 0, **op})
            log.replay(event)
        except (GreenroomError, Refused) as error:
            results.append({"error": getattr(error, "rule", None) or error.code})
        else:
            results.append({"seq": event.seq})
    fold = log.fold
    return {
        "results": results,
        "nodes": fold.nodes,
        "replaceGeneration": fold.replace_generation,
        "contentGeneration": fold.content_generation,
    }


def _gives_message(message: ProjectedMessage | None) -> bool:
    """An empty reply stays in the projection and is left out of requests (K-33, D-66)."""
    return message is not None and not (
        isinstance(message, AssistantMessage) and not message.content
    )


def derive_messages(given: Wire) -> object:
    log, _ = load(given["events"])
    shown = {m.seq: m for m in log.projection().messages if _gives_message(m)}
    return {
        "messageIds": [_data(log.event(seq))["id"] for seq in shown],
        "emptyNodes": [seq for seq in log.fold.nodes if seq not in shown],
    }


def derive_event_message(given: Wire) -> object:
    event = native(given["event"])
    if not _gives_message(event_message(event)):
        return {"message": None}
    data = from_native(event.type, event.data(), VERSION)
    assert isinstance(data, dict)
    return {"message": data if event.type == "user/message" else data["message"]}


def _data(event: Event) -> dict[str, JsonValue]:
    data = event.data()
    assert isinstance(data, dict)
    return data


def repair_closers(given: Wire) -> object:
    log, _ = load(given["events"])
    return {"closers": [_closer(event) for event in _appended(log, log.closers(profile="dsh"))]}


def _appended(log: Log, drafts: Iterable[Draft]) -> tuple[Event, ...]:
    start = log.events()[-1].seq + 1 if len(log) else 0
    for draft in drafts:
        seq = log.events()[-1].seq + 1 if len(log) else 0
        body = encode(draft.data)
        assert draft.time_ms is not None
        log.replay(Event(seq, draft.time_ms, draft.type, body, draft.op, draft.sources))
    return tuple(log.events(start))


def _closer(event: Event) -> Wire:
    wire: Wire = {
        "type": event.type,
        "seq": event.seq,
        "time": event.time_ms,
        "data": from_native(event.type, event.data(), VERSION),
    }
    if event.type == "tool/result":
        wire["surfaceOp"] = "append"
        (block,) = wire["data"]["message"]["content"]
        kind = "outcome-unknown" if "TOOL_OUTCOME_UNKNOWN" in block["text"] else "not-started"
        block["text"] = f"<{kind}>"
    if event.sources is not None:
        wire["sourceEventSeqs"] = event.sources
    return wire


def fork_seed(given: Wire) -> object:
    log, _ = load(given["events"])
    boundary = given.get("boundary", len(log) - 1)
    if type(boundary) is not int or not 0 <= boundary < len(log):
        boundary = None if len(log) or boundary != -1 else boundary
    if boundary is None:
        raise SurfaceOpError("invalid-boundary")
    child = log.fork(boundary + 1)
    open_at = child.fold.open_turn is not None
    tail = _appended(child, log.fork_closers(boundary + 1, profile="dsh"))
    return {
        "inheritedEventCount": boundary + 1,
        "openAtBoundary": open_at,
        "tail": [_without_time(_closer(event)) for event in tail],
    }


def _without_time(wire: Wire) -> Wire:
    del wire["time"]
    return wire


def boundaries(given: Wire) -> object:
    found = seed_boundaries([*map(native, given["events"])], is_seeded=given["isSeeded"])
    return {"inheritedEventCount": found.inherited, "lifecycleMarkerSeq": found.marker}


def session_construct(given: Wire) -> object:
    seed = [*map(native, given["seed"])]
    if given["mode"] == "fork":
        drafts = fork_marker(seed, given["inheritedEventCount"])
    else:
        drafts = restored_marker(seed)
    appended = [
        {"type": draft.type, "seq": len(seed) + at, "data": draft.data}
        for at, draft in enumerate(drafts)
    ]
    return {
        "firstLiveSeq": len(seed),
        "appended": appended,
        "nextSeq": len(seed) + len(appended),
    }


def redact(event: Event, context: ProjectionContext) -> dict[int, JsonValue]:
    """Put one text block that names the message in the place of each target."""
    changed: dict[int, JsonValue] = {}
    targets = _data(event)["targets"]
    assert isinstance(targets, list)
    for seq in targets:
        assert isinstance(seq, int)
        if not context.is_node(seq):
            raise SurfaceOpError("projection-refused", f"{seq} is no node")
        name = _data(context.event(seq))["id"]
        changed[seq] = [{"type": "text", "text": f"[redacted {name}]"}]
    return changed


def projection_fold(given: Wire) -> object:
    vocabulary = vocabulary_of(raw for raw in given["events"] if raw["type"] != REDACT)
    vocabulary.register(REDACT, owner="demo", projection=True)
    handlers = Projections()
    if given["registered"]:
        handlers.register(REDACT, redact, owner="demo")
    log = Log(vocabulary, projections=handlers)
    replaced = follow_replacements(log, map(native, given["events"]))
    shown = {m.seq: m for m in log.projection().messages if _gives_message(m)}
    return {
        **_surface(log, replaced),
        "projected": log.fold.projected(),
        "firstTextByNode": {
            str(seq): _first_text(shown[seq]) if seq in shown else None for seq in log.fold.nodes
        },
    }


def _first_text(message: ProjectedMessage) -> str | None:
    content = getattr(message, "output", None) or getattr(message, "content", None)
    texts = [block["text"] for block in content or () if block.get("type") == "text"]
    return texts[0] if texts else None


def enclosure(given: Wire) -> object:
    check_enclosure(map(native, given["events"]))
    return {"ok": True}


def tool_pairing(given: Wire) -> object:
    log, _ = load(given["events"])
    return {"nodes": log.fold.nodes, "cutBalanced": log.fold.balanced_cuts()}


OPS: dict[str, Callable[[Wire], object]] = {
    "surface_fold": surface_fold,
    "surface_window": surface_window,
    "session_append": session_append,
    "derive_messages": derive_messages,
    "derive_event_message": derive_event_message,
    "repair_closers": repair_closers,
    "fork_seed": fork_seed,
    "seed_boundaries": boundaries,
    "session_construct": session_construct,
    "projection_fold": projection_fold,
    "enclosure": enclosure,
    "tool_pairing": tool_pairing,
}
