"""The records of the log: a draft that somebody wants to append, and the event it becomes.

An event's truth is its bytes: ``body`` is the JSON text of its data, made once at append. The same
bytes go to the store and to the wire; whoever wants ``data`` decodes a copy of their own, so nobody
can change a logged event.

Source: design 3, S section 2, D-1..D-9.
"""

from typing import Any, Final, TypeAlias

import attrs
import orjson

from actors.json import JsonValue


@attrs.frozen
class Replace:
    """The closed range of *positions* from ``start_seq`` to ``end_seq`` becomes the carrying node.

    Source: D-31, D-41.
    """

    start_seq: int
    end_seq: int


@attrs.frozen
class Hide:
    """Every node whose seq lies in the closed interval leaves the surface.

    Source: design 4, S section 7.
    """

    start_seq: int
    end_seq: int


SurfaceOp: TypeAlias = Replace | Hide


@attrs.frozen(slots=False)
class Draft:
    """What somebody wants to append; the log gives it its seq and its time.

    It lives for an append only; without slots it is made in half the time.
    """

    type: str
    data: JsonValue
    op: SurfaceOp | None = None
    sources: tuple[int, ...] | None = None
    ignorable: bool = False
    time_ms: int | None = None
    """Given only for synthetic events, which carry the time of what they close (S-15, S-113)."""


@attrs.frozen(weakref_slot=False)
class Event:
    """One logged event; immutable.

    Units: ``time_ms`` is milliseconds since 1970 by the clock of whoever appended; it may run backwards.
    """

    seq: int
    time_ms: int
    type: str
    body: bytes
    """The JSON text of the data (compact, insertion order)."""
    op: SurfaceOp | None = None
    sources: tuple[int, ...] | None = None
    ignorable: bool = False

    def data(self) -> JsonValue:
        """Return a copy of the data that belongs to the caller."""
        value: JsonValue = orjson.loads(self.body)
        return value


OpenEvent: Final[Any] = attrs.make_class(
    "OpenEvent",
    [field.name for field in attrs.fields(Event)],
    slots=True,
    eq=False,
    weakref_slot=False,
)
"""An event in the making, with the same slots. Setting its ``__class__`` to :class:`Event` closes it; both
together take a third of the time of a frozen class's own ``__init__``, which every append would pay."""
