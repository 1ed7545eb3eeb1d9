"""What was done to the store as a whole, beside all sessions."""

from collections.abc import Sequence
from typing import Protocol

import attrs

from actors.json import JsonObject


@attrs.frozen
class AuditRecord:
    """One record: ``id`` grows with every record and is never used twice.

    Source: S-175.
    """

    id: int
    time_ms: int
    type: str
    data: JsonObject


class AuditTrail(Protocol):
    """The part of a store that keeps what was done: only ever appended to, never part of a session."""

    async def audit(self, type: str, data: JsonObject, *, time_ms: int, epoch: int) -> AuditRecord:  # noqa: A002 - the rule's word
        """Append one record; durable on return.

        Raises:
            ConflictError: the epoch is stale.
        """
        ...

    async def audited(
        self,
        *,
        type: str | None = None,  # noqa: A002 - the rule's word
        limit: int = 100,
    ) -> Sequence[AuditRecord]:
        """Return the last ``limit`` records, of one type or of all, the newest first.

        Raises:
            StoreCorruptError: a record is no JSON object any more.

        Source: S-175.
        """
        ...
