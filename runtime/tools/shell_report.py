"""What a model is shown of a command's output, and what stays beside it. Pure.

The text is the end of both streams, as much as one event may hold; all of them is handed over beside it
when a part is missing. Facts about how the command ended stand in ``meta``, one by one.

Source: D-283, D-294, D-296, K-14.
"""

from collections.abc import AsyncGenerator
from typing import Final

import attrs

from actors.json import JsonObject
from actors.log.budget import CONTENT_BYTES
from actors.log.json_text import escaped_bytes
from actors.ports.shell import ShellOutcome, ShellProcess, ShellRead, Stream
from actors.ports.tool import ToolOutput, Whole
from runtime.tools.decoding import decoded, last_part
from runtime.tools.shell_text import (
    ShellResult,
    StreamText,
    background_outcome,
    join_delta,
    render_read,
    render_result,
)

SHOWN_BYTES: Final = CONTENT_BYTES - 2048
"""The rest is for the lines about the end, and for the way to read on."""
STDERR_BYTES: Final = SHOWN_BYTES // 4
"""What stderr has at least when both streams are long."""
_BELOW: Final = "see the last line"
_MS: Final = 1000


@attrs.frozen
class _Shown:
    """The texts of both streams that fit, and whether each is all of its stream."""

    stdout: StreamText
    stderr: StreamText

    @property
    def cut(self) -> bool:
        return self.stdout.truncated or self.stderr.truncated


def report(outcome: ShellOutcome) -> ToolOutput:
    """Return what a foreground command gave; a non-zero exit is no error of the tool (D-282)."""
    shown = _shown(outcome.stdout, outcome.stderr)
    whole = _whole(outcome.stdout, outcome.stderr) if shown.cut else None
    result = ShellResult(
        exit_code=outcome.exit_code,
        signal=outcome.signal,
        timed_out=outcome.timed_out,
        timeout_ms=outcome.timeout_s * _MS,
        stdout=_placed(shown.stdout, whole),
        stderr=_placed(shown.stderr, whole),
    )
    text = render_result(result) + _left_behind(outcome.left_behind)
    return ToolOutput(content=text, meta=facts(outcome), whole=whole)


def facts(outcome: ShellOutcome) -> JsonObject:
    """Return how a command ended and what confined it, for the log."""
    return {
        "exitCode": outcome.exit_code,
        "signal": outcome.signal,
        "timedOut": outcome.timed_out,
        "aborted": outcome.cancelled,
        "timeoutMs": round(outcome.timeout_s * _MS),
        "durationMs": round(outcome.duration_s * _MS),
        "leftBehind": outcome.left_behind,
        "stdout": _measure(outcome.stdout),
        "stderr": _measure(outcome.stderr),
        "sandbox": {"mode": outcome.mode, "confinedBy": outcome.confined_by},
    }


def report_read(
    command_id: str, process: ShellProcess, read: ShellRead, output: tuple[Stream, Stream]
) -> ToolOutput:
    """Return what a background command gave since the last read, and how it is."""
    delta = join_delta(read.stdout, read.stderr)
    shown = last_part(delta, SHOWN_BYTES)
    lossy = read.lossy or len(shown) < len(delta)
    whole = _whole(*output) if lossy else None
    paths = [_BELOW] if whole is not None else []
    text = render_read(shown, lossy=lossy, spill_paths=paths) or "(no new output)"
    gap = "" if text.endswith("\n") else "\n"
    outcome = process.outcome
    meta: JsonObject = {"id": command_id, "status": process.status}
    if outcome is not None:
        meta |= facts(outcome)
    return ToolOutput(content=f"{text}{gap}[{_state(process)}]", meta=meta, whole=whole)


def _state(process: ShellProcess) -> str:
    outcome = process.outcome
    if outcome is None:
        return "running"
    killed = outcome.cancelled
    return ": ".join(background_outcome(outcome.exit_code, outcome.signal, killed=killed))


def _shown(stdout: Stream, stderr: Stream) -> _Shown:
    out, err = (decoded(s.tail, cut=s.truncated) for s in (stdout, stderr))
    err_part = last_part(err, max(STDERR_BYTES, SHOWN_BYTES - escaped_bytes(out)))
    out_part = last_part(out, SHOWN_BYTES - escaped_bytes(err_part))
    return _Shown(
        StreamText(text=out_part, truncated=stdout.truncated or len(out_part) < len(out)),
        StreamText(text=err_part, truncated=stderr.truncated or len(err_part) < len(err)),
    )


def _placed(text: StreamText, whole: Whole | None) -> StreamText:
    return text if whole is None else attrs.evolve(text, spill_path=_BELOW)


def _whole(stdout: Stream, stderr: Stream) -> Whole | None:
    """Return how to read all of both streams; None when one was longer than may be kept."""
    first, second = stdout.whole, stderr.whole
    if first is None or second is None:
        return None
    return lambda: _both(first, second, split=stderr.total_bytes > 0)


async def _both(first: Whole, second: Whole, *, split: bool) -> AsyncGenerator[bytes, None]:
    pieces = first()
    try:
        async for piece in pieces:
            yield piece
        if split:
            yield b"\n[stderr]\n"
            await pieces.aclose()
            pieces = second()
            async for piece in pieces:
                yield piece
    finally:
        await pieces.aclose()


def _measure(stream: Stream) -> JsonObject:
    return {"bytes": stream.total_bytes, "truncated": stream.truncated}


def _left_behind(count: int) -> str:
    if not count:
        return ""
    return f"\n[left running and ended with the command: {count} processes; shell_start lets one go on]"
