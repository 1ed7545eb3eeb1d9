"""What happened to the calls of one batch, put into the order in which vectors tell it.

The order of what happens at one moment to calls that run beside each other is free. The order per call is
not, and neither is that a barrier comes after all that was before it.
"""

from collections.abc import Container, Mapping, Sequence
from typing import TypeAlias

import attrs

START, END, RUN = "tool_execution_start", "tool_execution_end", "run"


@attrs.frozen
class Happening:
    """``word`` happened to ``call`` (by the engine's id) at a time."""

    at_s: float
    word: str
    call: str


Segment: TypeAlias = tuple[str, ...]


def segments(calls: Sequence[tuple[str, str]], effects: Mapping[str, str | None]) -> list[Segment]:
    """Cut (id, tool) pairs at barriers: reads and unknown tools run beside each other (L-33)."""
    cut: list[list[str]] = []
    reading = False
    for call_id, tool in calls:
        reads = effects.get(tool, "read") == "read"
        if reads and reading:
            cut[-1].append(call_id)
        else:
            cut.append([call_id])
        reading = reads
    return [tuple(segment) for segment in cut]


def arranged(
    happened: Sequence[Happening], plan: Sequence[Segment], ran: Container[str]
) -> list[Happening]:
    """Return what happened in the order of vectors; as it is, when a barrier was not kept.

    ``ran`` holds the calls whose tool was started.
    """
    place = {call: index for index, segment in enumerate(plan) for call in segment}
    order = [place[h.call] for h in happened]
    if order != sorted(order):
        return list(happened)
    return [h for segment in plan for h in _segment(happened, segment, ran)]


def _segment(
    happened: Sequence[Happening], segment: Segment, ran: Container[str]
) -> list[Happening]:
    """Starts, with the end of what never ran; runs; then at each moment the ways to the end, and the ends."""
    of_call = {call: [h for h in happened if h.call == call] for call in segment}
    told: list[Happening] = []
    for call, mine in of_call.items():
        told += mine[:1] if call in ran else mine
    told += [h for call in of_call if call in ran for h in of_call[call][1:] if h.word == RUN]
    later = {c: [h for h in of_call[c][1:] if h.word != RUN] for c in of_call if c in ran}
    for at_s in sorted({h.at_s for mine in later.values() for h in mine}):
        now = [h for mine in later.values() for h in mine if h.at_s == at_s]
        told += [h for h in now if h.word != END]
        told += [h for h in now if h.word == END]
    return told
