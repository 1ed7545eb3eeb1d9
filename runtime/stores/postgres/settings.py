"""What an operator may choose about a PostgreSQL store."""

import attrs

from runtime.stores.settings import BlobSettings


@attrs.frozen(kw_only=True)
class PostgresSettings(BlobSettings):
    """How a PostgreSQL store connects, commits and reads.

    An acknowledged write is on the server's disk: a ``synchronous_commit`` that is off is put on.
    """

    group_events: int = 4096
    """A group that holds this many events is full."""
    group_delay_s: float = 0.0
    """How long a group waits for company before it is written. Even at 0 it takes along whatever was
    asked for in the same pass of the scheduler and while the group before it was written."""
    patience_s: float = 5.0
    """How long a call waits for a server that is not there, or for a lock that another holds."""
    statement_s: float = 30.0
    """When the server gives a statement up."""
    readers: int = 3
    """Reading connections, opened when they are needed; one more writes."""
    chunk_events: int = 2_000
    """Events that a long read fetches before it lets others have their turn."""
