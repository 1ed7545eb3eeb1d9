"""Children belong to their parent: they end with it, their asks and results come up, interrupts go down."""

import pytest
import trio
from promises import keeps_its_promises, log_of, of

from actors.errors.actor import FeedDetachedError
from actors.errors.children import ChildLimitError, ChildUnknownError
from actors.errors.control import DelegationDepthError, DelegationPrecheckError
from actors.errors.session import SessionClosedError, TurnLostError
from actors.errors.store import SessionNotFoundError, StoreCorruptError
from actors.testing.model import ScriptedModel
from actors.testing.script import Call, CallTools, Fail, Hang, Say
from actors.testing.tools import CountingTool, SleepingTool
from runtime import Agent, Limits, open_engine
from runtime.stores.memory import MemoryStore


def by_session(**replies):
    """Answer by the beginning of the session's id."""
    iterators = {name: iter(script) for name, script in replies.items()}

    def answer(request):
        name = next(n for n in iterators if request.session_id.startswith(n))
        return next(iterators[name])

    return ScriptedModel(answer)


async def test_a_delegated_result_comes_back_as_an_input(autojump_clock):
    model = by_session(parent=[Say("Noted.")], child=[Say("42", delay_s=3)])
    async with open_engine(model=model) as engine:
        parent = await engine.create(id="parent")
        child = await parent.delegate("What is it?", id="child")
        await trio.sleep(10)
        mine = await keeps_its_promises(engine, parent)
        its = await keeps_its_promises(engine, child)
        assert [row.record.id for row in await parent.children()] == ["child"]
        assert (await child.inspect()).state == "closed"
    told = of(mine, "user/message")[0]
    assert "42" in told["content"]
    assert told["source"] == "subagent-settled"
    assert of(mine, "child/ended")[0] == {"sessionId": "child", "mode": "settled"}
    assert of(its, "user/message")[0]["source"] == "session:parent"


async def test_a_failing_child_is_told_too_and_frees_its_place(autojump_clock):
    model = by_session(
        parent=[Say("a"), Say("b"), Say("c")], c0=[Fail("quota")], c1=[Say("fine")], c2=[Say("ok")]
    )
    async with open_engine(model=model, limits=Limits(children=1)) as engine:
        parent = await engine.create(id="parent")
        for number in range(3):
            await parent.delegate("go", id=f"c{number}")
        await trio.sleep(10)
        mine = await keeps_its_promises(engine, parent)
    assert [d["mode"] for d in of(mine, "child/ended")] == ["settled"] * 3
    assert "SCRIPTED_FAILURE" in of(mine, "user/message")[0]["content"]


async def test_forty_delegations_run_four_at_a_time_and_all_come_back(autojump_clock):
    running, most = 0, 0

    class Watching(SleepingTool):
        async def _act(self, seen):
            nonlocal running, most
            running += 1
            most = max(most, running)
            try:
                return await super()._act(seen)
            finally:
                running -= 1

    def answer(request):
        if request.session_id == "parent":
            return Say("ok")
        if request.step == 1:
            return CallTools(Call("sleep"))
        return Fail("quota") if request.session_id.endswith("3") else Say("done")

    tool = Watching(effect="read", seconds=2)
    async with open_engine(
        model=ScriptedModel(answer), tools=[tool], limits=Limits(children=4)
    ) as engine:
        parent = await engine.create(id="parent")
        for number in range(40):
            child = await parent.delegate("go", id=f"c{number}")
            if number % 10 == 7:
                child.interrupt()
        await trio.sleep(100)
        mine = await keeps_its_promises(engine, parent)
        assert (await log_of(parent)).fold.children == {}
    assert most == 4
    assert len(of(mine, "child/ended")) == 40


