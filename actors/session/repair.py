"""What is done about a turn that a crash cut off: it is closed, or picked up where it stood.

Source: K-13, K-19, K-37, design 5 (asks).
"""

from collections.abc import Iterable
from typing import cast

import attrs
import trio

from actors.json import JsonObject, JsonValue
from actors.log.blobs import without_names
from actors.log.calls import OpenCall
from actors.log.events import Draft
from actors.log.log import Log
from actors.ports.tool import Reconciling, ToolOutput
from actors.rules.queue import in_background
from actors.session.agent import Agent
from actors.session.call import CallOutcome, CallSpec, outcome_of
from actors.session.drafts import decided_draft, result_draft

RECONCILE_S = 30.0
"""How long a tool may take to say what became of a call."""


@attrs.frozen(kw_only=True)
class PickUp:
    """Where a turn goes on.

    ``step`` is the one it was in, ``calls`` those of its calls that were not started, and ``stop_reason``
    what its last reply stopped for when that reply is the end of the turn. ``background`` says that no
    person set it going.
    """

    turn: int
    first_seq: int
    step: int
    calls: tuple[CallSpec, ...]
    stop_reason: str | None
    background: bool


def recovery_drafts(log: Log) -> list[Draft]:
    """Return what closes the log, as far as the log alone can say; nothing when it is closed.

    An open ask is withdrawn before its call gets its result (P6).
    """
    withdrawn = [decided_draft(ask_id, "cancel", "recovery") for ask_id in log.fold.open_asks]
    return [*withdrawn, *log.closers()]


async def closing_repair(session_id: str, log: Log, agent: Agent | None) -> list[Draft]:
    """Return what closes the log.

    A tool that can tell what became of a started call is asked before its outcome is called unknown
    (K-13).
    """
    known = await _reconciled(session_id, log.fold.open_calls.values(), agent)
    return [_settled(draft, known) for draft in recovery_drafts(log)]


async def resuming_repair(session_id: str, log: Log, agent: Agent | None) -> list[Draft]:
    """Return what closes the calls that were started; the turn, and the asks of calls that were not, stay open."""
    fold = log.fold
    started = {c.tool_call_id: c for c in fold.open_calls.values() if c.decision == "allow"}
    known = await _reconciled(session_id, started.values(), agent)
    withdrawn = [
        decided_draft(ask.ask_id, "cancel", "recovery")
        for ask in fold.open_asks.values()
        if ask.tool_call_id not in fold.open_calls or ask.tool_call_id in started
    ]
    results = [
        _settled(draft, known)
        for draft in log.closers()
        if draft.type == "tool/result" and _call_id(draft) in started
    ]
    return [*withdrawn, *results]


def pick_up(log: Log) -> PickUp | None:
    """Return where the open turn goes on; None when no turn is open."""
    fold = log.fold
    if fold.open_turn is None:
        return None
    start, last = _turn_events(log)
    step = last.get("step") if last is not None else 0
    stop_reason = last.get("stopReason") if last is not None else None
    made_calls = any(event.type == "tool/call" for event in log.events(start))
    ended = isinstance(stop_reason, str) and not (made_calls and stop_reason == "toolUse")
    return PickUp(
        turn=fold.open_turn,
        first_seq=start,
        step=step if isinstance(step, int) else 0,
        calls=tuple(_spec(call) for call in fold.open_calls.values()),
        stop_reason=stop_reason if ended and isinstance(stop_reason, str) else None,
        background=in_background(_opening(log, start)),
    )


def _turn_events(log: Log) -> tuple[int, JsonObject | None]:
    """Return the seq of the turn's start and the data of its last reply."""
    last: JsonObject | None = None
    for seq in range(len(log) - 1, -1, -1):
        event = log.event(seq)
        if event.type == "assistant/message" and last is None:
            data = event.data()
            last = data if isinstance(data, dict) else {}
        elif event.type == "turn/start":
            return seq, last
    return 0, last


def _opening(log: Log, start: int) -> list[JsonObject]:
    """Return the messages that opened the turn: they stand right before its start (K-38)."""
    messages: list[JsonObject] = []
    while start > 0 and (event := log.event(start - 1)).type == "user/message":
        data = event.data()
        messages.append(data if isinstance(data, dict) else {})
        start -= 1
    return messages


async def _reconciled(
    session_id: str, calls: Iterable[OpenCall], agent: Agent | None
) -> dict[str, CallOutcome]:
    known: dict[str, CallOutcome] = {}
    for call in calls:
        tool: object = agent.tools.get(call.name) if agent is not None else None
        if call.decision == "allow" and isinstance(tool, Reconciling):
            output = await _remembered(tool, f"{session_id}:{call.tool_call_id}")
            if output is not None:
                known[call.tool_call_id] = _of_a_stranger(outcome_of(output))
    return known


async def _remembered(tool: Reconciling, key: str) -> ToolOutput | None:
    """Return what the tool says of a call; one that fails or takes too long cannot say it (P8)."""
    with trio.move_on_after(RECONCILE_S):
        try:
            return await tool.reconcile(key)
        except Exception:  # noqa: BLE001 - the tool boundary: what it raises must not keep the session shut
            return None
    return None


def _of_a_stranger(outcome: CallOutcome) -> CallOutcome:
    """Return the outcome without names of blobs: before the session lives, none can be looked up."""
    content = outcome.content
    if isinstance(content, list):
        content = cast("list[JsonObject]", without_names([*content]))
    return attrs.evolve(outcome, content=content, meta=without_names(outcome.meta))


def _settled(draft: Draft, known: dict[str, CallOutcome]) -> Draft:
    outcome = known.get(_call_id(draft)) if draft.type == "tool/result" else None
    if outcome is None or not isinstance(draft.data, dict):
        return draft
    turn, step = draft.data.get("turn"), draft.data.get("step")
    assert draft.sources is not None
    spec = CallSpec(
        id=_call_id(draft),
        made_as=_call_id(draft),
        name="",
        arguments="",
        seq=draft.sources[0],
        turn=turn if isinstance(turn, int) else 0,
        step=step if isinstance(step, int) else 0,
    )
    return attrs.evolve(result_draft(outcome, spec), time_ms=draft.time_ms)


def _call_id(draft: Draft) -> str:
    return str(draft.data.get("toolCallId")) if isinstance(draft.data, dict) else ""


def _spec(call: OpenCall) -> CallSpec:
    return CallSpec(
        id=call.tool_call_id,
        made_as=call.tool_call_id,
        name=call.name,
        arguments=_text(call.arguments),
        seq=call.seq,
        turn=call.turn or 0,
        step=call.step or 0,
    )


def _text(arguments: JsonValue) -> str:
    return arguments if isinstance(arguments, str) else ""
