"""One tool call, from the gate to its outcome.

It runs in a task of the session, not of the turn, so that a tool that swallows its cancellation
holds nobody up: the turn closes the call without it, and the task stays owned (K-21).
"""

from collections.abc import Callable
from typing import Literal, Protocol, TypeAlias

import attrs
import orjson
import trio

from actors.errors import GreenroomError
from actors.errors.log import EventDataError
from actors.ids import CallId
from actors.json import JsonObject, JsonValue
from actors.kernel.reply import Reply
from actors.log.codec import encode
from actors.log.foreign import mend
from actors.ports.tool import Tool, ToolContext, ToolOutput, Whole
from actors.rules.interrupt import CallFate, closing

Stage: TypeAlias = Literal["gate", "running", "signalled", "cancelled", "settled"]
FOREVER = float("inf")


@attrs.frozen(kw_only=True)
class CallSpec:
    """A call as the log has it; ``seq`` is the position of its ``tool/call``.

    ``made_as`` is the id that the provider gave it, which may stand twice in one reply (K-12).
    """

    id: CallId
    made_as: CallId
    name: str
    arguments: str
    seq: int
    turn: int
    step: int


@attrs.frozen(kw_only=True)
class CallOutcome:
    """What stands in the call's ``tool/result``.

    ``voted`` is what the call said about ending the turn; None when it was neither run nor judged, so
    that it has no vote (L-39).
    """

    content: str | list[JsonObject]
    error: JsonObject | None = None
    meta: JsonValue = None
    voted: bool | None = False
    overflow: JsonObject | None = None
    """Names the whole output where ``content`` is an excerpt (K-4)."""
    whole: Whole | None = None
    """Opens an output that the tool itself has cut; taken by who keeps it."""


def closed(fate: CallFate) -> CallOutcome:
    """Return the outcome of a call that has none of its own."""
    ending = closing(fate)
    return CallOutcome(content=f"{ending.code}: {ending.text}", error=ending.error())


def refused(code: str, text: str) -> CallOutcome:
    """Return the outcome of a call that was not run."""
    return CallOutcome(content=f"{code}: {text}", error={"name": "ToolError", "code": code})


class Deadlines:
    """How long a call may go on: its budget, the grace after its signal, the time to unwind.

    Source: L-46, N-3, K-21.
    """

    __slots__ = ("_grace_s", "_straggler_s", "at_s", "stage", "timed_out")

    def __init__(self, grace_s: float, straggler_s: float) -> None:
        self._grace_s, self._straggler_s = grace_s, straggler_s
        self.stage: Stage = "gate"
        self.at_s = FOREVER
        """When the present stage ends, by the loop's clock."""
        self.timed_out = False

    def started(self, now_s: float, budget_s: float | None) -> None:
        """The tool body starts now; what came before costs no budget (L-46)."""
        self.stage = "running"
        self.at_s = FOREVER if budget_s is None else now_s + budget_s

    def signal(self, now_s: float) -> None:
        """The call should end: the grace begins."""
        self.stage, self.at_s = "signalled", now_s + self._grace_s

    def cancel(self, now_s: float) -> None:
        """The grace is over: the call may only unwind."""
        self.stage, self.at_s = "cancelled", now_s + self._straggler_s

    def settle(self) -> None:
        """The call has its outcome."""
        self.stage, self.at_s = "settled", FOREVER


class Starting(Protocol):
    """The batch that a call belongs to."""

    interrupted: bool

    def started(self) -> None:
        """A body was started."""
        ...


class Execution:
    """Runs one tool body under its deadlines and turns whatever it does into an outcome."""

    __slots__ = ("_scope", "_told", "cancelled", "deadlines", "outcome", "spec")

    def __init__(
        self, spec: CallSpec, deadlines: Deadlines, told: Callable[[CallSpec, CallOutcome], None]
    ) -> None:
        self.spec = spec
        self.deadlines = deadlines
        self._told = told
        self.cancelled = trio.Event()
        self.outcome: Reply[CallOutcome] = Reply()
        self._scope = trio.CancelScope()

    @property
    def settled(self) -> bool:
        """Whether the outcome stands; what comes later is dropped."""
        return self.outcome.done

    def settle(self, outcome: CallOutcome) -> None:
        """Give the call its outcome, once."""
        if self.outcome.set(outcome):
            self.deadlines.settle()
            self._told(self.spec, outcome)

    def interrupt(self, now_s: float) -> None:
        """Tell the call to end: its signal is set and the grace begins."""
        if self.settled or self.deadlines.stage in {"signalled", "cancelled"}:
            return
        self.cancelled.set()
        self.deadlines.signal(now_s)

    def expire(self, now_s: float) -> None:
        """Move to the next stage when the present one has run out."""
        if self.settled or now_s < self.deadlines.at_s:
            return
        if self.deadlines.stage == "running":
            self.deadlines.timed_out = True
            self.interrupt(now_s)
        elif self.deadlines.stage == "signalled":
            self.deadlines.cancel(now_s)
            self._scope.cancel()
        else:
            self.settle(closed("straggler"))

    async def run(self, tool: Tool, arguments: JsonValue, context: ToolContext) -> None:
        """Run the tool body; the outcome is set when this returns.

        Cancellation:
            The outcome says that the call was cut; cancellation from outside goes on.
        """
        outcome = closed("cancelled")
        try:
            with self._scope:
                outcome = await _body(tool, arguments, context)
            if self._scope.cancelled_caught and self.deadlines.timed_out:
                outcome = closed("timed-out")
        finally:
            self.settle(outcome)


async def _body(tool: Tool, arguments: JsonValue, context: ToolContext) -> CallOutcome:
    try:
        output = await tool.call(arguments, context)
    except Exception as raised:  # noqa: BLE001 - the tool boundary: what it raises is a result
        return _raised(raised)
    return outcome_of(output)


def _raised(error: Exception) -> CallOutcome:
    code = error.code if isinstance(error, GreenroomError) else "TOOL_FAILED"
    name = type(error).__name__
    return CallOutcome(content=f"{code}: {name}: {error}", error={"name": name, "code": code})


def outcome_of(output: object) -> CallOutcome:
    """Return the outcome of what a tool returned.

    Anything but a :class:`ToolOutput` of JSON values is its author's mistake, and an error result.
    """
    if not isinstance(output, ToolOutput):
        text = f"the tool returned {type(output).__name__}, not a ToolOutput"
        return refused("TOOL_RESULT_INVALID", text)
    try:
        if not isinstance(output.content, str):  # any text can be mended, and it may be long
            encode(mend(output.content).value)
        encode(mend(output.meta).value)
    except EventDataError as no_json:
        text = str(no_json)
        return attrs.evolve(refused("TOOL_RESULT_INVALID", text), voted=output.terminate)
    error: JsonObject | None = (
        {"name": "ToolError", "code": output.code} if output.is_error else None
    )
    return CallOutcome(
        content=output.content,
        error=error,
        meta=output.meta,
        voted=output.terminate,
        whole=output.whole,
    )


def parsed(arguments: str) -> JsonValue:
    """Return the arguments as the tool gets them: empty text is ``{}``, and no JSON stays text (D-134)."""
    if not arguments.strip():
        return {}
    try:
        value: JsonValue = orjson.loads(arguments)
    except orjson.JSONDecodeError:
        return arguments
    return value
