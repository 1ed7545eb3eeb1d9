"""Where a session is forked when nobody says where, and what the child's own events begin with.

Source: S-101, S-102 FIX, D-177..D-180, K-3, K-39.
"""

from typing import Final, Literal, TypeAlias

from actors.log.events import Draft
from actors.log.recovery import closers
from actors.log.recovery_dsh import repair_closers
from actors.log.state import State

Profile: TypeAlias = Literal["native", "dsh"]
"""Whose rules close a log: ours and berry-agent's, or DSH's (K-37)."""

_STOPS: Final = frozenset(
    (
        "system/message",
        "developer/message",
        "user/message",
        "assistant/message",
        "tool/call",
        "tool/result",
        "turn/start",
        "compaction/start",
        "session/end-seed",
    )
)


def fork_cut(state: State) -> int:
    """Return the number of events up to the last closed turn, 0 when no turn was closed.

    The log-only events and whole compaction brackets behind it are included.
    """
    if state.last_turn_end < 0:
        return 0
    seq = max(state.last_turn_end + 1, state.boundary)
    while seq < state.events.next_seq:
        following = _behind_bracket(state, seq)
        if following is None:
            return seq
        seq = following
    return seq


def stop_of_cut(state: State) -> range:
    """Return the seqs that say why :func:`fork_cut` goes no further, however the log goes on before its next turn ends."""
    start = fork_cut(state)
    if state.last_turn_end < 0 or start == state.events.next_seq:
        return range(0)
    if state.events.at(start).type != "compaction/start":
        return range(start, start + 1)
    return range(start, _end_of_bracket(state, start) + 1)


def _behind_bracket(state: State, seq: int) -> int | None:
    """Return where to go on behind the event or the whole bracket at ``seq``, None when it stops there."""
    word = state.events.at(seq).type
    if word != "compaction/start":
        return None if word in _STOPS else seq + 1
    end = _end_of_bracket(state, seq)
    whole = end < state.events.next_seq and state.events.at(end).type == "compaction/end"
    return end + 1 if whole else None


def _end_of_bracket(state: State, start: int) -> int:
    """Return the seq of what ends or breaks the bracket that starts there, or of the next event."""
    for inside in range(start + 1, state.events.next_seq):
        if state.events.at(inside).type in ("compaction/end", "turn/start", "compaction/start"):
            return inside
    return state.events.next_seq


def fork_closers(state: State, profile: Profile) -> tuple[Draft, ...]:
    """Return what follows the inherited events: the tagged marker, then what closes an open turn.

    An ask that was open at the cut is another session's to answer; in the child it is withdrawn.
    """
    last = state.events.last()
    time_ms = 0 if last is None else last.time_ms
    marker = Draft("session/end-seed", {"inherited": True}, time_ms=time_ms)
    if profile == "dsh":
        first_seq = state.events.next_seq + 1
        return (marker, *repair_closers(state.events, reason="forked", first_seq=first_seq))
    withdrawn = [
        Draft(
            "approval/decided",
            {"approvalId": name, "decision": "cancel", "source": "recovery"},
            time_ms=time_ms,
        )
        for name in state.asks
    ]
    rest = closers(state, reason="forked", cause=None)
    kept = [draft for draft in rest if draft.type != "compaction/end"]
    return (marker, *withdrawn, *kept)
