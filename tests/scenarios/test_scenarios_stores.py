"""What users of comparable systems lost, asked of an engine on a file: each test names the scenario it plays."""

import gc
import random  # noqa: TID251 - a seeded one
import subprocess
import sys
from pathlib import Path

import pytest
import trio
from promises import keeps_its_promises, of

from actors.errors import GreenroomError
from actors.errors.store import (
    ConflictError,
    SessionNotFoundError,
    StoreOwnedError,
    StoreUnavailableError,
)
from actors.testing.model import ScriptedModel
from actors.testing.script import Call, CallTools, Fail, Hang, Say
from actors.testing.tools import CountingTool, SleepingTool
from runtime import open_engine
from runtime.stores.open import open_store
from runtime.stores.settings import SqliteSettings
from tests.scenarios.busy_child import NAMES
from tests.stores.child_process import ROOT, open_child
from tests.stores.faulty_vfs import faulty_files
from tests.stores.plug_pulled import Disk, all_of_them, any_of_them, the_last_one_torn
from tests.stores.sqlite_probes import raw


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "store.db"


def fine(text="fine"):
    return ScriptedModel(lambda _request: Say(text, pieces=3))


async def killed_while_tools_run(path: Path) -> None:
    command = [sys.executable, "-m", "tests.scenarios.busy_child", str(path)]
    child = await trio.lowlevel.open_process(command, cwd=ROOT, stdout=subprocess.PIPE)
    said = b""
    while said.count(b"running") < len(NAMES):
        said += await child.stdout.receive_some()
    child.kill()
    await child.wait()
    await child.stdout.aclose()


async def test_s11_after_a_kill_no_session_is_busy_and_a_second_restart_adds_nothing(path):
    await killed_while_tools_run(path)
    logs = []
    for _ in range(2):
        async with open_engine(str(path), model=fine()) as engine:
            for name in NAMES:
                session = engine.session(name)
                assert (await session.inspect()).state in {"idle", "interrupted"}
                events = await keeps_its_promises(engine, session)
                (result,) = of(events, "tool/result")
                assert result["content"].startswith("TOOL_OUTCOME_UNKNOWN")
                assert of(events, "turn/end")[-1]["reason"] == "interrupted"
                logs.append(list(events))
    assert logs[:3] == logs[3:]


async def recorded_turns(path: Path) -> Disk:
    """The steps to the disk of an engine that answers three prompts, and how long the log was after each."""
    disk = Disk(path)
    with faulty_files() as faults:
        faults.listener = disk.tape.append
        model = ScriptedModel(
            lambda r: CallTools(Call("count")) if r.step == 1 and r.turn == 2 else Say("fine")
        )
        tools = [CountingTool(effect="read")]
        async with open_engine(str(path), model=model, tools=tools) as engine:
            session = await engine.create(id="s")
            for number in range(3):
                await session.run(f"question {number}")
                disk.mark("acked", "s", (await session.row()).length)
    return disk


@pytest.mark.parametrize("cut", [all_of_them, the_last_one_torn, any_of_them])
async def test_s28_a_store_cut_in_any_write_keeps_whole_turns_and_takes_new_ones(tmp_path, cut):
    disk, chance = await recorded_turns(tmp_path / "run.db"), random.Random(11)
    moments = [n for n in disk.moments() if disk.marks(n)]
    assert len(moments) > 20
    for moment in moments:
        image = tmp_path / f"{moment}.db"
        disk.write_image(moment, image, cut, chance)
        acked = disk.marks(moment)[-1].length
        async with open_engine(str(image), model=fine()) as engine:
            session = engine.session("s")
            kept = await session.read()
            assert len(kept) >= acked
            assert (await session.run("a new turn")).text == "fine"
        async with open_engine(str(image), model=fine()) as engine:
            events = await keeps_its_promises(engine, engine.session("s"))
            assert events[: len(kept)] == kept
            assert of(events, "user/message")[-1]["content"] == "a new turn"


async def test_s30_a_second_process_is_refused_and_told_the_owner_or_takes_over(path):
    async with open_child(path) as child:
        assert await child.tell("claim") == "ok 1"
        assert await child.tell("create s") == "ok 1"
        assert await child.tell("append s 0") == "ok 1"
        with pytest.raises(StoreOwnedError, match=rf"'the child' \(pid {child.process.pid}"):
            async with open_engine(str(path), model=fine()):
                pass
        async with open_engine(str(path), model=fine(), take_over=True) as engine:
            session = engine.session("s")
            assert (await session.run("mine now")).text == "fine"
            before = await session.read()
            answer = await child.tell(f"append s {len(before)}")
            assert answer.startswith("STORE_CONFLICT")
            assert "taken over by epoch 2" in answer
            assert await session.read() == before
            await keeps_its_promises(engine, session)


