"""Content that is too large for one answer or one event: attachments, and a session as a file.

Source: design 3, design 9, K-5.
"""

from collections.abc import AsyncGenerator, Sequence
from typing import Final

import trio

from actors.errors.blobs import AttachmentError, BlobNotFoundError, BlobTooLargeError
from actors.errors.store import SessionNotFoundError
from actors.log.events import Event
from actors.log.wire import event_to_line
from actors.session.attachments import ANY_TYPE
from runtime.engine.attachment import StoredAttachment
from runtime.engine.session import Session
from runtime.faces.http.call import Call, Endpoint, Reply
from runtime.faces.http.pieces import PIECE_BYTES, PieceAnswer
from runtime.faces.http.session_endpoints import PATH, STORED, session_of
from runtime.faces.wire.errors import BodyTooSlowError
from runtime.faces.wire.forms import Field, Form
from runtime.faces.wire.replies import Kept
from runtime.faces.wire.shapes import to_json
from runtime.faces.wire.verbs import read_page
from runtime.formats.native import foreign_words, native_header
from runtime.formats.readlog import origin_of

LINES: Final = "application/x-ndjson"
EXPORT_EVENTS: Final = 200
"""Events that an export holds at the same time."""


async def attach(call: Call) -> Kept:
    """Keep the body for a session."""
    limit_s = call.services.limits.upload_s
    with trio.move_on_after(limit_s):
        return await _keep(session_of(call), call)
    raise BodyTooSlowError(limit_s)


async def _keep(session: Session, call: Call) -> Kept:
    await session.row()
    media_type = call.request.headers.get("content-type", ANY_TYPE)
    name = call.query.get("name")
    kept = await session.attach(call.incoming.pieces(), media_type=media_type, name=name)
    return Kept(
        digest=kept.digest,
        size_bytes=kept.size_bytes,
        media_type=kept.media_type,
        block=kept.block,
        name=kept.name,
    )


async def download(call: Call) -> PieceAnswer:
    """Send what a session holds."""
    stored = session_of(call).attachment(call.params["digest"])
    size_bytes = await stored.size_bytes()
    headers = {
        "content-type": call.query.get("media_type", ANY_TYPE),
        "content-length": str(size_bytes),
        "content-disposition": "attachment",  # to a browser it is never a page of this server
        "x-content-type-options": "nosniff",
    }
    return PieceAnswer(_ranges(stored, size_bytes), headers)


async def _ranges(stored: StoredAttachment, size_bytes: int) -> AsyncGenerator[bytes, None]:
    for start in range(0, size_bytes, PIECE_BYTES):
        yield await stored.read(start, start + PIECE_BYTES)


async def export(call: Call) -> PieceAnswer:
    """Send a session as a file. It is read once before, so that damage is refused and not found half-way."""
    session = session_of(call)
    row = await session.row()
    words: set[str] = set()
    async for page in _pages(session, row.length):
        words |= foreign_words(page)
    header = native_header(origin_of(row.record), row.length, words)
    return PieceAnswer(_lines(header, session, row.length), {"content-type": LINES})


async def _lines(
    header: dict[str, object], session: Session, stop: int
) -> AsyncGenerator[bytes, None]:
    yield to_json(header) + b"\n"
    async for page in _pages(session, stop):
        yield b"".join([event_to_line(event) + b"\n" for event in page])


async def _pages(session: Session, stop: int) -> AsyncGenerator[Sequence[Event], None]:
    """Yield the events below ``stop``, however many there are, a few at a time.

    Raises:
        SessionNotFoundError: the session was deleted meanwhile.
    """
    start = 0
    while start < stop:
        page = await read_page(session, start, stop, events=EXPORT_EVENTS)
        if not page:
            raise SessionNotFoundError(session.id)
        yield page
        start = page[-1].seq + 1


CONTENT: Final = (
    Endpoint(
        method="POST",
        path=f"{PATH}/attachments",
        handler=attach,
        summary="Keep the body for this session; content-type says what it is. Durable.",
        query=Form({"name": Field(kind="text", about="1 to 200 characters without slashes.")}),
        body="bytes",
        reply=Reply(status=201, shape=Kept),
        errors=(*STORED, AttachmentError, BlobTooLargeError),
    ),
    Endpoint(
        method="GET",
        path=f"{PATH}/attachments/:digest",
        handler=download,
        summary="What this session holds under a digest: an attachment, or a tool's whole output.",
        query=Form(
            {
                "mediaType": Field(
                    kind="text",
                    pattern=r"[A-Za-z0-9!#$&^_.+-]{1,60}/[A-Za-z0-9!#$&^_.+-]{1,60}",
                    about="What to send it as: the block that names it says what it is.",
                )
            }
        ),
        reply=Reply(media_type=ANY_TYPE, about="The content, as an attachment."),
        errors=(*STORED, BlobNotFoundError),
    ),
    Endpoint(
        method="GET",
        path=f"{PATH}/export",
        handler=export,
        summary="A session as a file: a header line, then one event per line.",
        reply=Reply(
            media_type=LINES, about="The format greenroom/session; its header counts the lines."
        ),
        errors=STORED,
    ),
)
