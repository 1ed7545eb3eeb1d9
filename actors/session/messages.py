"""Everything that changes a session is one of these frozen messages, processed in mailbox order.

The verbs of ``runtime.Session`` are sugar over ``session.send(message)``.

Source: K-23.
"""

from typing import Final, Literal, TypeAlias, get_args

import attrs

from actors.json import JsonValue
from actors.log.events import SurfaceOp
from actors.log.inbox import ListName
from actors.log.projection import Content
from actors.session.ask import ClientWord
from actors.session.fields import (
    number,
    number_or_none,
    one_of,
    operation_or_none,
    text,
    text_or_none,
    text_or_number,
    truth,
    tuple_of,
)

When: TypeAlias = Literal["now", "next"]
ChildEnd: TypeAlias = Literal["closed", "settled", "deleted", "kept", "failed", "orphaned"]
Scope: TypeAlias = Literal["turn", "session", "tree", "engine"]


@attrs.frozen
class Append:
    """Append one event; refused when it would break an open turn."""

    type: str = attrs.field(validator=text)
    data: JsonValue
    op: SurfaceOp | None = attrs.field(default=None, validator=operation_or_none)
    sources: tuple[int, ...] | None = attrs.field(
        default=None, validator=attrs.validators.optional(tuple_of(int, "a tuple of seqs, or None"))
    )
    ignorable: bool = attrs.field(default=False, validator=truth)


@attrs.frozen
class AppendAll:
    """Append several events, all or none, in one batch with one answer."""

    appends: tuple[Append, ...] = attrs.field(validator=tuple_of(Append, "a tuple of Append"))


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

    at: int | None = attrs.field(default=None, validator=number_or_none)
    id: str | None = attrs.field(default=None, validator=text_or_none)


@attrs.frozen
class Prompt:
    """Input that starts a turn, or waits: ``now`` steers a running turn, ``next`` waits for the one after."""

    content: Content
    message_id: str | None = attrs.field(default=None, validator=text_or_none)
    when: When = attrs.field(default="now", validator=one_of("now", "next"))
    source: str = attrs.field(default="user", validator=text)
    background: bool = attrs.field(default=False, validator=truth)
    """Nobody is waiting at the other end: it may start only so many turns in a row (L-70)."""


@attrs.frozen
class Continue:
    """Let the model answer what stands last, without new input (L-10)."""


@attrs.frozen
class EditInput:
    """Give a waiting input another content; it keeps its id and its place."""

    message_id: str = attrs.field(validator=text)
    content: Content


@attrs.frozen
class MoveInput:
    """Put a waiting input at ``position`` of one of the two lists."""

    message_id: str = attrs.field(validator=text)
    target: ListName = attrs.field(validator=one_of("next-step", "next-turn"))
    position: int = attrs.field(default=0, validator=number)


@attrs.frozen
class WithdrawInput:
    """Take a waiting input back; it is never run."""

    message_id: str = attrs.field(validator=text)


@attrs.frozen
class Abandon:
    """Whoever owned this input is gone: withdraw it, or interrupt the turn that took it (K-24)."""

    message_id: str = attrs.field(validator=text)
    cause: str = attrs.field(default="caller", validator=text)


@attrs.frozen
class Hold:
    """Let nothing be taken from the queue until :class:`Release`; durable (K-8)."""


@attrs.frozen
class Release:
    """Undo :class:`Hold`; what waits may start a turn."""


@attrs.frozen
class Interrupt:
    """End what runs; ``cause`` is kept in the log (D-206)."""

    scope: Scope = attrs.field(
        default="turn", validator=one_of("turn", "session", "tree", "engine")
    )
    cause: str = attrs.field(default="user", validator=text)


@attrs.frozen
class Answer:
    """Settle one ask; the first answer wins."""

    ask_id: str = attrs.field(validator=text)
    answer: ClientWord
    by: str | None = attrs.field(default=None, validator=text_or_none)


@attrs.frozen
class Compact:
    """Summarise and hide the older part of the history."""


@attrs.frozen
class StartChild:
    """Make a session that belongs to this one; it ends with it unless it is kept (K-20)."""

    agent: str = attrs.field(default="default", validator=text)
    id: str | None = attrs.field(default=None, validator=text_or_none)


@attrs.frozen
class Delegate:
    """Make a child, prompt it, and take its result as an input when it has settled.

    ``requires`` names tools without which the work cannot be done (L-161).
    """

    content: Content
    agent: str = attrs.field(default="default", validator=text)
    id: str | None = attrs.field(default=None, validator=text_or_none)
    requires: tuple[str, ...] = attrs.field(default=(), validator=tuple_of(str, "a tuple of names"))


@attrs.frozen
class EndChild:
    """A child has ended, or is let go: ``kept`` lets it outlive this session."""

    child: str = attrs.field(validator=text)
    mode: ChildEnd = attrs.field(validator=one_of(*get_args(ChildEnd)))


@attrs.frozen
class Rename:
    """Set or clear the title."""

    title: str | None = attrs.field(validator=text_or_none)


@attrs.frozen
class Close:
    """Take no more input; durable, undone by :class:`Reopen` (K-22)."""


@attrs.frozen
class Reopen:
    """Undo :class:`Close`."""


QueueOperation: TypeAlias = EditInput | MoveInput | WithdrawInput | Hold | Release
Work: TypeAlias = (
    Append
    | AppendAll
    | Occlude
    | Fork
    | Prompt
    | Continue
    | Abandon
    | QueueOperation
    | Answer
    | Compact
    | StartChild
    | Delegate
    | EndChild
    | Rename
    | Close
    | Reopen
)
"""What goes through the mailbox."""
Message: TypeAlias = Work | Interrupt
"""Everything that can be sent to a session; an interrupt needs no mailbox, so it waits for nothing."""


@attrs.frozen
class ReadProjection:
    """Read the visible messages, as of everything that is durable."""


@attrs.frozen
class ReadQueue:
    """Read what waits."""


@attrs.frozen
class ReadInspection:
    """Read what the session is doing."""


@attrs.frozen
class AwaitResult:
    """Wait for the end of the turn that takes the input ``message_id``, or holds the event of that seq."""

    message_id: str | int = attrs.field(validator=text_or_number)


Read: TypeAlias = ReadProjection | ReadQueue | ReadInspection | AwaitResult
"""Messages that change nothing."""


MAIL: Final = frozenset((*get_args(Work), *get_args(Read)))
"""The types of everything that goes through a mailbox."""
