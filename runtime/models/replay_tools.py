"""Tools that answer with recorded results: one for each name that a recording calls."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

import attrs
import orjson
import trio

from actors.json import JsonValue
from actors.ports.model import ToolSchema
from actors.ports.tool import ToolContext, ToolOutput
from actors.rules.policy import Effect
from runtime.models.replay import Recordings
from runtime.models.replay_recording import RecordedCall, Recording

_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
NOT_RECORDED: Final = "No result was recorded for this call."
CUT_OFF: Final = "The call was told to end before its recorded result was due."
_READS: Final = frozenset(
    (
        "cat",
        "find",
        "glob",
        "grep",
        "head",
        "list",
        "lookup",
        "ls",
        "read",
        "search",
        "stat",
        "tail",
        "todo",
        "tree",
        "view",
    )
)
"""Words in a tool's name that say it changes nothing outside the session."""


@attrs.frozen(kw_only=True)
class ReplayTool:
    """A :class:`~actors.ports.tool.Tool` that gives back what was recorded.

    A call is found by its recorded id, else by its place: the same turn and step, the same tool, the
    same arguments if there are several. Nothing outside the process is touched.
    """

    schema: ToolSchema
    effect: Effect
    find: Callable[[str], Recording | None]
    scale: float = 0.0
    timeout_s: float | None = None

    async def call(self, arguments: JsonValue, context: ToolContext) -> ToolOutput:
        """Return the recorded result, an error where an error was recorded or the call is told to end.

        Cancellation:
            Ends at once; a checkpoint in any case.
        """
        recording = self.find(context.session_id)
        found = None if recording is None else self._recorded(recording, arguments, context)
        with trio.move_on_after(found.duration_s * self.scale if found is not None else 0):
            await context.cancelled.wait()
            return ToolOutput(content=CUT_OFF, is_error=True)
        if found is None or found.content is None:
            return ToolOutput(content=NOT_RECORDED, is_error=True)
        return ToolOutput(content=found.content, is_error=found.is_error, meta=found.meta)

    def _recorded(
        self, recording: Recording, arguments: JsonValue, context: ToolContext
    ) -> RecordedCall | None:
        if not recording.turns:
            return None
        step = recording.step(context.turn, context.step)
        here = [c for c in step.calls if c.name == self.schema.name] if step is not None else []
        everywhere = [c for c in recording.calls() if c.name == self.schema.name]
        return (
            _by_id(here, context.call_id)
            or _by_arguments(here, arguments)
            or _by_id(everywhere, context.call_id)
            or next(iter(here), None)
            or _by_arguments(everywhere, arguments)
        )


def replay_tools(
    recordings: Iterable[Recording] | Recording,
    find: Recordings | None = None,
    speed: float | None = None,
) -> tuple[ReplayTool, ...]:
    """Return one tool for each name that the recordings call, in order of names.

    Args:
        recordings: one recording, or all those that the sessions of an engine replay.
        find: which of them a session id replays, as for the replay model; not needed for one.
        speed: 1 keeps the recorded time that the tools took; None leaves it out.
    """
    known = (recordings,) if isinstance(recordings, Recording) else tuple(recordings)
    if find is None:
        find = lambda _: known[0] if known else None  # noqa: E731 - three words
    by_id = find.get if isinstance(find, Mapping) else find
    scale = 0.0 if speed is None else 1 / speed
    names = sorted({call.name for recording in known for call in recording.calls()})
    return tuple(
        ReplayTool(schema=_schema(name), effect=effect_of(name), find=by_id, scale=scale)
        for name in names
    )


def effect_of(name: str) -> Effect:
    """Guess the effect of a recorded tool by its name; what is not known to be harmless is ``exec``."""
    return "read" if _READS.intersection(map(str.lower, _WORDS.findall(name))) else "exec"


def _schema(name: str) -> ToolSchema:
    anything: dict[str, JsonValue] = {"type": "object", "additionalProperties": True}
    return ToolSchema(name, f"Gives back what {name} was recorded to say.", anything)


def _by_id(calls: Iterable[RecordedCall], call_id: str) -> RecordedCall | None:
    return next((call for call in calls if call.id == call_id), None)


def _by_arguments(calls: Iterable[RecordedCall], arguments: JsonValue) -> RecordedCall | None:
    return next((call for call in calls if _parsed(call.arguments) == arguments), None)


def _parsed(arguments: str) -> JsonValue:
    try:
        value: JsonValue = orjson.loads(arguments)
    except orjson.JSONDecodeError:
        return arguments
    return value
