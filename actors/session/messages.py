"""Everything that changes a session is one of these frozen messages, processed in mailbox order.

The verbs of ``runtime.Session`` are sugar over ``session.send(message)``.

Source: K-23.
"""

from typing import Literal, TypeAlias

import attrs

from actors.json import JsonValue
from actors.log.events import SurfaceOp
from actors.log.projection import Content

When: TypeAlias = Literal["now", "next"]
Scope: TypeAlias = Literal["turn", "session", "tree", "engine"]
AnswerWord: TypeAlias = Literal["approve", "reject", "cancel", "always"]


@attrs.frozen
class Append:
    """Append one event; refused when it would break an open turn."""

    type: str
    data: JsonValue
    op: SurfaceOp | None = None
    sources: tuple[int, ...] | None = None
    ignorable: bool = False


@attrs.frozen
class Occlude:
    """Hide the closed interval of seqs; with ``summary``, one user message stands in its place."""

    start: int
    end: int
    summary: Content | None = None


@attrs.frozen
class Fork:
    """Make a child whose first events are this session's up to and including ``at``.

    ``at=None`` is the last closed turn with the complete compaction groups behind it (K-3).
    """

    at: int | None = None
    id: str | None = None


@attrs.frozen
class Prompt:
    """Input that starts a turn, or waits: ``now`` steers a running turn, ``next`` waits for the one after."""

    content: Content
    message_id: str | None = None
    when: When = "now"
    source: str = "user"


@attrs.frozen
class Interrupt:
    """End what runs; ``cause`` is kept in the log (D-206)."""

    scope: Scope = "turn"
    cause: str = "user"


@attrs.frozen
class Answer:
    """Settle one ask; the first answer wins."""

    ask_id: str
    answer: AnswerWord
    by: str | None = None


@attrs.frozen
class Compact:
    """Summarise and hide the older part of the history."""


@attrs.frozen
class Rename:
    """Set or clear the title."""

    title: str | None


@attrs.frozen
class Close:
    """Take no more input; durable, undone by :class:`Reopen` (K-22)."""


@attrs.frozen
class Reopen:
    """Undo :class:`Close`."""


Message: TypeAlias = (
    Append | Occlude | Fork | Prompt | Interrupt | Answer | Compact | Rename | Close | Reopen
)
