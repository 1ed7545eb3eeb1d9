"""What a reader makes of a file: native events, and what is needed to write the file again.

Source: design 3, K-29, K-30, K-34, K-37.
"""

from typing import Literal, TypeAlias

import attrs

from actors.json import JsonObject
from actors.log.events import Event
from actors.log.fork import Profile
from actors.ports.store import Lineage, SessionRecord

FormatName: TypeAlias = Literal[
    "greenroom/session", "dsh", "berry-agent/session", "claude-code", "codex"
]


@attrs.frozen
class Note:
    """Something that was kept though it was not understood, or left out by a rule.

    ``rule`` is a stable word; ``line`` counts from 1, 0 stands for the file.
    """

    rule: str
    line: int
    detail: str = ""


@attrs.frozen(kw_only=True)
class Origin:
    """What the file says about its session, in native words; None where it says nothing."""

    id: str | None = None
    created_ms: int | None = None
    agent: str | None = None
    title: str | None = None
    parent: str | None = None
    lineage: Lineage | None = None


def origin_of(record: SessionRecord) -> Origin:
    """Return what an export says of a stored session."""
    return Origin(
        id=record.id,
        created_ms=record.created_ms,
        agent=record.agent,
        title=record.title,
        parent=record.parent,
        lineage=record.lineage,
    )


@attrs.frozen(kw_only=True)
class FileFacts:
    """Figures of the file itself.

    Units: ``size_bytes`` counts the text after decompression; ``lines`` those that are not blank.
    """

    size_bytes: int
    lines: int
    packed_rows: int = 0
    stored_seq: bool = True
    """Whether the events say their seqs; else the position gives them."""


@attrs.frozen(kw_only=True)
class ReadLog:
    """One session as it was read.

    ``header`` is the file's own, unchanged. ``words`` are the types that this reader knows although the
    native vocabulary does not. ``profile`` says by which evidence a cut log is closed.
    """

    format: FormatName
    version: int
    header: JsonObject
    origin: Origin
    events: tuple[Event, ...]
    profile: Profile = "native"
    words: frozenset[str] = frozenset()
    notes: tuple[Note, ...] = ()
    file: FileFacts
