"""From the compact record of a stream back to its pieces, with their times. Pure.

The record is that of :mod:`actors.rules.stream_record`; a log of another system may hold anything in its place,
and then there is no record.

Source: D-22, K-29.
"""

from collections.abc import Iterator, Sequence

import attrs

from actors.json import JsonObject, JsonValue
from actors.ports.model import (
    BlockEnd,
    Failed,
    Part,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    UsageReport,
)
from runtime.models.replay_pieces import LONGEST_S, Call, call_block, failure, native_usage
from runtime.models.replay_recording import Piece


@attrs.define
class _Block:
    """A block while it is told again: what is left of its text, and how it ends."""

    kind: str
    rest: str
    closing: JsonObject | None
    pieces_left: int
    call: Call | None = None
    begun: bool = False

    def piece(self, said: str | int, block: int) -> Part:
        self.pieces_left -= 1
        text = said if isinstance(said, str) else self._next(said)
        if self.kind == "text":
            return TextDelta(block, text)
        if self.kind == "thinking":
            return ThinkingDelta(block, text)
        named = self.call if not self.begun else None
        self.begun = True
        return ToolCallDelta(
            block,
            (named.id or None) if named else None,
            (named.name or None) if named else None,
            text,
        )

    def _next(self, chars: int) -> str:
        """Return the next characters; the last piece takes what there is, should it have been mended."""
        at = chars if self.pieces_left else len(self.rest)
        text, self.rest = self.rest[:at], self.rest[at:]
        return text


@attrs.frozen
class _Run:
    block: int
    kind: str
    ms: Sequence[int]
    said: Sequence[str | int]
    call: Call


def stream_pieces(
    record: JsonValue,
    blocks: Sequence[JsonObject],
    calls: Sequence[Call],
    last: Sequence[Part],
    *,
    whole: bool,
) -> tuple[Piece, ...] | None:
    """Return the pieces of a recorded stream; None when there is no record that can be used.

    Args:
        record: what stands in ``stream``.
        blocks: the content of its message, without calls.
        calls: the calls of the message.
        last: the parts behind the last piece.
        whole: the reply came to its end, so each of its blocks was closed.
    """
    runs = _runs(record)
    if runs is None:
        return None
    contents, called = iter(blocks), iter(calls)
    open_blocks = _blocks(runs, contents, called)
    if whole and (next(contents, None) is not None or next(called, None) is not None):
        return None  # the record does not name all that the message holds
    pieces = [piece for run in runs for piece in _told(run, open_blocks[run.block], whole=whole)]
    ends_s = _seconds(record.get("endMs") if isinstance(record, dict) else 0)
    delays_s = [ends_s, *([0.0] * len(last))]
    return (*pieces, *(Piece(d, part) for d, part in zip(delays_s, last, strict=False)))


def failed_pieces(
    record: JsonValue, blocks: Sequence[JsonObject], usage: JsonValue, failed: Failed
) -> tuple[Piece, ...]:
    """Return the pieces of an attempt that failed; the failure alone where nothing says when they came."""
    reported = native_usage(usage)
    counts: list[Part] = [UsageReport(reported)] if reported is not None else []
    timed = stream_pieces(record, blocks, (), [*counts, failed], whole=False)
    return timed or (Piece(0, failed),)


def ended_by(failures: Sequence[tuple[Piece, ...]]) -> tuple[tuple[Piece, ...], ...]:
    """Return attempts of which the last one ended the turn, so that nothing may be tried again after it."""
    if not failures:
        return ()
    *survived, last = failures
    failed = last[-1].part
    assert isinstance(failed, Failed)
    ended = Piece(last[-1].delay_s, failure(failed.message, failed.code, final=True))
    return (*survived, (*last[:-1], ended))


def _told(run: _Run, block: _Block, *, whole: bool) -> Iterator[Piece]:
    for ms, said in zip(run.ms, run.said, strict=True):
        if run.kind == "other":
            if block.closing is not None:
                yield Piece(_seconds(ms), BlockEnd(run.block, block.closing))
            continue
        yield Piece(_seconds(ms), block.piece(said, run.block))
        if whole and not block.pieces_left and block.closing is not None:
            yield Piece(0, BlockEnd(run.block, block.closing))


def _blocks(
    runs: Sequence[_Run], contents: Iterator[JsonObject], calls: Iterator[Call]
) -> dict[int, _Block]:
    """Give each block its place in the message, in the order in which they are first named."""
    found: dict[int, _Block] = {}
    for run in runs:
        known = found.get(run.block)
        if known is not None:
            known.pieces_left += len(run.said)
            continue
        held = not any(isinstance(said, str) for said in run.said)
        if held and run.kind == "call":
            call = next(calls, None) or run.call
            found[run.block] = _Block("call", call.arguments, call_block(call), len(run.said), call)
        elif held:
            content = next(contents, None) or {}
            text = content.get("thinking" if run.kind == "thinking" else "text")
            rest = text if isinstance(text, str) else ""
            found[run.block] = _Block(run.kind, rest, content or None, len(run.said))
        else:
            found[run.block] = _Block(run.kind, "", None, len(run.said), run.call)
    return found


def _runs(record: JsonValue) -> list[_Run] | None:
    told = record.get("runs") if isinstance(record, dict) else None
    if not isinstance(told, list) or not told or (isinstance(record, dict) and record.get("cut")):
        return None
    runs = [_run(run) for run in told]
    known = [run for run in runs if run is not None]
    return known if len(known) == len(runs) else None


def _run(run: JsonValue) -> _Run | None:
    if not isinstance(run, dict):
        return None
    block, kind, ms = run.get("block"), run.get("kind"), run.get("ms")
    said = run.get("text", run.get("chars"))
    if type(block) is not int or kind not in {"text", "thinking", "call", "other"}:
        return None
    if not isinstance(ms, list) or not isinstance(said, list) or len(ms) != len(said):
        return None
    times, pieces = [m for m in ms if type(m) is int], [s for s in said if type(s) in {int, str}]
    if len(times) != len(ms) or len(pieces) != len(said):
        return None
    name, call_id = run.get("name"), run.get("id")
    call = Call(
        call_id if isinstance(call_id, str) else "", name if isinstance(name, str) else "", ""
    )
    return _Run(block, str(kind), times, [s for s in pieces if isinstance(s, int | str)], call)


def _seconds(ms: JsonValue) -> float:
    return min(max(ms, 0) / 1000, LONGEST_S) if type(ms) is int else 0.0
