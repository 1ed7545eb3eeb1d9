"""What the waiting input tells its watchers once a record is logged.

Source: D-203, D-204.
"""

from typing import Literal, TypeAlias

import attrs

from actors.log.inbox import Inbox, Queued, Splice

NoticeKind: TypeAlias = Literal["inserted", "discarded", "claimed"]


@attrs.frozen
class Notice:
    """One message came to wait, was withdrawn, or was taken by the turn ``turn``."""

    kind: NoticeKind
    message: Queued
    turn: int | None = None


def notices(before: Inbox, record: Splice, *, turn: int | None = None) -> tuple[Notice, ...]:
    """Return the notices of a logged record: what left, then what came.

    Args:
        before: the lists as they were before the record.
        record: what was logged.
        turn: the turn that claims; looked at only when the record is a claim.
    """
    left = before.waiting(record.target)[record.start : record.start + record.removed]
    if record.canceled:
        gone = [Notice("discarded", message) for message in left]
    else:
        gone = [Notice("claimed", message, turn) for message in left]
    return (*gone, *(Notice("inserted", message) for message in record.inserted))
