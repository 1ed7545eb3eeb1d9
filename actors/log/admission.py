"""The gates that a log from elsewhere passes before it becomes a session.

In order: :func:`parse_log` (form and identity), :func:`check_vocabulary`, :func:`check_pairing`,
:func:`check_ranges`. What a surface operation does to the surface is checked by the fold that loads the
events, the rate of imports by :class:`flood.SpawnWindow`.

Source: S-120..S-124, S-126.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NoReturn

import attrs

from actors.errors.log import ImportFormatError, SurfaceOpError, UnknownEventTypeError
from actors.json import JsonObject
from actors.log.codec import encode
from actors.log.foreign import mend
from actors.log.vocabulary import CORE, Vocabulary

_BLANKS: Final = (
    "\t\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
"""White space of ECMAScript; a line of nothing else is blank."""


@attrs.frozen
class LogFormat:
    """How a file says in its header what it is."""

    name: str
    version: int


NATIVE: Final = LogFormat("greenroom/session", 1)
"""The format that this engine writes."""


@attrs.frozen
class ParsedLog:
    """A file of the right form. ``mended`` counts the texts in which unpaired surrogates were replaced."""

    format: LogFormat
    header: JsonObject
    events: tuple[JsonObject, ...]
    mended: int


def parse_log(text: str, expected: LogFormat = NATIVE) -> ParsedLog:
    """Return the header and the events of a file of JSON lines.

    Lines end at line feeds only; blank ones are skipped. Of a key that stands twice the last counts.

    Raises:
        ImportFormatError: ``empty``, ``meta-json``, ``identity``, ``line-json`` or ``envelope``.
        EventDataError: the data of an event is not lossless JSON (a number too large for a double).
    """
    lines = [line for line in text.split("\n") if line.strip(_BLANKS)]
    if not lines:
        raise ImportFormatError("empty", "there is no header line")
    header = _parsed(lines[0], "meta-json")
    check_identity(header, expected)
    found = [mend(_parsed(line, "line-json")) for line in lines[1:]]
    events = tuple(_checked(event.value) for event in found)
    return ParsedLog(expected, header, events, sum(event.places for event in found))


def check_identity(header: object, expected: LogFormat = NATIVE) -> None:
    """Check that a header names the expected format and version (a number, not text or true).

    Raises:
        ImportFormatError: ``identity``.
    """
    found = (header.get("format"), header.get("version")) if isinstance(header, dict) else ()
    version = found[1] if found else None
    if isinstance(version, bool) or found != (expected.name, expected.version):
        shown = f"the header says {found!r}" if found else "the header is not an object"
        raise ImportFormatError("identity", f"{shown}, not {expected.name!r} {expected.version}")


def check_vocabulary(events: Iterable[JsonObject], vocabulary: Vocabulary = CORE) -> None:
    """Check that every event is of a known type or marked ``ignorable: true``.

    Raises:
        UnknownEventTypeError: one is neither; the whole file is refused.
    """
    for event in events:
        if event.get("ignorable") is not True and not vocabulary.knows(str(event["type"])):
            raise UnknownEventTypeError(str(event["type"]))


def check_pairing(events: Sequence[JsonObject]) -> None:
    """Check that seqs have no hole, no turn ends before it started and no result precedes its call.

    What is merely left open is accepted: recovery closes it.

    Raises:
        ImportFormatError: ``seq-break`` (first, for the whole file), ``turn-extra`` or ``result-extra``.
    """
    for position, event in enumerate(events):
        if event.get("seq") != position:
            raise ImportFormatError("seq-break", f"seq {event.get('seq')} stands at {position}")
    open_turns = 0
    called: set[str] = set()
    for event in events:
        open_turns += {"turn/start": 1, "turn/end": -1}.get(str(event["type"]), 0)
        if open_turns < 0:
            raise ImportFormatError("turn-extra", f"turn/end at {event['seq']} ends no turn")
        call_id = _call_id(event)
        if event["type"] == "tool/call":
            called.update(call_id)
        elif event["type"] == "tool/result" and not called.issuperset(call_id):
            raise ImportFormatError(
                "result-extra", f"no call precedes the result at {event['seq']}"
            )


def check_ranges(events: Sequence[JsonObject]) -> None:
    """Check that surface operations and sources name events before their own, so that no range is forged.

    Bounds may be spelled ``startSeq, endSeq`` or ``start, end``. Call it after :func:`check_pairing`.

    Raises:
        SurfaceOpError: ``surface-op-invalid``, ``range`` or ``source-ref``.
    """
    for position, event in enumerate(events):
        if event.get("surfaceOp", "append") != "append":
            _check_bounds(event["surfaceOp"], position)
        sources = event.get("sourceEventSeqs", [])
        if not isinstance(sources, list) or not all(_is_before(s, position) for s in sources):
            raise SurfaceOpError("source-ref", f"event {position} cites what does not precede it")


def run_gates(text: str, expected: LogFormat = NATIVE, vocabulary: Vocabulary = CORE) -> ParsedLog:
    """Pass a file through all gates of this module.

    Raises:
        ImportFormatError: its form, identity or pairing is wrong.
        EventDataError: the data of an event is not lossless JSON.
        UnknownEventTypeError: an event type is unknown and not ignorable.
        SurfaceOpError: a surface operation names what does not precede it.
    """
    parsed = parse_log(text, expected)
    check_vocabulary(parsed.events, vocabulary)
    check_pairing(parsed.events)
    check_ranges(parsed.events)
    return parsed


def _parsed(line: str, rule: str) -> Any:  # noqa: ANN401 - any JSON value
    def refuse(word: str) -> NoReturn:
        raise ImportFormatError(rule, f"{word} is not JSON")

    try:
        return json.loads(line, parse_constant=refuse)
    except ValueError as error:
        raise ImportFormatError(rule, str(error)) from None
    except RecursionError:
        raise ImportFormatError(rule, "it is nested too deeply") from None


def _checked(event: object) -> JsonObject:
    if not isinstance(event, dict) or not isinstance(event.get("type"), str):
        raise ImportFormatError("envelope", "an event must be an object with a type")
    if type(event.get("seq")) not in (int, float):
        raise ImportFormatError("envelope", "an event must have a number as seq")
    encode(event.get("data"))
    return event


def _check_bounds(op: object, position: int) -> None:
    if not isinstance(op, dict) or op.get("op") not in ("replace", "hide"):
        raise SurfaceOpError("surface-op-invalid", f"event {position} has no known operation")
    spelled = ("startSeq", "endSeq") if "startSeq" in op else ("start", "end")
    if not all(_is_before(op.get(bound), position) for bound in spelled):
        raise SurfaceOpError("range", f"event {position} names what does not precede it")


def _is_before(seq: object, position: int) -> bool:
    return type(seq) is int and 0 <= seq < position


def _call_id(event: JsonObject) -> Iterator[str]:
    data = event.get("data")
    call_id = data.get("toolCallId") if isinstance(data, dict) else None
    if isinstance(call_id, str):
        yield call_id
