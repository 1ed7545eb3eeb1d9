"""What a shell says to the model, and the limits of a run. Pure.

Source: D-281, D-286, D-288, D-294, D-296..D-299, K-14.
"""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Final, Literal, TypeAlias

import attrs

from actors.errors.rules import SettingError

DEFAULT_TIMEOUT_MS: Final = 120_000
MAX_TIMEOUT_MS: Final = 600_000
STDOUT_BUDGET_BYTES: Final = 64_000
SPILL_LIMIT_BYTES: Final = 64 * 1024 * 1024
"""A stream longer than this keeps its tail only; its file is deleted."""

FIXED_ENVIRONMENT: Final[Mapping[str, str]] = {
    "NO_COLOR": "1",
    "TERM": "dumb",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
}
RESERVED_PREFIX: Final = "GREENROOM_"
ALLOWED_NAMES: Final = (
    "PATH",
    "HOME",
    "SHELL",
    "USER",
    "LOGNAME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TERM",
    "TMPDIR",
    "TZ",
)
"""What a child inherits unless somebody says otherwise (K-14)."""

_SECRET: Final = re.compile("KEY|PASSWORD|SECRET|TOKEN", re.IGNORECASE)
_MARKER: Final = re.compile(
    r"\n\[(?:killed by signal: (?P<signal>[^\]\n]+)|exit code: (?P<code>[0-9]+))\]\Z"
)

BackgroundWord: TypeAlias = Literal["completed", "killed"]


def clamp_timeout(
    requested_ms: float | None,
    default_ms: float = DEFAULT_TIMEOUT_MS,
    max_ms: float = MAX_TIMEOUT_MS,
) -> float:
    """Return the deadline of a run: what was asked for or the default, at most the maximum.

    Raises:
        SettingError: it is not a positive, finite number.

    Source: D-281.
    """
    wanted = default_ms if requested_ms is None else requested_ms
    return min(_positive("timeoutMs", wanted), max_ms)


def output_budget(requested_bytes: float | None) -> int:
    """Return how many bytes of stdout are kept.

    Raises:
        SettingError: it is not a positive, finite number.

    Source: D-281.
    """
    wanted = STDOUT_BUDGET_BYTES if requested_bytes is None else requested_bytes
    return math.ceil(_positive("maxOutputBytes", wanted))


def _positive(name: str, value: float) -> float:
    if not math.isfinite(value) or value <= 0:
        raise SettingError(name, value, "a positive, finite number")
    return value


@attrs.frozen(kw_only=True)
class StreamText:
    """What one stream gave; when it was cut, ``text`` is its end and ``spill_path`` may hold all of it."""

    text: str = ""
    truncated: bool = False
    spill_path: str | None = None


@attrs.frozen(kw_only=True)
class ShellResult:
    """How a run ended. The four outcome fields are independent (D-283)."""

    exit_code: int | None
    signal: str | None = None
    timed_out: bool = False
    timeout_ms: float = DEFAULT_TIMEOUT_MS
    stdout: StreamText = StreamText()
    stderr: StreamText = StreamText()


def render_result(result: ShellResult) -> str:
    """Return the text for the model: both streams, then a line for each thing out of the ordinary.

    Source: D-296, D-298.
    """
    body = _with_stderr(_stream(result.stdout), _stream(result.stderr)) or "(no output)"
    return _with_lines(body, _markers(result))


def _stream(stream: StreamText) -> str:
    if not stream.truncated:
        return stream.text
    return f"{stream.text}\n[output truncated; full output: {stream.spill_path or '(unavailable)'}]"


def _with_stderr(stdout: str, stderr: str) -> str:
    return _with_lines(stdout, [f"[stderr]\n{stderr}"]) if stderr else stdout


def _with_lines(body: str, lines: Sequence[str]) -> str:
    """Return the body and the lines, each on a line of its own."""
    if not lines:
        return body
    gap = "" if not body or body.endswith("\n") else "\n"
    return body + gap + "\n".join(lines)


