"""Acknowledgements, told to another process while they happen: what it was told must survive a kill."""

from typing import Protocol

import trio

from actors.ids import SessionId


class Acks(Protocol):
    """Where acknowledgements go."""

    async def tell(self, session_id: SessionId, seq: int) -> None:
        """Say that the event is durable."""
        ...


class NoAcks(Acks):
    """Nobody wants to know."""

    async def tell(self, session_id: SessionId, seq: int) -> None:
        """Do nothing."""


class PipedAcks(Acks):
    """Writes one line ``SESSION SEQ`` for each to a file descriptor, which it then owns.

    A reader that has left is told nothing more.
    """

    def __init__(self, fd: int) -> None:
        self._stream = trio.lowlevel.FdStream(fd)
        self._turn = trio.Lock()
        self._heard = True

    async def tell(self, session_id: SessionId, seq: int) -> None:
        """Write the line; waits while the reader is slow."""
        async with self._turn:
            if self._heard:
                try:
                    await self._stream.send_all(f"{session_id} {seq}\n".encode())
                except trio.BrokenResourceError:
                    self._heard = False


def parse_ack(line: str) -> tuple[SessionId, int] | None:
    """Return what a line says; None for one that a kill cut off."""
    session_id, _, seq = line.rstrip("\n").partition(" ")
    if not line.endswith("\n") or not seq.isdecimal():
        return None
    return session_id, int(seq)
