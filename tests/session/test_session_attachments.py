"""Attachments: brought in beside the messages, named by digest, read through the session that holds them."""

from contextlib import aclosing, asynccontextmanager

import pytest
import trio
from promises import keeps_its_promises, of

from actors.errors.blobs import AttachmentError, BlobNotFoundError, BlobTooLargeError
from actors.errors.input import ContentError
from actors.errors.log import EventDataError, SurfaceOpError
from actors.log.blobs import digest_of
from actors.ports.model import BlockEnd, Finished
from actors.testing.model import ScriptedModel
from actors.testing.script import Call, CallTools, Say
from runtime import Limits, ToolContext, ToolOutput, open_engine, tool
from runtime.stores.memory import MemoryStore

PICTURE = b"\x89PNG" + bytes(range(256)) * 40
SAID = {"type": "text", "text": "look"}


def model(*replies):
    return ScriptedModel(list(replies) or (lambda _request: Say("ok")))


async def test_a_message_names_a_picture_and_the_session_reads_it_back():
    async with open_engine(model=model()) as engine:
        session = await engine.create()
        held = await session.attach(PICTURE, media_type="image/png", name="a b.png")
        assert held.block == {
            "type": "image",
            "blob": digest_of(PICTURE),
            "sizeBytes": len(PICTURE),
            "mediaType": "image/png",
            "name": "a b.png",
        }
        assert (await session.run([SAID, held.block])).completed
        stored = session.attachment(held.digest)
        assert await stored.size_bytes() == len(PICTURE)
        assert await stored.read() == PICTURE
        assert await stored.read(3, 7) == PICTURE[3:7]
        (message,) = of(await keeps_its_promises(engine, session), "user/message")
    assert message["content"] == [SAID, held.block]


async def test_content_may_come_in_pieces_and_the_iterator_is_closed():
    closed = []

    async def pieces():
        try:
            for at in range(0, len(PICTURE), 100):
                yield PICTURE[at : at + 100]
        finally:
            closed.append(True)

    async with open_engine(limits=Limits(blob_bytes=len(PICTURE))) as engine:
        session = await engine.create()
        held = await session.attach(pieces())
        assert (held.digest, held.block["type"]) == (digest_of(PICTURE), "file")
        assert closed == [True]


@pytest.mark.parametrize("in_pieces", [False, True])
async def test_too_large_content_is_refused_and_its_iterator_closed(in_pieces):
    closed = []

    async def pieces():
        try:
            while True:
                yield b"x" * 50
        finally:
            closed.append(True)

    async with open_engine(limits=Limits(blob_bytes=99)) as engine:
        session = await engine.create()
        with pytest.raises(BlobTooLargeError, match="99 bytes"):
            await session.attach(pieces() if in_pieces else b"y" * 100)
    assert closed == [True] * in_pieces


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../x", "a/b", "a\\b", "a\0b", "x" * 201, "\ud800", 7]
)
async def test_a_name_is_no_path(name):
    async with open_engine() as engine:
        session = await engine.create()
        with pytest.raises(AttachmentError, match="name"):
            await session.attach(b"x", name=name)


@pytest.mark.parametrize("media_type", ["", "image", "image/", "a b/c", "image/png\n", None])
async def test_a_media_type_has_its_form(media_type):
    async with open_engine() as engine:
        session = await engine.create()
        with pytest.raises(AttachmentError, match="media_type"):
            await session.attach(b"x", media_type=media_type)


async def test_content_is_bytes():
    async with open_engine() as engine:
        session = await engine.create()
        with pytest.raises(AttachmentError, match="content"):
            await session.attach("text")


async def test_another_session_can_neither_name_nor_read_it():
    async with open_engine(model=model()) as engine:
        mine, other = await engine.create(), await engine.create()
        held = await mine.attach(PICTURE, media_type="image/png")
        before = await other.read()
        for call in (
            lambda: other.run([held.block]),
            lambda: other.prompt([held.block], when="next"),
            lambda: other.append("user/message", {"content": [held.block]}),
            lambda: other.append_all([("user/message", {"content": [held.block]})]),
            lambda: other.attachment(held.digest).read(),
            lambda: other.attachment("../../etc/passwd").read(),
        ):
            with pytest.raises(BlobNotFoundError):
                await call()
        assert await other.read() == before
        assert (await other.run("and on it goes")).completed


async def test_a_summary_names_what_its_session_holds_or_is_refused():
    async with open_engine(model=model()) as engine:
        session, other = await engine.create(), await engine.create()
        held = await session.attach(PICTURE)
        for one in (session, other):
            await one.run("hello")
        first = of(await session.read(), "user/message")
        assert first
        event = await session.occlude(0, 0, summary=[held.block])
        assert held.digest.encode() in event.body
        with pytest.raises(BlobNotFoundError):
            await other.occlude(0, 0, summary=[held.block])


@pytest.mark.parametrize("blob", ["", "sha256:", "abc", 7, None, digest_of(b"").upper()])
async def test_a_block_whose_digest_is_none_is_refused(blob):
    async with open_engine(model=model()) as engine:
        session = await engine.create()
        with pytest.raises(ContentError, match="no digest"):
            await session.run([{"type": "image", "blob": blob}])


