"""Attachments: content that is handed over beside the messages, and named in them by its digest.

Source: K-5, S-46 of the scenarios.
"""

import re
from collections.abc import AsyncGenerator, AsyncIterable
from contextlib import aclosing, suppress
from typing import Final

import attrs

from actors.errors import StoreError
from actors.errors.blobs import AttachmentError
from actors.errors.input import ContentError
from actors.ids import SessionId
from actors.json import JsonObject
from actors.log.blobs import Digest, blobs_of, is_digest
from actors.session.messages import Append, AppendAll, Delegate, EditInput, Occlude, Prompt
from actors.session.pieces import PIECE_BYTES, bounded
from actors.session.services import Services

UPLOAD_MS: Final = 24 * 3600 * 1000
"""How long an upload is kept that no message names."""
_SWEEP_MS: Final = 3600 * 1000
ANY_TYPE: Final = "application/octet-stream"

_MEDIA_TYPE: Final = re.compile(
    r"[\w!#$&^.+-]{1,60}/[\w!#$&^.+-]{1,60}(; ?[\w=\".-]{1,60})?", re.ASCII
)
_NAME: Final = re.compile(r"[^\x00-\x1f\x7f/\\\ud800-\udfff]{1,200}")
_NAMING: Final[dict[type, str]] = {
    Prompt: "content",
    EditInput: "content",
    Delegate: "content",
    Occlude: "summary",
    Append: "data",
    AppendAll: "appends",
}
"""Where a message may name a blob."""
_NESTED: Final = frozenset((list, dict, tuple))


@attrs.frozen(kw_only=True)
class Attachment:
    """Content that a session holds; ``block`` is what a message names it by."""

    digest: Digest
    size_bytes: int
    media_type: str
    name: str | None = None

    @property
    def block(self) -> JsonObject:
        """The content block: an image for a picture, else a file.

        Shape: ``{type: image | file, blob, sizeBytes, mediaType, name?}``.
        """
        block: JsonObject = {
            "type": "image" if self.media_type.startswith("image/") else "file",
            "blob": self.digest,
            "sizeBytes": self.size_bytes,
            "mediaType": self.media_type,
        }
        return block if self.name is None else block | {"name": self.name}


async def attach_to(
    services: Services,
    session_id: SessionId,
    content: bytes | AsyncIterable[bytes],
    *,
    media_type: str = ANY_TYPE,
    name: str | None = None,
) -> Attachment:
    """Keep content for a session, durable on return.

    Raises:
        AttachmentError: the type or the name cannot be meant.
        BlobTooLargeError: it is larger than ``Limits.blob_bytes``; nothing was kept.
        SessionNotFoundError: there is no such session.

    Cancellation:
        Nothing was kept.
    """
    _check(content, media_type, name)
    async with aclosing(bounded(content, services.limits.blob_bytes)) as pieces:
        blob = await services.store.put_blob(
            session_id, pieces, now_ms=services.clock.now_ms(), epoch=services.epoch
        )
    return Attachment(
        digest=blob.digest, size_bytes=blob.size_bytes, media_type=media_type, name=name
    )


class Uploads:
    """Brings attachments in, and from time to time lets go of those that no message named."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._swept_ms: int | None = None

    async def attach(
        self,
        session_id: SessionId,
        content: bytes | AsyncIterable[bytes],
        *,
        media_type: str = ANY_TYPE,
        name: str | None = None,
    ) -> Attachment:
        """See :func:`attach_to`."""
        await self.sweep()
        return await attach_to(
            self._services, session_id, content, media_type=media_type, name=name
        )

    async def sweep(self) -> None:
        """Let go of old uploads, unless that was done less than an hour ago; what fails now is done then."""
        now_ms, last_ms = self._services.clock.now_ms(), self._swept_ms
        if last_ms is not None and abs(now_ms - last_ms) < _SWEEP_MS:
            return
        self._swept_ms = now_ms
        with suppress(StoreError):
            await self._services.store.sweep_uploads(
                before_ms=now_ms - UPLOAD_MS, epoch=self._services.epoch
            )


def may_name(message: object) -> bool:
    """Return whether a message may name a blob; nearly none does, and every message is asked."""
    field = _NAMING.get(type(message))
    if field is None:
        return False
    value = getattr(message, field)
    if type(value) is dict:
        return "blob" in value or any(type(child) in _NESTED for child in value.values())
    return type(value) in _NESTED


async def check_named(services: Services, session_id: SessionId, message: object) -> None:
    """Check that the session holds every blob that a message names.

    Raises:
        BlobNotFoundError: one it does not hold.
        ContentError: a block names one in a form that is none.
    """
    for value in _values(message):
        _check_blocks(value)
        for digest in set(blobs_of(value)):
            await services.store.blob(session_id, digest)


async def hand_down(
    services: Services, session_id: SessionId, child: SessionId, content: object
) -> None:
    """Let a child hold what the content names that its parent holds.

    Raises:
        GreenroomError: one of them cannot be handed down.
    """
    for digest in set(blobs_of(content)):
        size_bytes = (await services.store.blob(session_id, digest)).size_bytes
        async with aclosing(_stored(services, session_id, digest, size_bytes)) as pieces:
            await services.store.put_blob(
                child, pieces, now_ms=services.clock.now_ms(), epoch=services.epoch
            )


async def _stored(
    services: Services, session_id: SessionId, digest: Digest, size_bytes: int
) -> AsyncGenerator[bytes, None]:
    for at in range(0, size_bytes, PIECE_BYTES):
        yield await services.store.read_blob(session_id, digest, at, at + PIECE_BYTES)


def _values(message: object) -> list[object]:
    """Return what may name a blob; a text does not."""
    found: list[object] = []
    if isinstance(message, Prompt | EditInput | Delegate):
        found = [message.content]
    elif isinstance(message, Occlude):
        found = [message.summary]
    elif isinstance(message, Append):
        found = [message.data]
    elif isinstance(message, AppendAll):
        found = [getattr(one, "data", None) for one in message.appends]
    return [value for value in found if isinstance(value, list | dict)]


def _check_blocks(value: object) -> None:
    content = value.get("content") if isinstance(value, dict) else value
    for block in content if isinstance(content, list) else ():
        if (
            isinstance(block, dict)
            and block.get("type") in {"image", "file"}
            and not is_digest(block.get("blob", "sha256:" + "0" * 64))
        ):
            raise ContentError("has a block whose blob is no digest: sha256: and 64 hex digits")


def _check(content: object, media_type: object, name: object) -> None:
    if not isinstance(content, bytes | AsyncIterable):
        raise AttachmentError("content", "give bytes, or an async iterable of bytes")
    if not isinstance(media_type, str) or _MEDIA_TYPE.fullmatch(media_type) is None:
        raise AttachmentError("media_type", "give a type such as image/png")
    if name is None:
        return
    if not isinstance(name, str) or _NAME.fullmatch(name) is None or name in {".", ".."}:
        raise AttachmentError("name", "give 1 to 200 characters without slashes; it is no path")