async def test_closing_the_parent_closes_its_children_but_not_the_kept_one(autojump_clock):
    model = by_session(child=[Hang()], kept=[Hang()])
    async with open_engine(model=model) as engine:
        parent = await engine.create(id="parent")
        child = await engine.create(id="child", parent="parent")
        kept = await engine.create(id="kept", parent="parent")
        await child.prompt("go")
        await kept.prompt("go")
        await parent.keep("kept")
        with pytest.raises(ChildUnknownError):
            await parent.keep("stranger")
        await parent.close()
        await trio.sleep(1)
        assert (await child.inspect()).state == "closed"
        assert (await kept.inspect()).state == "running"
        mine = await keeps_its_promises(engine, parent)
        its = await keeps_its_promises(engine, child)
        with pytest.raises(SessionClosedError):
            await engine.create(parent="parent")
        kept.interrupt()
    modes = {d["sessionId"]: d["mode"] for d in of(mine, "child/ended")}
    assert modes == {"child": "closed", "kept": "kept"}
    assert of(its, "turn/end")[0]["reason"] == "aborted"


async def test_closing_a_child_is_told_to_its_parent(autojump_clock):
    async with open_engine(model=ScriptedModel([])) as engine:
        parent = await engine.create(id="parent")
        child = await engine.create(parent="parent")
        await child.close()
        await trio.sleep(1)
        mine = await keeps_its_promises(engine, parent)
    assert of(mine, "child/ended")[0]["mode"] == "closed"


async def test_an_interrupt_of_the_tree_goes_down_and_spares_the_others(autojump_clock):
    model = by_session(root=[Hang()], child=[Hang()], grandchild=[Hang()], other=[Hang()])
    async with open_engine(model=model) as engine:
        root = await engine.create(id="root")
        child = await engine.create(id="child", parent="root")
        grandchild = await engine.create(id="grandchild", parent="child")
        other = await engine.create(id="other")
        for session in (root, child, grandchild, other):
            await session.prompt("go")
        await child.interrupt("tree").settled()
        states = [(await s.inspect()).state for s in (root, child, grandchild, other)]
        assert states == ["running", "idle", "idle", "running"]
        engine.interrupt()


async def test_the_ask_of_a_grandchild_reaches_whoever_watches_the_tree(autojump_clock):
    tool = CountingTool()
    model = by_session(grandchild=[CallTools(Call("count")), Say("done")])
    async with open_engine(model=model, tools=[tool]) as engine:
        await engine.create(id="root")
        await engine.create(id="child", parent="root")
        grandchild = await engine.create(id="grandchild", parent="child")
        async with engine.asks(tree="root") as asks, engine.asks(tree="elsewhere"):
            turn = await grandchild.prompt("go")
            ask = await anext(asks)
            assert ask.path == ("root", "child", "grandchild")
            await engine.answer(ask.id, "approve")
            await turn.result()
    assert len(tool.calls) == 1


async def test_depth_and_width_of_a_tree_are_bounded():
    limits = Limits(depth=2, open_children=2)
    async with open_engine(model=ScriptedModel([]), limits=limits) as engine:
        await engine.create(id="root")
        await engine.create(id="a", parent="root")
        with pytest.raises(DelegationDepthError):
            await engine.create(parent="a")
        await engine.create(id="b", parent="root")
        with pytest.raises(ChildLimitError):
            await engine.create(parent="root")


async def test_deleting_stops_what_runs_and_nothing_comes_back(autojump_clock):
    store, tool = MemoryStore(), CountingTool()
    model = by_session(root=[CallTools(Call("count"))], child=[Hang()])
    async with open_engine(store, model=model, tools=[tool]) as engine:
        root = await engine.create(id="root")
        child = await engine.create(id="child", parent="root")
        reasons = []

        async def follow():
            async with child.events(-1) as feed:
                try:
                    async for _ in feed:
                        pass
                except FeedDetachedError as error:
                    reasons.append(str(error))

        async with trio.open_nursery() as nursery, engine.asks() as asks:
            await child.prompt("go")
            nursery.start_soon(follow)
            await root.prompt("go")
            ask = await anext(asks)
            await root.delete()
            with pytest.raises(TurnLostError):
                await engine.answer(ask.id, "approve")
        assert "deleted" in reasons[0]
        for name in ("root", "child"):
            with pytest.raises(SessionNotFoundError):
                await engine.session(name).inspect()
        assert (await engine.sessions()).sessions == ()
    assert tool.calls == []
    async with open_engine(store, model=model) as engine:
        assert (await engine.sessions()).sessions == ()


