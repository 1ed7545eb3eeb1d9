"""Where a client stands in a log, and whether that is still a place in it. Pure.

Source: H-28, H-29, H-42.
"""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Literal, TypeAlias

from runtime.faces.wire.errors import CursorError

Fault: TypeAlias = Literal["beyond-high-water", "tail-truncated"]


def judge_cursor(after: int, high_water: int) -> Fault | None:
    """Return what is wrong with reading on behind the seq ``after``; any negative one is the start."""
    return "beyond-high-water" if after >= max(high_water, 0) else None


def judge_tail(last_received: int | None, high_water: int) -> Fault | None:
    """Return whether the log ends before what a client has received, so that it must read all again."""
    truncated = last_received is not None and last_received >= high_water
    return "tail-truncated" if truncated else None


def check_cursor(after: int, high_water: int) -> None:
    """Check that a client may read on behind ``after``.

    Raises:
        CursorError: it is no seq of the log.
    """
    if judge_cursor(after, high_water) is not None:
        raise CursorError(after, high_water)


def live_start(seqs: Sequence[int], last_replayed: int) -> int:
    """Return the index of the first of the ascending ``seqs`` that was not replayed."""
    return bisect_right(seqs, last_replayed)
