"""What users of comparable systems lost with sessions that own others, or are gone: S-11, S-35 to S-38."""

import subprocess
import sys
import textwrap
import time

import pytest
import trio
from promises import keeps_its_promises, of, words

from actors.errors.actor import FeedDetachedError
from actors.errors.asks import AskNotFoundError
from actors.errors.session import TurnLostError
from actors.errors.store import SessionNotFoundError, StoreUnavailableError
from actors.log.log import Log
from actors.testing.model import ScriptedModel
from actors.testing.script import Call, CallTools, Fail, Hang, Say
from actors.testing.tools import CountingTool, SleepingTool
from runtime import Limits, open_engine
from runtime.stores.memory import MemoryStore

KILLED = textwrap.dedent(
    """
    import sys, trio
    from actors.testing.model import ScriptedModel
    from actors.testing.script import Call, CallTools
    from actors.testing.tools import SleepingTool
    from runtime import open_engine

    async def main(path):
        model = ScriptedModel(lambda request: CallTools(Call("sleep"), Call("sleep")))
        tool = SleepingTool(effect="read", seconds=1000)
        async with open_engine(path, model=model, tools=[tool]) as engine:
            for name in "abc":
                session = await engine.create(id=name)
                await session.prompt("go", message_id="m")
            while tool.running < 6:
                await trio.sleep(0.01)
            print("running", flush=True)
            await trio.sleep_forever()

    trio.run(main, sys.argv[1])
    """
)


def kill_in_mid_call(path):
    command = [sys.executable, "-c", KILLED, path]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"running\n"
        child.kill()


async def test_s11_after_a_kill_no_session_is_busy_and_a_second_restart_repairs_nothing(tmp_path):
    path = str(tmp_path / "store.db")
    await trio.to_thread.run_sync(kill_in_mid_call, path)
    lengths = []
    for _ in range(2):
        async with open_engine(path) as engine:
            for name in "abc":
                session = engine.session(name)
                assert (await session.inspect()).state == "idle"
                events = await keeps_its_promises(engine, session)
                results = of(events, "tool/result")
                assert len(results) == 2
                assert all("TOOL_OUTCOME_UNKNOWN" in str(d["content"]) for d in results)
                assert of(events, "turn/end")[0]["reason"] == "interrupted"
                assert (await session.result("m")).reason == "interrupted"
                lengths.append(len(events))
            assert await engine.unsettled() == []
    assert lengths[:3] == lengths[3:]


async def test_s35_a_session_that_is_deleted_while_everything_runs_is_gone_for_good(autojump_clock):
    store, tool = MemoryStore(), CountingTool()

    def answer(request):
        return CallTools(Call("count")) if request.session_id == "s" else Hang()

    reasons: dict[str, str] = {}
    async with open_engine(store, model=ScriptedModel(answer), tools=[tool]) as engine:
        session = await engine.create(id="s")
        child = await engine.create(id="child", parent="s")
        grandchild = await child.delegate("go", id="grandchild")
        everyone = (session, child, grandchild)

        async def follow(of_whom):
            try:
                async with of_whom.events(-1) as feed:
                    async for _ in feed:
                        pass
            except FeedDetachedError as ended:
                reasons[of_whom.id] = str(ended)

        async with engine.asks() as asks, trio.open_nursery() as readers:
            for one in everyone:
                readers.start_soon(follow, one)
            await child.prompt("go")
            turn = await session.prompt("go")
            ask = await anext(asks)
            with trio.fail_after(20):
                await session.delete()
            with pytest.raises((TurnLostError, AskNotFoundError)):
                await engine.answer(ask.id, "approve")
            with trio.fail_after(1), pytest.raises(SessionNotFoundError):
                await turn.result()
        assert set(reasons) == {one.id for one in everyone}
        assert all("deleted" in reason for reason in reasons.values())
        await trio.sleep(1000)
        assert engine.active == 0
    assert tool.calls == []
    for recovery in ("close", "resume"):
        async with open_engine(store, model=ScriptedModel(answer), recovery=recovery) as engine:
            await trio.sleep(100)
            assert (await engine.sessions()).sessions == ()
            assert await engine.unsettled() == []
            with pytest.raises(SessionNotFoundError):
                await engine.session("s").inspect()
            again = await engine.create(id="s")  # the name is free: it is another session
            assert (await again.inspect()).events == 0
            await again.delete()


GAP_S = 0.5
"""What a trivial request may wait at most, on a machine that does other things too."""