def _markers(result: ShellResult) -> list[str]:
    markers = [f"[timed out after {result.timeout_ms:g}ms]"] if result.timed_out else []
    if result.signal is not None:
        markers.append(f"[killed by signal: {result.signal}]")
    elif result.exit_code:
        markers.append(f"[exit code: {result.exit_code}]")
    return markers


@attrs.frozen(kw_only=True)
class ParsedExit:
    """A rendered text apart from its last marker; exactly one of the two outcomes is set."""

    body: str
    exit_code: int | None = None
    signal: str | None = None


def parse_exit(text: str) -> ParsedExit:
    """Return how the run ended, by the marker on the last line; without one, by exit code 0.

    Source: D-297.
    """
    found = _MARKER.search(text)
    if found is None:
        return ParsedExit(body=text, exit_code=0)
    body = text[: found.start()]
    if found["signal"] is not None:
        return ParsedExit(body=body, signal=found["signal"])
    return ParsedExit(body=body, exit_code=int(found["code"]))


def render_read(delta: str, *, lossy: bool, spill_paths: Sequence[str] = ()) -> str:
    """Return what a background process gave since the last read (D-294)."""
    if not lossy:
        return delta
    paths = ", ".join(spill_paths) or "(unavailable)"
    return _with_lines(delta, [f"[some output was dropped from memory; full output: {paths}]"])


def join_delta(stdout: str, stderr: str) -> str:
    """Return the new output of both streams as one text (D-294)."""
    return _with_stderr(stdout, stderr)


def background_outcome(
    exit_code: int | None, signal: str | None, *, killed: bool
) -> tuple[BackgroundWord, str]:
    """Return the status of a finished background process, and its detail.

    Source: D-292, D-299.
    """
    if signal is not None:
        return "killed", f"signal: {signal}"
    if killed or exit_code is None:
        return "killed", "killed before exit"
    return "completed", f"exit code: {exit_code}"


@attrs.frozen(kw_only=True)
class TailRead:
    """What a reader gets; ``lossy`` when bytes it had not read are gone."""

    data: bytes
    next_offset: int
    lossy: bool


@attrs.frozen(kw_only=True)
class OutputTail:
    """The last bytes of a stream, byte-exact however its chunks came.

    Source: D-286, D-294.
    """

    max_bytes: int
    data: bytes = b""
    total: int = 0
    """Bytes of the whole stream."""

    @property
    def truncated(self) -> bool:
        """Whether bytes were lost."""
        return self.total > len(self.data)

    def pushed(self, chunk: bytes) -> "OutputTail":
        """Return the tail after one more chunk."""
        data = (self.data + chunk)[-self.max_bytes :]
        return attrs.evolve(self, data=data, total=self.total + len(chunk))

    def read(self, offset: int) -> TailRead:
        """Return what came since ``offset``; all that is kept when some of it is gone."""
        first = self.total - len(self.data)
        lossy = offset < first
        data = self.data if lossy else self.data[offset - first :]
        return TailRead(data=data, next_offset=self.total, lossy=lossy)


def is_scrubbed(name: str, reserved: str = RESERVED_PREFIX) -> bool:
    """Whether a variable never reaches a child by inheritance: it may hold a secret, or is the engine's own.

    Source: D-288.
    """
    return _SECRET.search(name) is not None or name.upper().startswith(reserved.upper())


def child_environment(
    host: Mapping[str, str],
    given: Mapping[str, str] | None = None,
    *,
    allowed: Collection[str] = ALLOWED_NAMES,
    inherit: bool = False,
) -> dict[str, str]:
    """Return the environment of a child; what comes later wins.

    Args:
        host: the engine's own environment.
        given: variables that a trusted caller hands over; even secrets pass.
        allowed: names that are inherited as they are; naming a secret hands it over.
        inherit: inherit all names instead, but for those that :func:`is_scrubbed`.

    Source: D-288, K-14.
    """
    names = [n for n in host if (not is_scrubbed(n) if inherit else n in allowed)]
    return {n: host[n] for n in names} | dict(FIXED_ENVIRONMENT) | dict(given or {})
