"""The audit trail of a store: records that are only ever added.

Source: S-175.
"""

from typing import Any

import apsw
import attrs
import orjson

from actors.errors.store import StoreCorruptError
from actors.json import JsonObject
from actors.ports.audit import AuditRecord
from runtime.stores.reading import Read
from runtime.stores.transaction import Transaction
from runtime.stores.writes import Write

_ADD = "INSERT INTO audit (time, type, data) VALUES (?, ?, ?)"
_LAST = "SELECT id, time, type, data FROM audit ORDER BY id DESC LIMIT ?"
_LAST_OF_TYPE = "SELECT id, time, type, data FROM audit WHERE type = ? ORDER BY id DESC LIMIT ?"


@attrs.define(eq=False)
class AddRecord(Write):
    """Append one record."""

    type: str
    data: JsonObject
    time_ms: int

    def apply(self, to: Transaction) -> AuditRecord:
        """See the port."""
        to.fence(self.session_id, self.epoch)
        to.db.execute(_ADD, (self.time_ms, self.type, orjson.dumps(self.data).decode()))
        return AuditRecord(to.db.last_insert_rowid(), self.time_ms, self.type, self.data)


@attrs.define(eq=False)
class ReadRecords(Read):
    """Fetch the last records, of one type or of all."""

    type: str | None
    limit: int

    def run(self, db: apsw.Connection) -> list[AuditRecord]:
        """See the port."""
        if self.type is None:
            rows: Any = db.execute(_LAST, (self.limit,))
        else:
            rows = db.execute(_LAST_OF_TYPE, (self.type, self.limit))
        return [
            AuditRecord(key, time_ms, word, _object(key, text)) for key, time_ms, word, text in rows
        ]


def _object(key: int, text: str) -> JsonObject:
    try:
        data = orjson.loads(text)
    except ValueError:
        data = None
    if not isinstance(data, dict):
        raise StoreCorruptError("", f"audit record {key} is no JSON object")
    return data