async def test_s30_an_engine_that_lost_its_store_ends_its_turns_and_writes_nothing_more(path):
    async with open_engine(str(path), model=fine()) as engine:
        session = await engine.create(id="s")
        await session.run("one")
        before = await session.read()
        async with open_child(path) as child:
            assert await child.tell("take") == "ok 2"
            with pytest.raises(GreenroomError) as refused:
                await session.run("two")
            assert "taken over by epoch 2" in str(refused.value)
            with pytest.raises(ConflictError):
                await engine.create(id="t")
            assert await session.read() == before


async def test_s31_whoever_switches_quickly_finds_each_event_where_it_was_sent(path):
    model = ScriptedModel(lambda r: Say(f"this is {r.session_id}", pieces=4, delay_s=0.002))
    names, seen = ("a", "b", "c"), {}

    async def follow(session, *, task_status):
        async with session.events(after=-1) as feed:
            task_status.started()
            async for item in feed:
                seen.setdefault(session.id, []).append(item)

    async with open_engine(str(path), model=model) as engine, trio.open_nursery() as readers:
        for name in names:
            await readers.start(follow, await engine.create(id=name))
        turns = [
            await engine.session(name).prompt(f"{name} {number}", when="next")
            for number in range(10)
            for name in names
        ]
        for turn in turns:
            assert (await turn.result()).reason == "completed"
        readers.cancel_scope.cancel()
        for name in names:
            events = await keeps_its_promises(engine, engine.session(name))
            asked = [data["content"] for data in of(events, "user/message")]
            assert asked == [f"{name} {number}" for number in range(10)]
            others = [f"this is {other}" for other in names if other != name]
            assert not any(text in str(item) for text in others for item in seen[name])


async def test_s32_a_lock_from_outside_for_three_seconds_fails_no_turn(path):
    names = [f"s{number}" for number in range(32)]
    async with open_engine(str(path), model=fine()) as engine, open_child(path) as child:
        for name in names:
            await engine.create(id=name)
        finished = []

        async def work(name: str) -> None:
            for number in range(3):
                assert (await engine.session(name).run(f"{number}")).text == "fine"
            finished.append(name)

        async with trio.open_nursery() as nursery:
            await child.process.stdin.send_all(b"lock 3\n")
            assert await child.line() == "locked"
            began = trio.current_time()
            for name in names:
                nursery.start_soon(work, name)
            await trio.sleep(0.5)
            assert finished == []
            for name in names:  # what is read and told goes on meanwhile
                async with engine.session(name).events(after=-1):
                    await engine.session(name).row()
            assert trio.current_time() - began < 2.5
        for name in names:
            events = await keeps_its_promises(engine, engine.session(name))
            assert [data["content"] for data in of(events, "user/message")] == ["0", "1", "2"]


async def test_s32_when_the_wait_runs_out_the_caller_is_told_and_the_session_goes_on(path):
    settings = SqliteSettings(busy_timeout_s=0.3)
    async with (
        open_store(str(path), settings=settings) as store,
        open_engine(store, model=fine()) as engine,
        open_child(path) as child,
    ):
        session = await engine.create(id="s")
        await child.process.stdin.send_all(b"lock 1.5\n")
        assert await child.line() == "locked"
        with pytest.raises(StoreUnavailableError, match="another process holds") as refused:
            await session.run("now")
        assert refused.value.retryable
        assert (await child.line()).startswith("ok")
        assert (await session.run("again")).text == "fine"
        events = await keeps_its_promises(engine, session)
        assert [data["content"] for data in of(events, "user/message")] == ["again"]


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def of_kind(request):
    """Some sessions fail, some hang until they are interrupted."""
    kind = int(request.session_id[1:]) % 5
    return {0: Fail("quota"), 1: Hang("half")}.get(kind, Say("fine"))


async def use(engine, number: int) -> None:
    session = await engine.create(id=f"s{number}")
    if number % 5 == 1:
        turn = await session.prompt("wait")
        await session.interrupt().settled()
        await turn.result()
    else:
        await session.run("hello")
    await session.close()


