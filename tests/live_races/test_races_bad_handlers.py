"""What the embedding program brings may raise, block or never return: it costs its own call, and no more."""

import threading
from contextlib import asynccontextmanager

import pytest
import trio
from promises import keeps_its_promises, of, words

from actors.errors.children import ChildLimitError
from actors.log.events import Draft
from actors.log.log import Log
from actors.ports.store import SessionRecord
from actors.testing.model import ScriptedModel
from actors.testing.script import Call, CallTools, Say
from actors.testing.tools import CountingTool
from runtime import Limits, Policy, open_engine, tool
from runtime.stores.memory import MemoryStore


def one_call(name, arguments=None):
    def answer(request):
        if request.session_id == "neighbour":
            return Say("fine")
        return CallTools(Call(name, arguments or {})) if request.step == 1 else Say("done")

    return ScriptedModel(answer)


@asynccontextmanager
async def beside_a_neighbour(store=":memory:", **how):
    async with open_engine(store, **how) as engine:
        neighbour = await engine.create(id="neighbour")
        yield engine
        assert (await neighbour.run("and you?")).text == "fine"
        await keeps_its_promises(engine, neighbour)


async def test_a_tool_that_blocks_the_loop_for_a_moment_holds_it_for_that_moment_only():
    class Blocks(CountingTool):
        async def _act(self, seen):
            threading.Event().wait(0.3)
            return await super()._act(seen)

    model = one_call("count")
    async with beside_a_neighbour(model=model, tools=[Blocks(effect="read")]) as engine:
        session = await engine.create()
        began_s = trio.current_time()
        with trio.fail_after(10):
            assert (await session.run("go")).text == "done"
        assert 0.3 <= trio.current_time() - began_s < 5
        await keeps_its_promises(engine, session)


async def test_a_plain_function_that_blocks_leaves_the_loop_to_the_others():
    entered, leave = threading.Event(), threading.Event()

    @tool(effect="read")
    def slow() -> str:
        """Wait."""
        entered.set()
        leave.wait(20)
        return "woken"

    async with beside_a_neighbour(model=one_call("slow"), tools=[slow]) as engine:
        session, other = await engine.create(), await engine.create(id="neighbour2")
        turn = await session.prompt("go")
        with trio.fail_after(10):
            await trio.to_thread.run_sync(entered.wait, 10)
            await other.append("todo/write", {"items": []})
            leave.set()
            assert (await turn.result()).text == "done"
        events = await keeps_its_promises(engine, session)
    assert of(events, "tool/result")[0]["content"] == "woken"


class Question:
    """Is asked, and never comes back."""

    def __init__(self):
        self.asked = 0

    async def __call__(self, _ask):
        self.asked += 1
        await trio.sleep_forever()


async def test_an_on_ask_that_never_returns_is_bounded_by_the_deadline(autojump_clock):
    on_ask, tools = Question(), [CountingTool()]
    limits = Limits(ask_deadline_s=30)
    async with beside_a_neighbour(
        model=one_call("count"), tools=tools, on_ask=on_ask, limits=limits
    ) as engine:
        session = await engine.create()
        with trio.fail_after(31):
            assert (await session.run("go")).text == "done"
        events = await keeps_its_promises(engine, session)
    assert of(events, "approval/decided")[0]["source"] == "expired"
    assert tools[0].calls == []
    assert on_ask.asked == 1


@pytest.mark.parametrize("how", ["interrupt", "another-answers", "engine-closes"])
async def test_an_on_ask_that_never_returns_holds_nobody_else_up(how, autojump_clock):
    store, calls = MemoryStore(), CountingTool()
    async with open_engine(
        store, model=one_call("count"), tools=[calls], on_ask=Question()
    ) as engine:
        session = await engine.create(id="s")
        async with engine.asks() as asks:
            turn = await session.prompt("go")
            ask = await anext(asks)
            began_s = trio.current_time()
            if how == "interrupt":
                await session.interrupt().settled()
            elif how == "another-answers":
                await engine.answer(ask.id, "approve")
                assert (await turn.result()).completed
    assert trio.current_time() - began_s < 1
    async with open_engine(store) as engine:
        events = await keeps_its_promises(engine, engine.session("s"))
    assert words(events).count("approval/decided") == 1
    assert len(calls.calls) == int(how == "another-answers")


