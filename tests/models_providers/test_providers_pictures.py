"""Pictures and files by digest reach a provider in its own form, or as a text that says why not."""

import base64
import json

import pytest

from actors.log.blobs import digest_of
from actors.log.projection import ToolResultMessage, UserMessage
from actors.ports.model import ModelRequest
from runtime.engine.opening import NEVER, open_engine
from runtime.models.provider_blobs import PICTURE_BYTES, with_pictures
from tests.fake_provider.answers import Answer, streamed
from tests.fake_provider.clients import served_model
from tests.fake_provider.server import Seen, open_fake_provider
from tests.fake_provider.wire_forms import FORMS, Form, Told, form_of, frames

forms = pytest.mark.parametrize("form", FORMS)
PICTURE = b"\x89PNG and so on"
DATA = base64.b64encode(PICTURE).decode()
BLOCK = {"type": "image", "blob": digest_of(PICTURE), "mediaType": "image/png", "name": "p.png"}


class Kept:
    """What a session holds."""

    def __init__(self, *contents: bytes) -> None:
        self._contents = {digest_of(content): content for content in contents}
        self.reads = 0

    async def read(self, digest: str, start: int, stop: int) -> bytes | None:
        self.reads += 1
        content = self._contents.get(digest)
        return None if content is None else content[start:stop]


def asked(*messages, blobs=None) -> ModelRequest:
    return ModelRequest(session_id="s", turn=1, step=1, model="p/m", messages=messages, blobs=blobs)


def answering(seen: Seen) -> Answer:
    return streamed(frames(form_of(seen.path), Told(text=("I see.",))))


def sent_picture(form: Form, body: dict) -> object:
    """Return where the form has the picture of the last user message."""
    said = body["input" if form == "responses" else "messages"][-1]["content"]
    part = said[1]
    return {
        "chat": lambda: part["image_url"]["url"],
        "responses": lambda: part["image_url"],
        "messages": lambda: part["source"],
    }[form]()


@forms
async def test_an_attached_picture_is_sent_and_sent_again_after_a_restart_to_the_byte(
    form: Form, tmp_path
) -> None:
    path = str(tmp_path / "store.db")
    async with (
        open_fake_provider(answering) as provider,
        served_model(form, provider.url) as model,
    ):
        async with open_engine(path, model=model, policy=NEVER) as engine:
            session = await engine.create(id="s")
            held = await session.attach(PICTURE, media_type="image/png")
            assert (await session.run([{"type": "text", "text": "See?"}, held.block])).completed
        async with open_engine(path, model=model, policy=NEVER) as engine:
            fork = await engine.session("s").fork(at=0)
            await engine.session("s").delete()
            await (await fork.go_on()).result()
        first, again = [seen.body for seen in provider.seen]
    url = f"data:image/png;base64,{DATA}"
    source = {"type": "base64", "media_type": "image/png", "data": DATA}
    assert sent_picture(form, json.loads(first)) == (source if form == "messages" else url)
    assert first == again


@forms
async def test_a_file_is_named_with_the_way_to_read_it(form: Form) -> None:
    async with (
        open_fake_provider(answering) as provider,
        served_model(form, provider.url) as model,
        open_engine(model=model, policy=NEVER) as engine,
    ):
        session = await engine.create()
        held = await session.attach(b"a,b\n1,2\n", media_type="text/csv", name="t.csv")
        assert (await session.run([held.block])).completed
        body = json.loads(provider.seen[0].body)
    assert "[file t.csv: text/csv, 8 bytes; read it with ccr_retrieve" in json.dumps(body)
    assert held.digest in json.dumps(body)
    assert "ccr_retrieve" in json.dumps(body["tools"])


async def test_a_picture_that_is_not_there_is_told() -> None:
    for blobs in (None, Kept(b"other")):
        request = await with_pictures(asked(UserMessage(0, [BLOCK]), blobs=blobs))
        (block,) = request.messages[0].content
        assert block["type"] == "text"
        assert "[picture p.png (image/png) left out: sha256:" in block["text"]


async def test_a_model_that_sees_no_pictures_is_told_so_and_nothing_is_read() -> None:
    kept = Kept(PICTURE)
    inline = {"type": "image", "data": DATA, "mimeType": "image/gif"}
    result = ToolResultMessage(1, "c", "t", [{"type": "text", "text": "here"}, BLOCK])
    request = await with_pictures(asked(UserMessage(0, [inline]), result, blobs=kept), seen=False)
    told = [request.messages[0].content[0]["text"], request.messages[1].output[1]["text"]]
    assert all("this model sees no pictures" in text for text in told)
    assert kept.reads == 0


@pytest.mark.parametrize(
    "block",
    [{**BLOCK, "mediaType": "image/tiff"}, {**BLOCK, "blob": 7}, {**BLOCK, "blob": "sha256:x"}],
)
async def test_what_no_provider_takes_is_told(block) -> None:
    request = await with_pictures(asked(UserMessage(0, [block]), blobs=Kept(PICTURE)))
    assert request.messages[0].content[0]["text"].startswith("[picture p.png (image/")


async def test_a_picture_that_is_too_large_is_told() -> None:
    huge = b"x" * (PICTURE_BYTES + 1)
    block = {**BLOCK, "blob": digest_of(huge)}
    request = await with_pictures(asked(UserMessage(0, [block]), blobs=Kept(huge)))
    assert "too large" in request.messages[0].content[0]["text"]


async def test_a_picture_that_stands_in_many_messages_is_read_once() -> None:
    kept = Kept(PICTURE)
    result = ToolResultMessage(1, "c", "t", [BLOCK, {"type": "text", "text": "x"}])
    request = await with_pictures(
        asked(UserMessage(0, [BLOCK, BLOCK]), result, UserMessage(2, "text"), blobs=kept)
    )
    assert kept.reads == 1
    shown = {"type": "image", "data": DATA, "mediaType": "image/png"}
    assert request.messages[0].content == [shown, shown]
    assert request.messages[1].output == [shown, {"type": "text", "text": "x"}]
    assert request.messages[2].content == "text"


async def test_a_request_without_pictures_is_left_alone() -> None:
    request = asked(UserMessage(0, [{"type": "text", "text": "x"}]), UserMessage(1, "y"))
    assert await with_pictures(request) is request
