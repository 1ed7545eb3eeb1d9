"""When a carrier may take an interval of seqs off the surface.

Source: S-80..S-92 with FIX, K-30, K-31, D-44.
"""

from collections.abc import Sequence
from typing import Final

from actors.errors.log import SurfaceOpError
from actors.json import JsonValue
from actors.log.core_words import SURFACE_WORDS
from actors.log.events import Hide
from actors.log.pairs import cuts_group, cuts_pair
from actors.log.state import State

_SPOKEN: Final = SURFACE_WORDS | {"tool/call", "turn/start", "turn/end"}
_LOOK_BACK: Final = 1000
"""Events behind a turn that a start may stand behind; more would make the check grow with the log."""


def check_hide_structure(state: State, op: Hide, sources: Sequence[int] | None) -> None:
    """Check what holds for every hide, also in a log that another system wrote.

    Raises:
        SurfaceOpError: the interval is not in the log, the sources do not fit, it would cover the system
            head, or it would take a part of what a replacement stands for.
    """
    _check_range(state, op)
    if sources is not None:
        _check_sources(state, op, sources)
    head = state.surface.first()
    if (
        head is not None
        and head.type == "system/message"
        and (op.start_seq <= head.key <= op.end_seq or op.start_seq <= head.seq <= op.end_seq)
    ):
        raise SurfaceOpError("system-head", "the system prompt cannot be hidden")
    _check_replacements(state, op)


def check_hide(
    state: State, event_type: str, data: JsonValue, op: Hide, sources: Sequence[int] | None
) -> None:
    """Check a hide before it is appended live.

    Raises:
        SurfaceOpError: it is refused, and nothing changed.
    """
    if not state.vocabulary.is_carrier(event_type):
        raise SurfaceOpError("carrier", f"{event_type} may not hide anything")
    _check_range(state, op)
    if sources is not None:
        _check_sources(state, op, sources)
    _check_untouched(state, op)
    check_hide_structure(state, op, sources)
    if event_type == "llm/retry":
        _check_retry_form(state, data, op)
    else:
        _check_general_form(state, op)


def _check_range(state: State, op: Hide) -> None:
    whole = type(op.start_seq) is int and type(op.end_seq) is int
    if not whole or not state.events.base <= op.start_seq <= op.end_seq < state.events.next_seq:
        raise SurfaceOpError("range", f"the log has the events below {state.events.next_seq}")


def _check_sources(state: State, op: Hide, sources: Sequence[int]) -> None:
    if any(type(seq) is not int or not 0 <= seq < state.events.next_seq for seq in sources):
        raise SurfaceOpError("source-ref", "each source must be an event of this log")
    covered = {seq for seq in sources if op.start_seq <= seq <= op.end_seq}
    if len(covered) != op.end_seq - op.start_seq + 1:
        raise SurfaceOpError("source-incomplete", "the sources must cover the interval")


def _check_replacements(state: State, op: Hide) -> None:
    """A replacement counts as its own seq and the run it stands for: all of it or none (K-31)."""
    before = state.surface.before(op.start_seq)
    cut = before is not None and before.last_key >= op.start_seq
    cut = cut or state.surface.top_seq(op.start_seq, op.end_seq) > op.end_seq
    cut = cut or any(
        key < op.start_seq
        for _, key in state.moves.standing(op.start_seq, op.end_seq, state.stands)
    )
    if cut:
        raise SurfaceOpError("cuts-replacement", "a part of what a replacement stands for")


def _check_untouched(state: State, op: Hide) -> None:
    hidden = state.hidden.first_in(op.start_seq, op.end_seq)
    carrier = state.hidden.first_carrier_in(op.start_seq, op.end_seq)
    if hidden is not None and (carrier is None or hidden <= carrier):
        raise SurfaceOpError("already-occluded", f"{hidden} is hidden already")
    if carrier is not None:
        raise SurfaceOpError("nested", f"{carrier} carries a hide itself")


def _check_general_form(state: State, op: Hide) -> None:
    if cuts_pair(state, op.start_seq, op.end_seq):
        raise SurfaceOpError("pair-cut", "a call would lose its result, or a result its call")
    if not _is_aligned(state, op.start_seq):
        raise SurfaceOpError("start-align", "start at a turn, or where an earlier interval ended")
    if cuts_group(state, op.start_seq, op.end_seq):
        raise SurfaceOpError("pair-cut", "a reply would lose its calls, or a call its reply")
    if state.open_turn is not None and op.end_seq > state.last_turn_end:
        raise SurfaceOpError("open-turn", "the running turn cannot be hidden")


def _is_aligned(state: State, start: int) -> bool:
    """Whether a turn starts or ended there, or an earlier interval ended there, or nothing but the head is before.

    Other than in S-86, events that are never visible may stand between the end of a turn and ``start``:
    our turns end in queue records, usage and carriers.
    """
    if start == state.events.base or state.events.at(start).type == "turn/start":
        return True
    if state.hidden.ends_at(start - 1) or _is_behind_turn(state, start):
        return True
    before = state.surface.before(start)
    # No interval may cover the head (D-44), so what follows it is a beginning.
    return (
        before is not None and before.type == "system/message" and before is state.surface.first()
    )


def _is_behind_turn(state: State, start: int) -> bool:
    for seq in range(start - 1, max(start - _LOOK_BACK, state.events.base) - 1, -1):
        word = state.events.at(seq).type
        if word in _SPOKEN:
            return word == "turn/end"
    return False


def _check_retry_form(state: State, data: JsonValue, op: Hide) -> None:
    if not isinstance(data, dict) or data.get("phase") != "scheduled":
        raise SurfaceOpError("retry-phase", "only a scheduled retry hides the failed attempt")
    failed = state.events.at(op.start_seq)
    reply = failed.data() if failed.type == "assistant/message" else None
    if not isinstance(reply, dict) or reply.get("stopReason") != "error":
        raise SurfaceOpError("retry-start", "it must start at a reply that ended in an error")
    if op.end_seq != state.events.next_seq - 1:
        raise SurfaceOpError("retry-tail", "it must reach to the end of the log")
    if state.last_turn_end < op.start_seq:
        raise SurfaceOpError("retry-unsettled", "the failed turn has not ended")
    if cuts_pair(state, op.start_seq, op.end_seq):
        raise SurfaceOpError("pair-cut", "a result would lose its call")