async def test_a_writer_of_entries_that_comes_back_after_its_turn_runs_nothing(autojump_clock):
    released = trio.Event()

    async def remember(_entry):
        await released.wait()

    async def always(_ask):
        return "always"

    writes = CountingTool(name="write")
    async with open_engine(
        model=one_call("write", {"path": "notes/a"}),
        tools=[writes],
        policy=Policy(workspace="/home"),
        on_ask=always,
        remember=remember,
    ) as engine:
        session = await engine.create()
        turn = await session.prompt("go")
        await trio.sleep(1)
        began_s = trio.current_time()
        await session.interrupt().settled()
        assert trio.current_time() - began_s <= 7  # the grace, and the time to unwind
        assert (await turn.result()).reason == "aborted"
        released.set()
        await trio.sleep(10)
        assert (await session.inspect()).stragglers == 0
        await keeps_its_promises(engine, session)
    assert writes.calls == []


class Asked(CountingTool):
    """Cannot say what became of a call."""

    how: str = "raises"

    async def reconcile(self, _key):
        if self.how == "raises":
            raise LookupError("nobody remembers")
        await trio.sleep_forever()


@pytest.mark.parametrize("how", ["raises", "never-returns"])
@pytest.mark.parametrize("recovery", ["close", "resume"])
async def test_a_tool_that_cannot_say_what_became_of_its_call_does_not_keep_the_session_shut(
    how, recovery, autojump_clock
):
    store, log = MemoryStore(), Log()
    said = {"content": "go", "source": "user", "id": "m"}
    call = {"toolCallId": "c", "name": "count", "arguments": "{}", "turn": 1, "step": 1}
    reply = {"content": [], "stopReason": "toolUse", "turn": 1, "step": 1}
    allowed = {"toolCallId": "c", "decision": "allow", "reason": "ok"}
    events = log.append(
        Draft("user/message", said),
        Draft("turn/start", {"turn": 1}),
        Draft("assistant/message", reply),
        Draft("tool/call", call),
        Draft("gate/decision", allowed),
        time_ms=1,
    )
    epoch = await store.claim("the dead one")
    await store.create(SessionRecord(id="s", created_ms=1), events, epoch=epoch)
    await store.release(epoch)
    asked = Asked(effect="read")
    asked.how = how
    async with open_engine(
        store, model=ScriptedModel([Say("on")]), tools=[asked], recovery=recovery
    ) as engine:
        session = engine.session("s")
        with trio.fail_after(60):
            await session.result("m")
        events = await keeps_its_promises(engine, session)
        assert engine.quarantined() == []
    assert "TOOL_OUTCOME_UNKNOWN" in str(of(events, "tool/result")[0]["content"])
    assert asked.calls == []


async def test_a_thousand_delegated_children_come_back_four_at_a_time(autojump_clock):
    running = most = 0

    class Watching(CountingTool):
        async def _act(self, seen):
            nonlocal running, most
            running += 1
            most = max(most, running)
            try:
                await trio.sleep(1)
            finally:
                running -= 1
            return await super()._act(seen)

    def answer(request):
        if request.session_id == "parent":
            return Say("ok")
        return CallTools(Call("count")) if request.step == 1 else Say("done")

    many = 1000
    limits = Limits(children=4, open_children=many, waiting_inputs=10, background_wakes=2 * many)
    async with open_engine(
        model=ScriptedModel(answer), tools=[Watching(effect="read")], limits=limits
    ) as engine:
        parent = await engine.create(id="parent")
        for number in range(many):
            await parent.delegate("go", id=f"c{number}")
        with pytest.raises(ChildLimitError) as refused:
            await parent.delegate("one too many")
        assert refused.value.code == "SESSION_CHILD_LIMIT"
        for number in range(many):
            assert (await engine.session(f"c{number}").result()).text == "done"
        assert most == 4
        await trio.sleep(1000)
        assert engine._stage.services.delegated == {}
        events = await keeps_its_promises(engine, parent)
    assert [d["mode"] for d in of(events, "child/ended")] == ["settled"] * many
    assert len(of(events, "user/message")) == many
