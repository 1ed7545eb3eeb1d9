"""The two durable lists of waiting input, folded from ``agent/inbox/spliced``.

``next-step`` joins the running turn, ``next-turn`` gets a turn of its own. An inbox is a value: its
operations return the records to log, and :meth:`Inbox.after` the inbox once a record is logged.

Source: D-200..D-204, D-246, D-247, K-8.
"""

from collections.abc import Sequence
from itertools import chain
from typing import Final, Literal, TypeAlias, TypeGuard

import attrs

from actors.errors.log import DuplicateInputError, InboxSpliceError
from actors.json import JsonObject, JsonValue

ListName: TypeAlias = Literal["next-turn", "next-step"]
Queued: TypeAlias = JsonObject
"""A waiting message: ``{id, content, source?, ...}``."""

MOST_WAITING: Final = 1000
"""The most that may wait in both lists together; a log that says more is forged."""

_FIELDS: Final[dict[JsonValue, str]] = {"next-turn": "next_turn", "next-step": "next_step"}


@attrs.frozen(kw_only=True)
class Splice:
    """One record: ``removed`` entries leave at ``start``, then ``inserted`` stand there.

    ``canceled`` says that the removed entries were withdrawn, not claimed (D-204).
    """

    target: ListName
    start: int
    removed: int = 0
    inserted: tuple[Queued, ...] = ()
    canceled: bool = False

    def data(self) -> JsonObject:
        """Return the data of the event (D-201)."""
        data: JsonObject = {"target": self.target, "start": self.start}
        if self.removed:
            data["removedCount"] = self.removed
        data["inserted"] = list(self.inserted)
        if self.canceled:
            data["outcome"] = "canceled"
        return data


@attrs.frozen
class Inbox:
    """Both lists at one moment."""

    next_turn: tuple[Queued, ...] = ()
    next_step: tuple[Queued, ...] = ()

    @property
    def pending(self) -> int:
        """How many entries wait in both lists."""
        return len(self.next_turn) + len(self.next_step)

    def fork(self) -> "Inbox":
        """Return an inbox that goes its own way; a value needs no copy."""
        return self

    def waiting(self, target: ListName) -> tuple[Queued, ...]:
        """Return one of the lists."""
        return self.next_turn if target == "next-turn" else self.next_step

    def find(self, message_id: str) -> tuple[ListName, int] | None:
        """Return where an entry waits; ``next-turn`` is looked at first (D-247)."""
        for target in ("next-turn", "next-step"):
            for position, message in enumerate(self.waiting(target)):
                if message.get("id") == message_id:
                    return target, position
        return None

    def after(self, data: JsonValue) -> "Inbox":
        """Return the inbox after a logged record.

        Raises:
            InboxSpliceError: the record does not fit these lists (D-200).
            DuplicateInputError: an entry of that id waits already.
        """
        if not isinstance(data, dict) or data.get("target") not in _FIELDS:
            raise InboxSpliceError("it names neither list")
        target: ListName = "next-turn" if data["target"] == "next-turn" else "next-step"
        waiting = self.waiting(target)
        start, removed = data.get("start"), data.get("removedCount", 0)
        if not _is_count(start) or start > len(waiting):
            raise InboxSpliceError(f"it starts at {start!r} of {len(waiting)}")
        if not _is_count(removed) or start + removed > len(waiting):
            raise InboxSpliceError(f"it removes {removed!r} from {start} of {len(waiting)}")
        inserted = _messages(data.get("inserted"))
        kept = (*waiting[:start], *waiting[start + removed :])
        self._check_fresh(inserted, kept, target)
        if self.pending - removed + len(inserted) > MOST_WAITING:
            raise InboxSpliceError(f"more than {MOST_WAITING} messages would wait")
        changed = (*waiting[:start], *inserted, *waiting[start + removed :])
        return attrs.evolve(self, **{_FIELDS[target]: changed})

    def splice(
        self, target: ListName, start: int, removed: int = 0, inserted: Sequence[Queued] = ()
    ) -> Splice | None:
        """Return the record of an ordinary splice; None when it changes nothing.

        A negative start counts from the end, and what is too large is clamped (D-201).

        Raises:
            DuplicateInputError: an entry of that id waits already.
        """
        waiting = self.waiting(target)
        start = max(len(waiting) + start, 0) if start < 0 else min(start, len(waiting))
        removed = min(max(removed, 0), len(waiting) - start)
        if not removed and not inserted:
            return None
        kept = (*waiting[:start], *waiting[start + removed :])
        self._check_fresh(inserted, kept, target)
        return Splice(
            target=target,
            start=start,
            removed=removed,
            inserted=tuple(inserted),
            canceled=removed > 0,
        )

    def append(self, target: ListName, message: Queued) -> Splice:
        """Return the record that puts ``message`` at the end.

        Raises:
            DuplicateInputError: an entry of that id waits already.
        """
        return self._inserting(target, len(self.waiting(target)), message)

    def prepend(self, target: ListName, message: Queued) -> Splice:
        """Return the record that puts ``message`` in front.

        Raises:
            DuplicateInputError: an entry of that id waits already.
        """
        return self._inserting(target, 0, message)

    def remove(self, message_id: str) -> Splice | None:
        """Return the record that withdraws an entry; None when it does not wait."""
        found = self.find(message_id)
        return self.splice(*found, 1) if found is not None else None

    def replace(self, message_id: str, message: Queued) -> Splice | None:
        """Return the record that puts ``message`` in an entry's place; None when that does not wait.

        Raises:
            DuplicateInputError: another entry has the id of ``message``.
        """
        found = self.find(message_id)
        return self.splice(*found, 1, (message,)) if found is not None else None

    def clear(self) -> tuple[Splice, ...]:
        """Return the records that withdraw everything, ``next-step`` first (D-246)."""
        records = (
            self.splice("next-step", 0, len(self.next_step)),
            self.splice("next-turn", 0, len(self.next_turn)),
        )
        return tuple(record for record in records if record is not None)

    def claim(self, *, steps: int, turns: int) -> tuple[Splice, ...]:
        """Return the records that take the first entries of both lists, ``next-step`` first (D-211)."""
        taken: tuple[tuple[ListName, int], ...] = (("next-step", steps), ("next-turn", turns))
        return tuple(
            Splice(target=target, start=0, removed=min(count, len(self.waiting(target))))
            for target, count in taken
            if min(count, len(self.waiting(target))) > 0
        )

    def _inserting(self, target: ListName, start: int, message: Queued) -> Splice:
        self._check_fresh((message,), self.waiting(target), target)
        return Splice(target=target, start=start, inserted=(message,))

    def _check_fresh(
        self, inserted: Sequence[Queued], kept: Sequence[Queued], target: ListName
    ) -> None:
        other = self.next_step if target == "next-turn" else self.next_turn
        fresh: set[object] = set()
        for message in inserted:
            if message.get("id") in fresh:
                raise DuplicateInputError(str(message.get("id")))
            fresh.add(message.get("id"))
        for message in chain(kept, other) if fresh else ():
            if message.get("id") in fresh:
                raise DuplicateInputError(str(message.get("id")))


def _is_count(value: JsonValue) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _messages(value: JsonValue) -> tuple[Queued, ...]:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise InboxSpliceError("inserted is no list of messages")
    messages = tuple(item for item in value if isinstance(item, dict))
    if any(isinstance(message.get("id"), list | dict) for message in messages):
        raise InboxSpliceError("the id of a message is text")
    return messages
