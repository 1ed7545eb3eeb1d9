"""What an operator may choose about a store."""

from typing import Literal, TypeAlias

import attrs

Durability: TypeAlias = Literal["full", "normal", "memory"]
"""What survives a power cut: ``full`` everything acknowledged; ``normal`` all but the last commits;
``memory`` nothing is promised. A crash of the process alone loses nothing in any of them."""


@attrs.frozen(kw_only=True)
class BlobSettings:
    """How a store keeps content beside the events."""

    blob_piece_bytes: int = 512 * 1024
    """Bytes of a blob that one write brings in, so that no commit waits for a large one."""
    blob_read_bytes: int = 4 * 1024 * 1024
    """Bytes of a blob that a read fetches before it lets others have their turn."""


@attrs.frozen(kw_only=True)
class SqliteSettings(BlobSettings):
    """How a SQLite store commits and reads.

    Source: performance.md, points 3 and 4.
    """

    durability: Durability = "full"
    group_events: int = 4096
    """A group that holds this many events is full."""
    group_delay_s: float = 0.0
    """How long a group waits for company before it is written. Even at 0 it takes along whatever was
    asked for in the same pass of the scheduler and while the group before it was written."""
    checkpoint_pages: int = 10_000
    """Pages in the write-ahead log at which it is copied back into the database."""
    busy_timeout_s: float = 5.0
    """How long a write waits for another process that holds the database."""
    readers: int = 3
    """Reading connections."""
    chunk_events: int = 2_000
    """Events that a long read fetches before it lets others have their turn."""
