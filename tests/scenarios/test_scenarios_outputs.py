"""A tool that returns far too much: what the model sees, what the log holds, what is kept (S-43)."""

import hashlib
from pathlib import Path

import pytest
import trio
from promises import keeps_its_promises, of

from actors.log.log import Log
from actors.log.projection import SystemMessage
from actors.log.request import request_messages
from actors.rules.compaction_settings import CompactionSettings
from actors.testing.model import ScriptedModel
from actors.testing.script import Call, CallTools, Say
from runtime import Agent, open_engine, tool
from runtime.formats.loading import load_log
from runtime.formats.reading import read_log
from runtime.formats.readlog import Origin
from runtime.formats.writing import write_native

LINE = "0123456789 and so on, line after line after line\n"
SMALL, LARGE = 8_000_000, 200_000_000
SPARE_BYTES = 48_000_000
"""What the process may grow by while the output is kept, whatever its size."""
PORTION = 1 << 20


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


class Peak:
    """The most memory of the process while the block runs."""

    def __init__(self) -> None:
        self.begin = self.most = resident_bytes()

    async def watch(self) -> None:
        while True:
            self.most = max(self.most, resident_bytes())
            await trio.sleep(0.01)


def last_said(request):
    """Return the last message that is not the engine's own."""
    return [m for m in request.messages if not isinstance(m, SystemMessage)][-1]


def long_model(digest: str, size: int) -> ScriptedModel:
    def answer(request):
        last = last_said(request)
        said = getattr(last, "content", None)
        if said == "list everything":
            return CallTools(Call("list_everything"))
        if said == "how does it end?":
            return CallTools(Call("ccr_retrieve", {"hash": digest, "fromByte": size - 100}))
        return Say("noted " * 200)

    return ScriptedModel(answer)


def agent(model: ScriptedModel, text: str) -> Agent:
    @tool(effect="read")
    async def list_everything() -> str:
        """List everything there is."""
        await trio.lowlevel.checkpoint()
        return text

    settings = CompactionSettings(tail_keep=2, cooldown_ms=1000)
    return Agent(name="a", model=model, tools=[list_everything], compaction=settings)


async def read_whole(session, digest: str) -> str:
    stored, sha = session.attachment(digest), hashlib.sha256()
    for start in range(0, await stored.size_bytes(), PORTION):
        sha.update(await stored.read(start, start + PORTION))
    return f"sha256:{sha.hexdigest()}"


@pytest.mark.parametrize("size", [SMALL, pytest.param(LARGE, marks=pytest.mark.slow)])
async def test_s43_a_huge_output_is_shown_in_part_and_kept_as_a_whole(tmp_path, size):
    path = str(tmp_path / "store.db")
    text = LINE * (size // len(LINE))
    size = len(text)
    digest = f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
    model, peak = long_model(digest, size), Peak()
    async with open_engine(path, agents=[agent(model, text)]) as engine:
        session = await engine.create(id="s", agent="a")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(peak.watch)
            assert (await session.run("list everything")).completed
            nursery.cancel_scope.cancel()
        assert peak.most - peak.begin < SPARE_BYTES
        shown = last_said(model.requests[-1]).output
        assert len(shown) < 64 * 1024
        assert shown.startswith(LINE)
        assert f"the whole output has {size} bytes; read on with ccr_retrieve" in shown
        assert max(len(event.body) for event in await session.read()) < 64 * 1024
        for number in range(4):
            await session.run(f"{number} " + "words " * 400)
        assert (await session.compact()).outcome == "compacted"
        await keeps_its_promises(engine, session)
    async with open_engine(path, agents=[agent(model, text)]) as engine:
        session = engine.session("s")
        assert (await session.run("how does it end?")).completed
        assert text[-50:] in of(await session.read(), "tool/result")[-1]["content"]
        assert await read_whole(session, digest) == digest
        events = await session.read()
    exported = b"".join(write_native(Origin(id="s"), events))
    assert digest.encode() in exported
    assert size > SMALL // 2 > len(exported)
    again = load_log(read_log(exported))
    before = request_messages(Log.load(events).projection().messages)
    assert request_messages(again.projection().messages) == before