@pytest.mark.parametrize("count", [250, pytest.param(5_000, marks=pytest.mark.slow)])
async def test_s33_after_many_sessions_files_connections_and_tasks_are_where_they_began(
    path, count
):
    async with open_engine(str(path), model=ScriptedModel(of_kind)) as engine:

        def level() -> tuple[int, int]:
            gc.collect()
            return open_files(), trio.lowlevel.current_statistics().tasks_living

        async def through(numbers: range) -> None:
            for start in numbers[::50]:
                async with trio.open_nursery() as nursery:
                    for number in range(start, min(start + 50, numbers.stop)):
                        nursery.start_soon(use, engine, number)
            while engine.active:
                for name in list(engine._stage.actors.states()):
                    await engine._stage.actors.stop(name)

        await through(range(50))
        before = level()
        await through(range(50, count))
        assert level() == before


async def test_s35_a_session_that_is_deleted_in_full_work_is_gone_with_all_that_hung_on_it(path):
    model = ScriptedModel(
        lambda r: Hang("half") if r.session_id == "child" else CallTools(Call("ask"), Call("slow"))
    )
    asking, slow = CountingTool(name="ask"), SleepingTool(name="slow", effect="read")
    ended: dict[str, str] = {}

    async def follow(session, *, task_status) -> None:
        async with session.events(after=-1) as feed:
            task_status.started()
            with pytest.raises(GreenroomError) as reason:
                async for _item in feed:
                    pass
            ended[session.id] = reason.value.code

    async with open_engine(str(path), model=model, tools=[asking, slow]) as engine:
        session = await engine.create(id="s")
        await engine.create(id="other")
        child = await engine.create(id="child", parent="s")
        async with engine.asks() as asks, trio.open_nursery() as readers:
            for followed in (session, child):
                await readers.start(follow, followed)
            await child.prompt("work")
            turn = await session.prompt("work")
            ask = await anext(aiter(asks))
            await session.delete()
            with pytest.raises(GreenroomError):
                await engine.answer(ask.id, "approve")
            with pytest.raises(GreenroomError):
                await turn.result()
        assert ended.keys() == {"s", "child"}
        assert asking.calls == []
        assert slow.running == 0
        for name in ended:
            with pytest.raises(SessionNotFoundError):
                await engine.session(name).inspect()
    async with open_engine(str(path), model=model) as engine:
        assert [row.record.id for row in (await engine.sessions()).sessions] == ["other"]
        assert await engine.unsettled() == []
    for name in ("s", "child"):
        assert f'"{name}"'.encode() not in path.read_bytes()


async def test_s29_one_damaged_session_of_a_hundred_is_listed_and_salvaged_and_harms_no_other(path):
    names = [f"s{number:02}" for number in range(100)]
    async with open_engine(str(path), model=fine()) as engine, trio.open_nursery() as nursery:
        for name in names:
            session = await engine.create(id=name)
            nursery.start_soon(session.run, "hello")
    raw(path, "UPDATE events SET body = x'7b7d' WHERE session = 42 AND seq IN (1, 3)")
    raw(path, "UPDATE events SET type = CAST(x'ff' AS TEXT) WHERE session = 42 AND seq = 2")
    for _ in range(2):  # and nothing is deleted by looking
        async with open_engine(str(path), model=fine()) as engine:
            rows = (await engine.sessions(limit=200)).sessions
            assert [row.record.id for row in rows] == names
            for name in names:
                session = engine.session(name)
                if name != "s41":
                    assert (await session.run("again")).text == "fine"
                    continue
                for verb in (session.inspect, session.read, lambda s=session: s.run("again")):
                    with pytest.raises(GreenroomError, match="session 's41' is damaged"):
                        await verb()
            assert engine.quarantined() == ["s41"]
            left = [event.seq for event in await engine._stage.services.store.salvage("s41")]
            assert left[:2] == [0, 4]


async def test_s32_a_command_that_waits_in_vain_says_who_holds_the_store_and_fails(path):
    async with open_store(str(path)), open_child(path) as child:
        await child.process.stdin.send_all(b"lock 100\n")
        assert await child.line() == "locked"
        command = [sys.executable, "-c", "from runtime.cli.main import main; main()"]
        ended = await trio.run_process(
            [*command, "vacuum", str(path)], cwd=ROOT, check=False, capture_stderr=True
        )
    assert ended.returncode == 1
    assert f"locked: pid {child.process.pid}".encode() in ended.stderr
    assert b"[STORE_UNAVAILABLE]" in ended.stderr
