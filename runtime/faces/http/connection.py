"""A connection that cannot be held up by its other end.

The server writes inside a shield, so a client that has stopped reading would keep it, and its end, waiting
for ever. Here every piece has a deadline of its own; behind it the connection is cut.
"""

from typing import Final

import trio

PIECE: Final = 65_536
"""Bytes that are written under one deadline, so that a slow line is no stalled one."""


class PatientStream:
    """A socket stream whose writes end in time."""

    def __init__(self, stream: trio.SocketStream, write_s: float) -> None:
        self._stream, self._write_s = stream, write_s

    @property
    def socket(self) -> trio.socket.SocketType:
        """The socket, for its addresses."""
        return self._stream.socket

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        """Send the data.

        Raises:
            trio.BrokenResourceError: the other end took nothing for too long; the connection is cut.
            trio.ClosedResourceError: it was cut before.
        """
        whole = memoryview(data)
        for start in range(0, len(whole), PIECE):
            with trio.move_on_after(self._write_s) as scope:
                await self._stream.send_all(whole[start : start + PIECE])
            if scope.cancelled_caught:
                self.cut()
                raise trio.BrokenResourceError

    async def receive_some(self, max_bytes: int | None = None) -> bytes | bytearray:
        """Receive some data; empty at the end."""
        return await self._stream.receive_some(max_bytes)

    async def send_eof(self) -> None:
        """Say that nothing more is sent."""
        await self._stream.send_eof()

    async def aclose(self) -> None:
        """Close the connection."""
        await self._stream.aclose()

    def cut(self) -> None:
        """Close the connection at once; whoever writes or reads on it is told."""
        self._stream.socket.close()
