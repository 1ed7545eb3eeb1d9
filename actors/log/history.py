"""Every replacement a log ever made, for whoever asks; the fold keeps no such list (D-51).

Source: D-50, S-68.
"""

from collections.abc import Iterable

import attrs

from actors.log.events import Event, Hide, Replace
from actors.log.hidden import Hidden
from actors.log.log import Log


@attrs.frozen
class Replacement:
    """One committed replacement; ``shadowed`` are the nodes it took, in surface order."""

    seq: int
    start_seq: int
    end_seq: int
    shadowed: tuple[int, ...]


def follow_replacements(log: Log, events: Iterable[Event]) -> tuple[Replacement, ...]:
    """Append stored events to ``log`` and return the replacements among them, in order.

    Raises:
        SurfaceOpError: as :meth:`actors.log.log.Log.load`.
        UnknownEventTypeError: as :meth:`actors.log.log.Log.load`.
    """
    made = []
    for event in events:
        if isinstance(event.op, Replace):
            start, end = event.op.start_seq, event.op.end_seq
            made.append(Replacement(event.seq, start, end, log.fold.between(start, end)))
        log.replay(event)
    return tuple(made)


def hidden_union(events: Iterable[Event]) -> tuple[tuple[int, int], ...]:
    """Return the union of all hidden intervals of a log, wherever they stand; an empty one hides nothing (S-68)."""
    union = Hidden()
    for event in events:
        if isinstance(event.op, Hide) and event.op.start_seq <= event.op.end_seq:
            union.add(event.op.start_seq, event.op.end_seq, event.seq)
    return union.intervals()
