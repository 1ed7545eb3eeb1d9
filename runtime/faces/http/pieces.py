"""Content that goes out, or comes in, piece by piece.

Source: design 9, N-18, K-5.
"""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Final

import trio
from starlette.types import Message, Receive, Scope, Send

from actors.errors import GreenroomError
from runtime.faces.http.bodies import ClientGoneError
from runtime.faces.wire.errors import BodyTooSlowError

PIECE_BYTES: Final = 256 * 1024


class PieceAnswer:
    """An answer whose body is read while it is sent; a client that has gone is left at once.

    What can be refused must be refused before. When the content ends too early all the same (its session was
    deleted), the connection is cut, so that nobody takes what was sent for the whole.
    """

    def __init__(self, pieces: AsyncGenerator[bytes, None], headers: Mapping[str, str]) -> None:
        self._pieces, self._headers = pieces, headers
        self._complete = False

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        """Send the body."""
        headers = [
            (name.encode(), value.encode("latin-1")) for name, value in self._headers.items()
        ]
        async with aclosing(self._pieces), trio.open_nursery() as nursery:
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            nursery.start_soon(_until_gone, receive, nursery.cancel_scope)
            await self._send(send)
            nursery.cancel_scope.cancel()
        if self._complete:
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _send(self, send: Send) -> None:
        try:
            async for piece in self._pieces:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            self._complete = True
        except GreenroomError:
            return  # the cut says so


async def _until_gone(receive: Receive, scope: trio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


class Incoming:
    """The body of a request as it comes. Knows whether there is more of it."""

    def __init__(self, receive: Receive, silence_s: float) -> None:
        self._receive, self._silence_s = receive, silence_s
        self._more = True

    async def receive(self) -> Message:
        """Return the next message, as the server gives it."""
        message = await self._receive()
        self._more = message.get("more_body", False)
        return message

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        """Yield the body.

        Raises:
            ClientGoneError: the client hung up.
            BodyTooSlowError: nothing came for too long.
        """
        while self._more:
            piece = await self._next()
            if piece:
                yield piece

    async def drain(self) -> None:
        """Take the rest in without keeping it, so that the client reads why it was refused (H-13); bounded."""
        with trio.move_on_after(self._silence_s):
            while self._more:
                await self.receive()

    async def _next(self) -> bytes:
        with trio.move_on_after(self._silence_s):
            message = await self.receive()
            if message["type"] == "http.disconnect":
                raise ClientGoneError
            piece: bytes = message.get("body", b"")
            return piece
        raise BodyTooSlowError(self._silence_s)