async def test_s36_beside_fifty_streams_and_a_very_large_session_trivial_requests_are_quick():
    def answer(request):
        return Say("words " * 400, pieces=200, delay_s=0.01)

    async with open_engine(model=ScriptedModel(answer)) as engine:
        large = await engine.create(id="large")
        data = {"items": [{"text": "x" * 200}] * 5}
        for _ in range(20):
            await large.append_all([("todo/write", data)] * 1000)
        streaming = [await engine.create() for _ in range(50)]
        turns = [await session.prompt("go") for session in streaming]
        trivial = await engine.create()
        waits, gaps, over = [], [], trio.Event()

        async def heartbeat():
            while not over.is_set():
                before_s = time.perf_counter()
                await trio.lowlevel.checkpoint()
                gaps.append(time.perf_counter() - before_s)
                await trio.sleep(0.005)

        async def ask():
            while not over.is_set():
                before_s = time.perf_counter()
                await trivial.inspect()
                waits.append(time.perf_counter() - before_s)
                await trio.sleep(0.01)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(heartbeat)
            nursery.start_soon(ask)
            await trio.sleep(0.1)
            fork = await large.fork(19_999)
            assert (await fork.inspect()).events > 20_000
            engine._stage._desks["large"].rest()
            await trio.sleep(0.1)
            assert "large" not in engine._stage._desks
            assert (await large.inspect()).events == 20_000  # it was opened again
            async with large.events(-1, live=False) as feed:
                for _ in range(20_000):
                    await feed.receive()
            assert len(await large.read()) == 20_000
            before_s = time.perf_counter()
            await streaming[0].interrupt().settled()
            assert time.perf_counter() - before_s < GAP_S
            over.set()
        assert (await turns[0].result()).reason == "aborted"
        engine.interrupt()
    assert sorted(waits)[len(waits) * 95 // 100] < GAP_S
    assert sorted(gaps)[len(gaps) * 95 // 100] < GAP_S


async def test_s37_each_ended_child_frees_its_place_at_once_however_it_ended(autojump_clock):
    running = most = 0

    class Watching(SleepingTool):
        async def _act(self, seen):
            nonlocal running, most
            running += 1
            most = max(most, running)
            try:
                return await super()._act(seen)
            finally:
                running -= 1
                assert running >= 0

    def answer(request):
        kind = (
            int(request.session_id.removeprefix("c") or 0) % 4
            if request.session_id[0] == "c"
            else 9
        )
        if kind == 9:
            return Say("ok")
        if request.step > 1:
            return Say("done")
        slow = {0: "quick", 1: "quick", 2: "too_slow", 3: "quick"}[kind]
        return Fail("quota") if kind == 1 else CallTools(Call(slow))

    tools = [
        Watching(name="quick", effect="read", seconds=2),
        Watching(name="too_slow", effect="read", seconds=50, timeout_s=5, honours_signal=False),
    ]
    limits = Limits(children=4, background_wakes=100)
    async with open_engine(model=ScriptedModel(answer), tools=tools, limits=limits) as engine:
        parent = await engine.create(id="parent")
        children = []
        for wave in range(4):
            for number in range(10):
                child = await parent.delegate("go", id=f"c{10 * wave + number}")
                children.append(child)
                if number == 3:
                    child.interrupt()
            await trio.sleep(5)
        last = await parent.delegate("go", id="c40")
        with trio.fail_after(600):
            reasons = [(await child.result()).reason for child in children]
            assert (await last.result()).completed
        assert set(reasons) == {"completed", "error", "aborted"}
        await trio.sleep(100)
        assert engine._stage.services.delegated == {}
        events = await keeps_its_promises(engine, parent)
        assert Log.load(events).fold.children == {}
    assert most == 4
    assert [d["mode"] for d in of(events, "child/ended")] == ["settled"] * 41


class Waits(CountingTool):
    """A tool that hands work to a child and waits for its result."""

    engine = None

    async def _act(self, seen):
        child = await self.engine.session(seen.context.session_id).delegate("go", id="child")
        await child.result()
        return await super()._act(seen)


@pytest.mark.parametrize("how", ["fails", "times-out", "interrupted", "crashes", "kept"])
async def test_s38_no_child_runs_on_without_its_parent_unless_that_is_recorded(how, autojump_clock):
    class Fragile(MemoryStore):
        full = False

        async def append(self, session_id, events, **kwargs):
            if self.full and session_id == "parent":
                raise StoreUnavailableError("the disk", "it is full")
            await super().append(session_id, events, **kwargs)

    def answer(request):
        if request.session_id == "child":
            return Hang("still")
        return CallTools(Call("count")) if request.step == 1 else Say("done")

    store, waits = Fragile(), Waits(effect="read", timeout_s=20 if how == "times-out" else None)
    async with open_engine(store, model=ScriptedModel(answer), tools=[waits]) as engine:
        waits.engine = engine
        parent, child = await engine.create(id="parent"), engine.session("child")
        turn = await parent.prompt("go")
        await trio.sleep(1)
        assert (await child.inspect()).state == "running"
        if how == "kept":
            await parent.keep("child")
            await parent.close()
        elif how == "crashes":
            store.full = True
            with pytest.raises(StoreUnavailableError):
                await parent.append("todo/write", {"items": []})
            store.full = False
        elif how == "interrupted":
            await parent.interrupt("tree").settled()
        elif how == "fails":
            await child.interrupt().settled()
        else:
            await turn.result()
            await parent.interrupt("tree").settled()
        await trio.sleep(60)
        await parent.inspect()
        await trio.sleep(60)
        state = (await child.inspect()).state
        events = await keeps_its_promises(engine, parent)
        modes = [d["mode"] for d in of(events, "child/ended")]
        if how == "kept":
            assert (state, modes) == ("running", ["kept"])
            await child.interrupt().settled()
        else:
            assert state == "closed"
            assert len(modes) == 1
            assert modes[0] in {"settled", "orphaned", "closed"}
        its = await keeps_its_promises(engine, child)
        assert words(its).count("turn/end") == 1
