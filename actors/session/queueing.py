"""Operations on what waits: list, edit, move, withdraw, hold and release.

Every entry runs at most once, in its last accepted form; one that was taken cannot be changed any more.

Source: K-8, D-246..D-249.
"""

from typing import assert_never

from actors.errors.input import InputTakenError
from actors.log.events import Draft
from actors.log.inbox import Inbox, ListName, Queued, Splice
from actors.log.log import Log
from actors.session.answers import WaitingInput, WaitingInputs
from actors.session.content import content_value
from actors.session.messages import (
    EditInput,
    Hold,
    MoveInput,
    QueueOperation,
    Release,
    WithdrawInput,
)


def queue_drafts(log: Log, operation: QueueOperation) -> list[Draft]:
    """Return what an operation logs; nothing when it changes nothing.

    Raises:
        InputTakenError: the entry does not wait any more: it was taken or withdrawn, or never waited.
        ContentError: the new content is none.
    """
    fold = log.fold
    match operation:
        case EditInput(message_id, content):
            target, position = _place(fold.inbox, message_id)
            entry = fold.inbox.waiting(target)[position]
            edited = {**entry, "content": content_value(content)}
            return _logged(fold.inbox.replace(message_id, edited))
        case MoveInput(message_id, target, position):
            return _moved(fold.inbox, message_id, target, position)
        case WithdrawInput(message_id):
            _place(fold.inbox, message_id)
            return _logged(fold.inbox.remove(message_id))
        case Hold():
            return [] if fold.held else [_held(held=True)]
        case Release():
            return [_held(held=False)] if fold.held else []
        case _:
            assert_never(operation)


def waiting_inputs(log: Log) -> WaitingInputs:
    """Return the queue as it is."""
    inbox = log.fold.inbox
    return WaitingInputs(
        next_step=tuple(_shown(entry) for entry in inbox.next_step),
        next_turn=tuple(_shown(entry) for entry in inbox.next_turn),
        held=log.fold.held,
    )


def _moved(inbox: Inbox, message_id: str, target: ListName, position: int) -> list[Draft]:
    """Take the entry out and put it in again, in one batch."""
    source, at = _place(inbox, message_id)
    entry = inbox.waiting(source)[at]
    taken = Splice(target=source, start=at, removed=1, canceled=True)
    put = inbox.after(taken.data()).splice(target, position, 0, (entry,))
    return [*_logged(taken), *_logged(put)]


def _place(inbox: Inbox, message_id: str) -> tuple[ListName, int]:
    found = inbox.find(message_id)
    if found is None:
        raise InputTakenError(message_id)
    return found


def _logged(record: Splice | None) -> list[Draft]:
    return [Draft("agent/inbox/spliced", record.data())] if record is not None else []


def _held(*, held: bool) -> Draft:
    return Draft("agent/inbox/hold", {"held": held})


def _shown(entry: Queued) -> WaitingInput:
    return WaitingInput(
        message_id=str(entry.get("id")),
        content=entry.get("content"),
        source=entry.get("source"),
    )
