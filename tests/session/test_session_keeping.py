"""Outputs that no event may hold are kept outside the log, and the model can read them."""

import base64
import re

import orjson
import pytest
import trio
from promises import keeps_its_promises, of

from actors.errors.blobs import BlobNotFoundError
from actors.log.blobs import digest_of
from actors.log.budget import CONTENT_BYTES
from actors.log.json_text import json_bytes
from actors.ports.tool import ToolOutput
from actors.testing.model import ScriptedModel
from actors.testing.script import Call, CallTools, Say
from runtime import Limits, open_engine, tool
from runtime.stores.memory import MemoryStore

TEXT = "".join(f"line {number} “quoted”\n" for number in range(20_000))
PIXELS = bytes(range(256)) * 40


@tool(effect="read")
async def speak(text: str = TEXT) -> str:
    """Say something long."""
    await trio.lowlevel.checkpoint()
    return text


def returning(content, meta=None, whole=None):
    @tool(effect="read", name="give")
    async def give() -> ToolOutput:
        """Give what the test wants."""
        await trio.lowlevel.checkpoint()
        return ToolOutput(content=content, meta=meta, whole=whole)

    return give


async def result_of(content, *, meta=None, limits=None, whole=None):
    """Return the data of the one tool result, and the engine's session while it is open."""
    model = ScriptedModel([CallTools(Call("give")), Say("done")])
    async with open_engine(
        model=model, tools=[returning(content, meta, whole)], limits=limits or Limits()
    ) as engine:
        session = await engine.create()
        assert (await session.run("go")).completed
        (result,) = of(await keeps_its_promises(engine, session), "tool/result")
        kept = None
        if "overflow" in result:
            kept = await engine._stage.services.store.read_blob(
                session.id, result["overflow"]["blob"]
            )
    return result, kept


async def test_a_long_text_is_cut_and_kept_as_a_whole():
    result, kept = await result_of(TEXT)
    assert kept == TEXT.encode()
    assert result["overflow"] == {
        "blob": digest_of(TEXT.encode()),
        "sizeBytes": len(TEXT.encode()),
        "mediaType": "text/plain; charset=utf-8",
    }
    content = result["content"]
    assert json_bytes(content) <= CONTENT_BYTES
    start, _, note = content.partition("…[truncated")
    assert TEXT.startswith(start)
    assert f'"fromByte": {len(start.encode())}' in note
    assert f"{len(TEXT) - len(start)} chars]" in note


@pytest.mark.parametrize("content", ["short", [{"type": "text", "text": "x" * 50_000}], "", []])
async def test_what_fits_is_logged_as_it_is(content):
    result, _ = await result_of(content)
    assert result["content"] == content
    assert "overflow" not in result


async def test_blocks_that_do_not_fit_are_kept_as_json():
    blocks = [{"type": "text", "text": f"{number} " + "y" * 30_000} for number in range(5)]
    result, kept = await result_of(blocks)
    assert orjson.loads(kept) == blocks
    assert result["content"][0] == blocks[0]
    assert json_bytes(result["content"]) <= CONTENT_BYTES + 200
    assert "read on with" in result["content"][-1]["text"]


async def test_a_lone_text_block_is_kept_as_text():
    result, kept = await result_of([{"type": "text", "text": TEXT}])
    assert kept == TEXT.encode()
    assert len(result["content"]) == 1


async def test_half_a_surrogate_pair_harms_nothing():
    result, kept = await result_of("\ud83d\ude00" * 70_000 + "\ud83d" * 3)
    assert kept.decode() == "😀" * 70_000 + "\ufffd" * 3
    assert "overflow" in result


async def test_a_picture_is_kept_by_digest():
    picture = {"type": "image", "data": base64.b64encode(PIXELS).decode(), "mimeType": "image/png"}
    result, _ = await result_of([{"type": "text", "text": "see"}, picture])
    assert result["content"][1] == {
        "type": "image",
        "mimeType": "image/png",
        "blob": digest_of(PIXELS),
        "sizeBytes": len(PIXELS),
    }


async def test_an_output_beyond_the_limit_is_cut_and_its_loss_stated():
    result, _ = await result_of(TEXT, limits=Limits(blob_bytes=1000))
    assert "overflow" not in result
    assert "not kept: it has more than 1000 bytes" in result["content"]
    assert json_bytes(result["content"]) <= CONTENT_BYTES


@pytest.mark.parametrize("place", ["content", "meta"])
async def test_a_tool_cannot_name_what_the_session_does_not_hold(place):
    named = {"type": "image", "blob": digest_of(b"somebody else's")}
    content = [named] if place == "content" else "text"
    result, _ = await result_of(content, meta=named if place == "meta" else None)
    assert result["error"]["code"] == "TOOL_RESULT_INVALID"
    assert "holds no blob" in result["content"]


