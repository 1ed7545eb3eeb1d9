"""The output guard: what a tool returned in full is kept outside the log when no event may hold it.

Source: K-4, K-5, K-14, S-43 of the scenarios.
"""

import binascii
from base64 import b64decode
from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import aclosing
from typing import Final

import attrs
import trio

from actors.errors import StoreError, UsageError
from actors.errors.blobs import BlobTooLargeError
from actors.ids import SessionId
from actors.json import JsonObject, JsonValue
from actors.log.blobs import blobs_of
from actors.log.budget import Blocks
from actors.log.json_text import units
from actors.log.overflow import (
    BLOCKS_TYPE,
    TEXT_TYPE,
    Kept,
    as_text,
    excerpt,
    is_large,
    kept_note,
    lone_text,
    lost_note,
    pieces,
    shown_bytes,
)
from actors.ports.blobs import Blob
from actors.ports.tool import Whole
from actors.session.call import CallOutcome, refused
from actors.session.pieces import bounded
from actors.session.services import Services

_INLINE_CHARS: Final = 4096
"""Base64 of a picture that may stand in the log."""


class Keeper:
    """Guards the outputs of one session's calls.

    ``give_up()`` may be called from any task: what is being written is not waited for any longer.
    """

    def __init__(self, services: Services, session_id: SessionId) -> None:
        self._services, self._session_id = services, session_id
        self._scope = trio.CancelScope()
        self._given_up = False

    def give_up(self) -> None:
        """Keep nothing more; safe to repeat."""
        self._given_up = True
        self._scope.cancel()

    async def guarded(self, outcome: CallOutcome) -> CallOutcome:
        """Return an outcome that an event can hold: pictures and large outputs by digest.

        What cannot be kept is cut, and the model is told why.

        Cancellation:
            Nothing was kept that an event will name.
        """
        try:
            await self._check_names(outcome)
            pictured = await self._with_pictures(await self._with_whole(outcome))
            large = is_large(pictured.content)
            return await self._with_excerpt(pictured) if large else pictured
        except UsageError as fault:
            told = refused("TOOL_RESULT_INVALID", str(fault))
            return attrs.evolve(told, voted=outcome.voted)

    async def _check_names(self, outcome: CallOutcome) -> None:
        """A result may name what the session holds, and nothing else."""
        content: JsonValue = (
            outcome.content if isinstance(outcome.content, str) else [*outcome.content]
        )
        for digest in (*blobs_of(content), *blobs_of(outcome.meta)):
            await self._services.store.blob(self._session_id, digest)

    async def _with_pictures(self, outcome: CallOutcome) -> CallOutcome:
        if isinstance(outcome.content, str) or not any(map(_is_inline, outcome.content)):
            return outcome
        blocks = [await self._picture(b) if _is_inline(b) else b for b in outcome.content]
        return attrs.evolve(outcome, content=blocks)

    async def _picture(self, block: JsonObject) -> JsonObject:
        """Return the block of a picture by digest; one that cannot be kept stays as it is, for the budget."""
        try:
            data = b64decode(str(block["data"]), validate=True)
        except (binascii.Error, ValueError):
            return block
        kept = await self._put(_in_turn([data]))
        if not isinstance(kept, Blob):
            return block
        rest = {key: value for key, value in block.items() if key != "data"}
        return rest | {"blob": kept.digest, "sizeBytes": kept.size_bytes}

    async def _with_excerpt(self, outcome: CallOutcome) -> CallOutcome:
        content = outcome.content
        text = as_text(content)
        counted = _Counted(text)
        blob = await self._put(_in_turn(counted))
        if not isinstance(blob, Blob):
            cut = excerpt(content, await _length(text), lost_note(blob))
            return attrs.evolve(outcome, content=cut)
        kept = Kept(digest=blob.digest, size_bytes=blob.size_bytes, media_type=_media_type(content))
        note = kept_note(kept, shown_bytes(content, counted.units))
        cut = excerpt(content, counted.units, note)
        return attrs.evolve(outcome, content=cut, overflow=kept.pointer())

    async def _with_whole(self, outcome: CallOutcome) -> CallOutcome:
        """Keep what the tool shows a part of, and say behind that part how to read it."""
        if outcome.whole is None:
            return outcome
        blob = await self._put(_readable(outcome.whole))
        if isinstance(blob, Blob):
            kept = Kept(digest=blob.digest, size_bytes=blob.size_bytes, media_type=TEXT_TYPE)
            return _noted(attrs.evolve(outcome, overflow=kept.pointer()), kept_note(kept, 0))
        return _noted(outcome, lost_note(blob))

    async def _put(self, chunks: AsyncGenerator[bytes, None]) -> Blob | str:
        """Keep content; when that cannot be, say why."""
        limit = self._services.limits.blob_bytes
        with trio.CancelScope() as self._scope:
            if self._given_up:
                self._scope.cancel()
            try:
                async with aclosing(bounded(chunks, limit)) as bytes_:
                    return await self._services.store.put_blob(
                        self._session_id,
                        bytes_,
                        now_ms=self._services.clock.now_ms(),
                        epoch=self._services.epoch,
                    )
            except _UnreadableError as failed:
                return f"it could not be read: {failed}"
            except BlobTooLargeError:
                return f"it has more than {limit} bytes"
            except StoreError as failed:
                return f"{failed.code}"
        return "the turn was interrupted"


class _Counted:
    """The bytes of a text piece by piece, and its length as it goes by."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.units = 0

    def __iter__(self) -> Iterator[bytes]:
        for piece in pieces(self._text):
            self.units += units(piece)
            yield piece.encode()


class _UnreadableError(Exception):
    """A tool's own output cannot be read any more."""


async def _readable(whole: Whole) -> AsyncGenerator[bytes, None]:
    """Yield the pieces of a tool's output, and close what it opened.

    Raises:
        _UnreadableError: the tool raised; its exceptions are a result, and no fault of the session.
    """
    try:
        opened = whole()
        try:
            async for piece in opened:
                yield bytes(piece)
        finally:
            await opened.aclose()
    except Exception as raised:
        # The tool boundary: what comes from a tool may raise anything.
        raise _UnreadableError(f"{type(raised).__name__}: {raised}") from raised


def _noted(outcome: CallOutcome, note: str) -> CallOutcome:
    """Return the outcome with a note behind its content, and nothing left to keep."""
    content = outcome.content
    block: JsonObject = {"type": "text", "text": note.strip()}
    noted = content + note if isinstance(content, str) else [*content, block]
    if is_large(noted):
        noted = excerpt(content, sum(map(units, pieces(as_text(content)))), note)
    return attrs.evolve(outcome, content=noted, whole=None)


async def _length(text: str) -> int:
    """Return the UTF-16 code units of a text of any length, letting others have their turn in between."""
    total = 0
    for piece in pieces(text):
        await trio.lowlevel.checkpoint()
        total += units(piece)
    return total


async def _in_turn(chunks: Iterable[bytes]) -> AsyncGenerator[bytes, None]:
    """Yield what is at hand, letting others have their turn in between."""
    for chunk in chunks:
        await trio.lowlevel.checkpoint()
        yield chunk


def _is_inline(block: object) -> bool:
    if not isinstance(block, dict):  # a tool may return anything
        return False
    data = block.get("data")
    return block.get("type") == "image" and isinstance(data, str) and len(data) > _INLINE_CHARS


def _media_type(content: str | Blocks) -> str:
    return TEXT_TYPE if isinstance(content, str) or lone_text(content) is not None else BLOCKS_TYPE
