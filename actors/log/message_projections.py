"""Message projections: events that change the content of messages, never the surface.

Source: D-75..D-83, K-2.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

import attrs

from actors.errors.log import EventTypeConflictError
from actors.json import JsonValue
from actors.log.events import Event
from actors.log.image_offload import OFFLOAD, offload
from actors.log.stored import StoredEvents
from actors.log.surface import Node, Surface, Unset


@attrs.frozen
class ProjectionContext:
    """What a handler may look at: the surface before its event, and the earlier events."""

    _surface: Surface
    _find: Callable[[int], Node | None]
    _events: StoredEvents
    base_seq: int

    def nodes(self) -> Iterator[int]:
        """Yield the seqs of the nodes in order."""
        return (node.seq for node in self._surface)

    def is_node(self, seq: int) -> bool:
        """Return whether the event ``seq`` stands on the surface."""
        return self._find(seq) is not None

    def event(self, seq: int) -> Event:
        """Return an earlier event.

        Raises:
            IndexError: there is none, or it lies before the window.
        """
        return self._events.at(seq)

    def content(self, seq: int) -> JsonValue:
        """Return a node's content as earlier projections left it; None when it is no node."""
        node = self._find(seq)
        if node is not None and not isinstance(node.content, Unset):
            return node.content
        data = None if node is None else self._events.at(seq).data()
        return data.get("content") if isinstance(data, dict) else None


Handler: TypeAlias = Callable[[Event, ProjectionContext], Mapping[int, JsonValue]]
"""A pure function from its event to new contents by the seq of their node; it raises to refuse the event."""
Disposer: TypeAlias = Callable[[], None]


class Projections:
    """The handlers of the event types that are declared as projections; the engine's own is always there."""

    def __init__(self) -> None:
        self._handlers: dict[str, tuple[Handler, str]] = {OFFLOAD: (offload, "session")}

    def register(self, word: str, handler: Handler, *, owner: str) -> Disposer:
        """Add the handler of a type and return what takes it away again; calling that twice is harmless.

        Raises:
            EventTypeConflictError: the type has a handler (D-78).
        """
        if word in self._handlers:
            raise EventTypeConflictError(word, self._handlers[word][1])
        entry = (handler, owner)
        self._handlers[word] = entry

        def dispose() -> None:
            if self._handlers.get(word) is entry:
                del self._handlers[word]

        return dispose

    def find(self, word: str) -> Handler | None:
        """Return the handler of a type."""
        entry = self._handlers.get(word)
        return None if entry is None else entry[0]