async def pieces_of_the_whole():
    yield b"the first half, "
    await trio.lowlevel.checkpoint()
    yield "the second half: ü".encode()


async def test_what_a_tool_shows_a_part_of_is_kept_as_a_whole():
    result, kept = await result_of("...half: ü", whole=pieces_of_the_whole)
    assert kept.decode() == "the first half, the second half: ü"
    assert result["content"].startswith("...half: ü\n[the whole output has 35 bytes; read on with")
    assert result["overflow"]["blob"] == digest_of(kept)


async def test_a_part_that_does_not_fit_is_cut_and_still_says_where_the_whole_is():
    result, kept = await result_of([{"type": "text", "text": TEXT}], whole=pieces_of_the_whole)
    assert kept.decode() == "the first half, the second half: ü"
    assert json_bytes(result["content"]) <= CONTENT_BYTES + 200
    assert digest_of(kept) in result["content"][-1]["text"]


async def test_a_whole_that_cannot_be_read_costs_nothing_but_itself():
    async def broken():
        yield b"some"
        raise OSError("the disk went away")

    result, _ = await result_of("a part", whole=broken)
    assert "overflow" not in result
    assert "not kept: it could not be read: OSError: the disk went away" in result["content"]


async def test_malformed_blocks_are_the_mistake_of_the_tool():
    result, _ = await result_of([{"type": "text"}, {"type": "text", "text": "z" * 70_000}])
    assert result["error"]["code"] == "TOOL_RESULT_INVALID"


async def test_the_model_reads_the_whole_output_page_by_page():
    read = []

    def reply(request):
        last = request.messages[-1]
        text = last.output if hasattr(last, "output") else ""
        if not text:
            return CallTools(Call("speak"))
        assert "ccr_retrieve" in [schema.name for schema in request.tools]
        read.append(text)
        where = re.search(r'"hash": "(\S+)", "fromByte": (\d+)|()go on with fromByte (\d+)\]', text)
        if where is None:
            return Say("read")
        digest = where[1] or digest_of(TEXT.encode())
        return CallTools(
            Call("ccr_retrieve", {"hash": digest, "fromByte": int(where[2] or where[4])})
        )

    async with open_engine(model=ScriptedModel(reply), tools=[speak]) as engine:
        session = await engine.create()
        assert (await session.run("go")).completed
        await keeps_its_promises(engine, session)
    start, pages = read[0].partition("…[truncated")[0], read[1:]
    assert start + "".join(page.rpartition("\n\n[bytes")[0] for page in pages) == TEXT
    assert len(pages) > 5


async def test_the_list_names_outputs_and_an_unknown_digest_is_explained():
    calls = [
        CallTools(Call("speak")),
        CallTools(Call("ccr_retrieve"), Call("ccr_retrieve", {"hash": digest_of(b"guess")})),
        CallTools(Call("ccr_retrieve", {"hash": digest_of(TEXT.encode()), "fromByte": "1"})),
        Say("done"),
    ]
    async with open_engine(model=ScriptedModel(calls), tools=[speak]) as engine:
        session = await engine.create()
        assert (await session.run("go")).completed
        _, listed, unknown, refused = of(await keeps_its_promises(engine, session), "tool/result")
    assert listed["content"].startswith(digest_of(TEXT.encode()))
    assert "nothing is kept under" in unknown["content"]
    assert "error" not in unknown
    assert refused["error"]["code"] == "TOOL_INVALID_ARGS"


async def test_the_same_output_of_many_calls_is_kept_once():
    calls = [CallTools(Call("speak"), Call("speak")), CallTools(Call("speak")), Say("done")] * 3
    async with open_engine(model=ScriptedModel(calls), tools=[speak]) as engine:
        for _ in range(3):
            session = await engine.create()
            assert (await session.run("go")).completed
        store = engine._stage.services.store
        assert len(store._blobs._contents) == 1
        other = await engine.create()
        with pytest.raises(BlobNotFoundError):
            await store.blob(other.id, digest_of(TEXT.encode()))


async def test_an_interrupt_during_the_keeping_leaves_the_excerpt():
    class Stuck:
        """A store whose blobs take for ever."""

        def __init__(self, inner):
            self._inner = inner
            self.begun = trio.Event()

        def __getattr__(self, name):
            return getattr(self._inner, name)

        async def put_blob(self, *_args, **_options):
            self.begun.set()
            await trio.sleep_forever()

    store = Stuck(MemoryStore())
    model = ScriptedModel([CallTools(Call("speak")), Say("never")])
    async with open_engine(store, model=model, tools=[speak]) as engine:
        session = await engine.create()
        turn = await session.prompt("go")
        await store.begun.wait()
        await session.interrupt().settled()
        assert (await turn.result()).reason == "aborted"
        (result,) = of(await keeps_its_promises(engine, session), "tool/result")
    assert "not kept: the turn was interrupted" in result["content"]
