"""The frames that wait for one client: bounded, and given up rather than grown.

Source: H-51, N-14.
"""

from collections.abc import Sequence
from typing import Final, NoReturn

import attrs
import trio

from actors.rules.outbound import CAPACITY, Frame, Outbound
from runtime.faces.wire.errors import OverloadedError

MAX_BYTES: Final = 16_777_216
PATIENCE_S: Final = 10.0


class Outbox:
    """What the readers of feeds put in, and the writer of a connection takes out.

    What the writer has taken counts until it is written. Live updates are dropped when there is no room.
    Other frames wait for room, as long as the client reads at all; one that has read nothing for
    ``patience_s`` is given up: the log has what it missed.

    Args:
        capacity: frames.
        max_bytes: what they may take together; one larger frame may still stand alone.
        patience_s: how long the client may read nothing while there is no room.
    """

    def __init__(
        self,
        capacity: int = CAPACITY,
        max_bytes: int = MAX_BYTES,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._capacity, self._max_bytes, self._patience_s = capacity, max_bytes, patience_s
        self._queue: Outbound[bytes] = Outbound(capacity=capacity)
        self._writing: Sequence[Frame[bytes]] = ()
        self._bytes = 0
        self._moved_s = trio.current_time()
        """When something was last written."""
        self._arrived = self._room = trio.Event()
        self._closed = self._given_up = False

    @property
    def given_up(self) -> bool:
        """Whether the client was given up."""
        return self._given_up

    @property
    def dropped(self) -> int:
        """How many live updates were dropped."""
        return self._queue.dropped

    async def put(self, body: bytes, *, droppable: bool = False) -> None:
        """Add a frame; one that cannot be dropped waits for room.

        Raises:
            OverloadedError: the client is given up; what is queued may still be written.

        Cancellation:
            If Cancelled is raised, the frame was not added.
        """
        frame = Frame(body, droppable)
        while not self._added(frame):
            self._room = trio.Event()
            with trio.move_on_at(self._moved_s + self._patience_s):
                await self._room.wait()
                continue
            self._give_up()

    def close(self) -> None:
        """Let the writer finish: nothing comes any more."""
        self._closed = True
        self._arrived.set()

    @property
    def ready(self) -> bool:
        """Whether :meth:`take` would return at once."""
        return bool(self._queue.queue) or self._closed

    async def take(self) -> bytes:
        """Return all that waits as one piece, which is being written now; empty at the end.

        Cancellation:
            A checkpoint when it waits; if Cancelled is raised, nothing was taken.
        """
        while not self._queue.queue:
            if self._closed:
                return b""
            self._arrived = trio.Event()
            await self._arrived.wait()
        self._queue, self._writing = self._queue.drained()
        self._moved_s = trio.current_time()
        return b"".join([frame.body for frame in self._writing])

    def written(self) -> None:
        """What was taken has been written."""
        self._bytes -= sum(len(frame.body) for frame in self._writing)
        self._writing = ()
        self._moved_s = trio.current_time()
        self._room.set()

    def _added(self, frame: Frame[bytes]) -> bool:
        """Add the frame or drop it; False when there is no room for it."""
        if self._given_up:
            self._give_up()
        before = self._bytes
        if before and before + len(frame.body) > self._max_bytes:
            return frame.droppable
        left = max(self._capacity - len(self._writing), 0)
        queue, word = attrs.evolve(self._queue, capacity=left).pushed(frame, blocked=True)
        if word == "overload":
            return False
        grown = len(queue.queue) > len(self._queue.queue)
        self._queue = queue
        if word == "queued":
            self._bytes = before + len(frame.body) if grown else self._counted()
            self._arrived.set()
        return True

    def _counted(self) -> int:
        return sum(len(frame.body) for frame in (*self._writing, *self._queue.queue))

    def _give_up(self) -> NoReturn:
        self._given_up = True
        self.close()
        raise OverloadedError("this client reads too slowly")