async def test_a_fork_outlives_its_deleted_source():
    model = by_session(source=[Say("one")], fork=[Say("two")])
    async with open_engine(model=model) as engine:
        source = await engine.create(id="source")
        await source.run("a")
        fork = await source.fork(id="fork")
        await source.delete()
        assert (await fork.run("b")).text == "two"
        await keeps_its_promises(engine, fork)


async def test_a_child_whose_delegation_was_cut_off_is_ended_at_the_next_activation(autojump_clock):
    store = MemoryStore()
    model = by_session(parent=[], child=[Hang()])
    async with open_engine(store, model=model) as engine:
        parent = await engine.create(id="parent")
        await parent.delegate("go", id="child")
        await trio.sleep(1)
    async with open_engine(store, model=model) as engine:
        parent = engine.session("parent")
        assert (await parent.inspect()).state == "idle"
        await trio.sleep(1)
        mine = await keeps_its_promises(engine, parent)
        await keeps_its_promises(engine, engine.session("child"))
    assert [d["mode"] for d in of(mine, "child/ended")] == ["orphaned"]


class TornStore(MemoryStore):
    torn = ""

    async def read(self, session_id, *args, **kwargs):
        if session_id == self.torn:
            raise StoreCorruptError(session_id, "torn")
        return await super().read(session_id, *args, **kwargs)


@pytest.mark.parametrize("torn", ["parent", "child"])
async def test_a_damaged_relative_does_not_take_a_session_along(torn, autojump_clock):
    store, reported = TornStore(), set()
    async with open_engine(store, model=by_session(parent=[Say("a")])) as engine:
        parent = await engine.create(id="parent")
        await engine.create(id="child", parent="parent")
        await parent.run("hello")
    store.torn = torn
    async with open_engine(store, report=lambda who, _: reported.add(who)) as engine:
        whole = engine.session("child" if torn == "parent" else "parent")
        await whole.close()
        await trio.sleep(10)
        assert (await whole.inspect()).state == "closed"
    assert reported == {torn}


async def test_a_child_has_those_tools_of_its_agent_that_the_sessions_above_have():
    look, write, dig = (CountingTool(name=name, effect="read") for name in ("look", "write", "dig"))

    def agent(name, *tools):
        return Agent(name=name, model=ScriptedModel(lambda _request: Say("ok")), tools=tools)

    agents = [agent("top", look, write), agent("middle", dig, look), agent("low", write, look)]
    async with open_engine(agents=agents) as engine:
        top = await engine.create(agent="top")
        middle = await engine.create(agent="middle", parent=top.id)
        low = await engine.create(agent="low", parent=middle.id)
        for session in (top, middle, low):
            await session.run("go")
    offered = [[t.name for t in a.model.requests[0].tools] for a in agents]
    assert offered == [["look", "write"], ["look"], ["look"]]


async def test_work_is_not_handed_to_a_child_that_lacks_its_tools(autojump_clock):
    tools = [CountingTool(name="look", effect="read")]
    model = ScriptedModel(lambda _request: Say("ok"))
    rich = Agent(name="rich", model=model, tools=[*tools, CountingTool(name="write")])
    async with open_engine(agents=[rich], model=model, tools=tools) as engine:
        session = await engine.create()
        with pytest.raises(DelegationPrecheckError) as refused:
            await session.delegate("dig", agent="rich", requires=["look", "write"])
        assert refused.value.missing == ("write",)
        assert list(await session.children()) == []
        await session.delegate("look", agent="rich", requires=["look"])
        await trio.sleep(10)
        settled = await keeps_its_promises(engine, session)
    assert [d["mode"] for d in of(settled, "child/ended")] == ["settled"]
