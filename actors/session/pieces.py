"""Content on the way to a blob: in pieces, and no more of it than may be kept."""

from collections.abc import AsyncGenerator, AsyncIterable
from typing import Final

import trio

from actors.errors.blobs import BlobTooLargeError

PIECE_BYTES: Final = 256 * 1024


async def bounded(
    content: bytes | AsyncIterable[bytes], limit_bytes: int
) -> AsyncGenerator[bytes, None]:
    """Yield content in pieces; whatever is left of a generator is closed.

    Raises:
        BlobTooLargeError: it is more than ``limit_bytes``.
    """
    if isinstance(content, bytes):
        if len(content) > limit_bytes:
            raise BlobTooLargeError(limit_bytes)
        for at in range(0, len(content), PIECE_BYTES):
            await trio.lowlevel.checkpoint()
            yield content[at : at + PIECE_BYTES]
        return
    left = limit_bytes
    try:
        async for piece in content:
            left -= len(piece)
            if left < 0:
                raise BlobTooLargeError(limit_bytes)
            yield piece
    finally:
        if isinstance(content, AsyncGenerator):
            await content.aclose()