async def test_a_child_holds_what_its_work_names_and_nothing_else():
    async with open_engine(model=model()) as engine:
        session = await engine.create()
        held, kept_back = await session.attach(PICTURE * 100), await session.attach(b"mine")
        child = await session.delegate([held.block])
        assert await child.attachment(held.digest).read() == PICTURE * 100
        with pytest.raises(BlobNotFoundError):
            await child.attachment(kept_back.digest).read()
        stranger = {**held.block, "blob": digest_of(b"somebody else's")}
        with pytest.raises(BlobNotFoundError):
            await session.delegate([stranger])
        assert len(await session.children()) == 1


async def test_a_fork_reads_what_its_history_names():
    async with open_engine(model=model()) as engine:
        session = await engine.create()
        held = await session.attach(PICTURE)
        await session.run([held.block])
        later = await session.attach(b"later")
        fork = await session.fork()
        await session.delete()
        assert await fork.attachment(held.digest).read() == PICTURE
        assert (await fork.run([held.block])).completed
        with pytest.raises(BlobNotFoundError):
            await fork.attachment(later.digest).read()


async def test_a_model_that_names_a_blob_of_its_own_making_names_nothing():
    named = {"type": "odd", "blob": digest_of(PICTURE), "text": "x"}

    class Forging:
        """Closes a block that looks like an attachment."""

        name = "test/forging"

        @asynccontextmanager
        async def stream(self, _request):
            async def parts():
                await trio.lowlevel.checkpoint()
                yield BlockEnd(0, named)
                yield Finished("stop")

            async with aclosing(parts()) as made:
                yield made

    async with open_engine(model=Forging()) as engine:
        session = await engine.create()
        assert (await session.run("go")).completed
        (reply,) = of(await keeps_its_promises(engine, session), "assistant/message")
    assert reply["content"] == [{"type": "odd", "text": "x"}]


async def test_the_model_can_read_an_attached_text():
    calls = [CallTools(Call("ccr_retrieve", {"hash": digest_of(b"hello file")})), Say("read")]
    async with open_engine(model=model(*calls)) as engine:
        session = await engine.create()
        held = await session.attach(b"hello file", media_type="text/plain", name="f.txt")
        assert (await session.run([SAID, held.block])).completed
        (result,) = of(await keeps_its_promises(engine, session), "tool/result")
    assert result["content"].startswith("hello file\n\n[bytes 0 to 10 of 10]")


class Days:
    """A clock that stands until it is set."""

    def __init__(self):
        self.day = 100

    def now_ms(self):
        return self.day * 24 * 3600 * 1000


async def test_what_no_message_names_is_removed_after_a_day():
    clock, store = Days(), MemoryStore()
    async with open_engine(store, model=model(), clock=clock) as engine:
        session = await engine.create()
        named = await session.attach(b"named")
        forgotten = await session.attach(b"forgotten")
        await session.run([named.block])
        clock.day += 1
        await session.attach(b"young")
        assert await session.attachment(forgotten.digest).read() == b"forgotten"
        clock.day += 1
        await session.attach(b"younger")
        with pytest.raises(BlobNotFoundError):
            await session.attachment(forgotten.digest).read()
        assert await session.attachment(named.digest).read() == b"named"
    clock.day += 2
    async with open_engine(store, clock=clock) as engine:
        assert len(store._blobs._contents) == 1


async def test_a_picture_is_taken_out_of_view_and_stays_readable(tmp_path):
    path, asked = str(tmp_path / "store.db"), []

    def reply(request):
        asked.append([message.content for message in request.messages])
        return Say("ok")

    async with open_engine(path, model=ScriptedModel(reply)) as engine:
        session = await engine.create(id="s")
        held = await session.attach(PICTURE, media_type="image/png")
        await session.run([SAID, held.block])
        event = await session.offload_images(0, reason="old")
        assert event.data() == {"seqs": [0], "reason": "old"}
        await session.run("and now?")
        assert await session.attachment(held.digest).read() == PICTURE
        with pytest.raises(SurfaceOpError):
            await session.offload_images(0)
    async with open_engine(path, model=ScriptedModel(reply)) as engine:
        await engine.session("s").run("again")
    told = {"type": "text", "text": f"[picture image/png {held.digest}: taken out of view]"}
    assert asked[0][0] == [SAID, held.block]
    assert asked[1][0] == asked[2][0] == [SAID, told]


async def test_a_tool_attaches_a_picture_that_the_model_then_sees():
    @tool(effect="read")
    async def draw(name: str, ctx: ToolContext) -> ToolOutput:
        """Draw something."""
        held = await ctx.attach(PICTURE, media_type="image/png", name=name)
        return ToolOutput(content=[SAID, held])

    calls = [CallTools(Call("draw", {"name": "a.png"}), Call("draw", {"name": "../a"})), Say("ok")]
    async with open_engine(model=model(*calls), tools=[draw]) as engine:
        session = await engine.create()
        assert (await session.run("draw")).completed
        drawn, refused = of(await keeps_its_promises(engine, session), "tool/result")
        assert await session.attachment(drawn["content"][1]["blob"]).read() == PICTURE
    assert drawn["content"][1]["name"] == "a.png"
    assert refused["error"]["code"] == "ATTACHMENT_INVALID"


async def test_a_message_that_is_nested_without_end_is_refused_like_any_other():
    deep = {"blob": digest_of(PICTURE)}
    for _ in range(100_000):
        deep = {"content": [deep]}
    async with open_engine(model=model()) as engine:
        session = await engine.create()
        for _ in range(2):
            with pytest.raises((EventDataError, BlobNotFoundError)):
                await session.append("kv/written", {"key": "k", "value": deep})
            await session.attach(PICTURE)
        assert list(await session.read()) == []
