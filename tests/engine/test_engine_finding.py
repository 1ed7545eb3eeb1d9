"""Finding across the sessions of an engine (S-180, S-175, S section 13)."""

import apsw
import pytest

from actors.errors.log import EventDataError, UnknownEventTypeError
from actors.errors.message import MessageFieldError
from actors.ports.query import EventFilter
from actors.testing.model import ScriptedModel
from actors.testing.script import Call, CallTools, Say
from actors.testing.tools import CountingTool
from runtime import NEVER, open_engine
from runtime.engine.finding import Hit
from runtime.stores.memory import MemoryStore
from runtime.stores.sqlite import open_sqlite


@pytest.fixture(params=["memory", "sqlite"])
async def store(request, tmp_path):
    if request.param == "memory":
        yield MemoryStore()
    else:
        async with open_sqlite(tmp_path / "store.db") as opened:
            yield opened


def answers(request):
    if request.step == 1 and request.session_id.startswith("tool"):
        return CallTools(Call("look", '{"where":"behind the curtain"}'))
    return Say("A sparrow answers.")


@pytest.fixture
async def engine(store):
    tools = [CountingTool(name="look", effect="read")]
    model = ScriptedModel(answers)
    async with open_engine(store, model=model, tools=tools, policy=NEVER) as opened:
        yield opened


async def places(engine, text, **options) -> list[tuple[str, int]]:
    found = await engine.search(text, **options)
    return [(hit.session_id, hit.seq) for hit in found.hits]


async def typed(session, word: str) -> int:
    """Return the seq of the last event of a type."""
    page = await session._stage.services.store.read(session.id)
    return next(event.seq for event in reversed(page) if event.type == word)


async def test_what_users_models_and_calls_said_is_found(engine):
    session = await engine.create(id="tools")
    await session.run("Where is the nightingale?")
    asked, replied = await typed(session, "user/message"), await typed(session, "assistant/message")
    assert await places(engine, "NIGHTINGALE") == [("tools", asked)]
    assert ("tools", replied) in await places(engine, "sparrow answers")
    (called,) = await places(engine, "behind the curtain")
    assert asked < called[1] < replied


async def test_a_hit_shows_the_line_around_what_was_found(engine):
    session = await engine.create(id="s")
    await session.append("user/message", {"content": "x " * 100 + "the\nneedle here" + " y" * 100})
    (hit,) = (await engine.search("NEEDLE")).hits
    assert hit == Hit("s", 0, hit.excerpt)
    assert "x the needle here y" in hit.excerpt
    assert hit.excerpt[0] == hit.excerpt[-1] == "…"
    assert len(hit.excerpt) < 140


async def test_what_was_occluded_or_replaced_is_found_no_more(engine):
    session = await engine.create(id="s")
    for word in ("first", "second", "third"):
        await session.append("user/message", {"content": f"the {word} secret"})
    assert len(await places(engine, "secret")) == 3
    await session.occlude(0, 0)
    await session.occlude(1, 1, summary="a summary")
    assert await places(engine, "secret") == [("s", 2)]
    assert len(await places(engine, "a summary")) == 1


async def test_a_fork_is_searched_in_what_it_wrote_itself(engine):
    session = await engine.create(id="s")
    await session.run("the question of the parent")
    child = await session.fork(id="child")
    await child.run("the question of the child")
    assert {name for name, _ in await places(engine, "question of the parent")} == {"s"}
    assert {name for name, _ in await places(engine, "question of the", session="child")} == {
        "child"
    }


async def test_a_second_search_reads_only_sessions_that_have_grown(engine, store, monkeypatch):
    for name in "abc":
        await (await engine.create(id=name)).append("user/message", {"content": f"words of {name}"})
    assert len(await places(engine, "words of")) == 3
    read: list[str] = []
    really = store.read

    async def noted(session_id, *bounds):
        read.append(session_id)
        return await really(session_id, *bounds)

    monkeypatch.setattr(store, "read", noted)
    await engine.session("b").append("user/message", {"content": "more words of b"})
    assert len(await places(engine, "words of")) == 4
    assert read == ["b"]


async def test_pages_go_on_to_the_end(engine):
    session = await engine.create(id="s")
    for number in range(5):
        await session.append("user/message", {"content": f"same text {number}"})
    seqs, before = [], None
    while True:
        page = await engine.search("same text", before=before, limit=2)
        seqs += [hit.seq for hit in page.hits]
        if page.next is None:
            break
        before = page.next
    assert seqs == [4, 3, 2, 1, 0]


@pytest.mark.parametrize("text", ["", "ab", 7, None, "a\0cd"])
async def test_a_text_that_no_index_finds_is_refused(engine, text):
    with pytest.raises(MessageFieldError, match="3 characters"):
        await engine.search(text)


@pytest.mark.parametrize("limit", [0, -1, 10_001, "5", True])
async def test_a_page_of_no_size_is_refused(engine, limit):
    with pytest.raises(MessageFieldError, match="limit"):
        await engine.query(limit=limit)


async def test_a_query_finds_the_same_words_in_all_sessions(engine):
    for name in ("a", "b"):
        await (await engine.create(id=name)).run("hello")
    page = await engine.query(EventFilter(types=frozenset({"turn/end"})))
    assert {found.session_id for found in page.events} == {"a", "b"}
    assert {found.event.type for found in page.events} == {"turn/end"}


async def test_a_damaged_session_is_named_and_the_others_are_found(tmp_path):
    path = tmp_path / "store.db"
    async with open_engine(str(path)) as engine:
        for name in ("broken", "sound"):
            await (await engine.create(id=name)).append("user/message", {"content": "some words"})
    db = apsw.Connection(str(path))
    db.execute("UPDATE events SET crc = crc + 1 WHERE session = 1")
    db.close()
    async with open_engine(str(path)) as engine:
        found = await engine.search("some words")
        assert [hit.session_id for hit in found.hits] == ["sound"]
        assert list(found.unreadable) == ["broken"]
        page = await engine.query()
        assert [event.session_id for event in page.events] == ["sound"]
        assert list(page.unreadable) == [("broken", 0)]


async def test_the_audit_trail_takes_log_only_words_alone(engine):
    record = await engine.audit("llm/retry", {"who": "the host"})
    assert list(await engine.audited()) == [record]
    with pytest.raises(UnknownEventTypeError):
        await engine.audit("no/such", {})
    with pytest.raises(MessageFieldError, match="log-only"):
        await engine.audit("user/message", {})
    with pytest.raises(MessageFieldError, match="object"):
        await engine.audit("llm/retry", [])
    with pytest.raises(EventDataError):
        await engine.audit("llm/retry", {"x": float("nan")})
    assert len(await engine.audited(type="llm/retry")) == 1
