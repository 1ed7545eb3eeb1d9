"""Scenarios about approvals and remembered permissions (S-01 to S-08, S-22, S-23)."""

import subprocess
import sys
import textwrap

import pytest
import trio
from promises import data, keeps_its_promises, of, stored

from actors.errors.asks import AskNotFoundError
from actors.log.projection import AssistantMessage, ToolResultMessage, UserMessage
from actors.rules.policy import Policy, PolicyEntry, PolicyTable
from actors.testing.model import ScriptedModel
from actors.testing.script import Call, CallTools, Say
from actors.testing.tools import CountingTool
from runtime import Limits, open_engine

KILLED = textwrap.dedent(
    """
    import os, sys, trio
    from actors.testing.model import ScriptedModel
    from actors.testing.script import Call, CallTools
    from actors.testing.tools import CountingTool
    from runtime import open_engine

    async def main(path):
        model = ScriptedModel([CallTools(Call("count"))])
        async with open_engine(path, model=model, tools=[CountingTool()]) as engine:
            async with engine.asks() as asks:
                await (await engine.create(id="s")).prompt("go", message_id="m")
                print((await anext(asks)).id, flush=True)
                os._exit(9)

    trio.run(main, sys.argv[1])
    """
)


def asking(*names: str) -> ScriptedModel:
    return ScriptedModel([CallTools(*(Call(name) for name in names)), Say("done"), Say("next")])


def killed_while_it_asked(path: str) -> str:
    """Kill a process that waits for an answer; return the id of its ask."""
    died = subprocess.run(
        [sys.executable, "-c", KILLED, path], capture_output=True, text=True, check=False
    )
    assert died.returncode == 9, died.stderr
    return died.stdout.strip()


async def test_s01_after_a_kill_an_ask_is_closed_with_a_reason_and_no_answer_is_accepted(tmp_path):
    path = str(tmp_path / "store.db")
    ask_id = await trio.to_thread.run_sync(killed_while_it_asked, path)
    tool = CountingTool()
    async with open_engine(path, model=asking("count"), tools=[tool]) as engine:
        assert [item.key for item in await engine.unsettled() if item.kind == "ask"] == [ask_id]
        session = engine.session("s")
        await session.inspect()
        for made_up in (ask_id, "ask-that-never-was"):
            with pytest.raises(AskNotFoundError):
                await engine.answer(made_up, "approve")
        events = await keeps_its_promises(engine, session)
    (decided,) = of(events, "approval/decided")
    assert (decided["decision"], decided["source"]) == ("cancel", "recovery")
    assert tool.calls == []


async def test_s01_after_a_kill_an_ask_is_answerable_when_its_turn_is_picked_up(tmp_path):
    path = str(tmp_path / "store.db")
    ask_id = await trio.to_thread.run_sync(killed_while_it_asked, path)
    tool = CountingTool()
    model = ScriptedModel([Say("done")])
    async with open_engine(path, model=model, tools=[tool], recovery="resume") as engine:
        async with engine.asks() as asks:
            assert (await anext(asks)).id == ask_id
            with pytest.raises(AskNotFoundError):
                await engine.answer("ask-that-never-was", "approve")
            assert (await engine.answer(ask_id, "approve")).outcome == "applied"
            assert (await engine.session("s").result("m")).text == "done"
    assert len(tool.calls) == 1


async def test_s02_an_approval_that_comes_again_after_the_tool_has_finished_changes_nothing(
    autojump_clock,
):
    tool = CountingTool()
    async with open_engine(model=asking("count"), tools=[tool]) as engine:
        async with engine.asks() as ann, engine.asks() as bob:
            session = await engine.create()
            turn = await session.prompt("go")
            ask = await anext(ann)
            assert (await anext(bob)).id == ask.id
            outcomes = []

            async def approve(who: str) -> None:
                outcomes.append(await engine.answer(ask.id, "approve", by=who))

            async with trio.open_nursery() as nursery:
                nursery.start_soon(approve, "ann")
                nursery.start_soon(approve, "bob")
            await turn.result()
            await approve("ann")
        events = await keeps_its_promises(engine, session)
    assert sorted(o.outcome for o in outcomes[:2]) == ["applied", "superseded"]
    assert outcomes[2].outcome == "superseded"
    assert len({outcome.settlement for outcome in outcomes}) == 1
    assert len(tool.calls) == len(of(events, "approval/decided")) == 1


async def test_s03_s06_an_interrupt_withdraws_the_ask_and_new_input_starts_a_turn(autojump_clock):
    tool, model = CountingTool(), asking("count")
    async with open_engine(model=model, tools=[tool]) as engine, engine.asks() as asks:
        session = await engine.create()
        await session.prompt("go")
        ask = await anext(asks)
        asked_s = trio.current_time()
        await session.interrupt().settled()
        assert trio.current_time() == asked_s
        late = await engine.answer(ask.id, "approve")
        assert (late.outcome, late.settlement.source) == ("superseded", "interrupt")
        assert (await session.run("and now")).text == "done"
        events = await keeps_its_promises(engine, session)
    assert tool.calls == []
    (result,) = of(events, "tool/result")
    assert result["error"]["code"] == "TOOL_BLOCKED"
    kinds = [type(message) for message in model.requests[-1].messages]
    assert kinds == [UserMessage, AssistantMessage, ToolResultMessage, UserMessage]


async def test_s04_an_expired_ask_is_no_refusal_and_the_turn_carries_on(autojump_clock):
    model = asking("count")
    limits = Limits(ask_deadline_s=5)
    async with open_engine(model=model, tools=[CountingTool()], limits=limits) as engine:
        async with engine.asks():
            session = await engine.create()
            assert (await session.run("go")).text == "done"
            events = await keeps_its_promises(engine, session)
    (decided,) = of(events, "approval/decided")
    assert (decided["decision"], decided["source"]) == ("unavailable", "expired")
    assert "no decision was made" in of(events, "tool/result")[0]["content"]


@pytest.mark.parametrize("watched", [True, False])
async def test_s05_the_ask_of_a_kept_child_is_routed_or_fails_closed_at_once(
    watched, autojump_clock
):
    tool = CountingTool()
    async with open_engine(model=asking("count"), tools=[tool]) as engine:
        parent = await engine.create(id="parent")
        child = await engine.create(id="child", parent="parent")
        await parent.keep("child")
        await parent.close()
        asked_s = trio.current_time()
        if watched:
            async with engine.asks(tree="parent") as asks:
                turn = await child.prompt("go")
                ask = await anext(asks)
                assert ask.path == ("parent", "child")
                await engine.answer(ask.id, "approve")
                await turn.result()
        else:
            await child.run("go")
            assert trio.current_time() - asked_s < 1
        events = await keeps_its_promises(engine, child)
    decided = of(events, "approval/decided")[0]
    assert decided["decision"] == ("approve" if watched else "unavailable")
    assert len(tool.calls) == int(watched)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
async def test_s07_an_entry_that_asks_goes_before_one_that_allows_in_either_order(order):
    rows = [
        PolicyEntry(index=0, tool="write"),
        PolicyEntry(index=1, tool="write", pattern="secret", decision="ask"),
        PolicyEntry(index=2, tool="write", pattern="."),
    ]
    entries = (*(rows[n] for n in order), rows[2])
    policy = Policy(table=PolicyTable(entries=entries), workspace="/work")
    calls = [Call("write", {"path": "notes/a"}), Call("write", {"path": "secret/a"})]
    model = ScriptedModel([CallTools(*calls), Say("done")])
    asked = []

    async def refuse(ask):
        asked.append(ask.arguments)
        return "reject"

    tool = CountingTool(name="write")
    async with open_engine(model=model, tools=[tool], policy=policy, on_ask=refuse) as engine:
        session = await engine.create()
        await session.run("go")
        events = await keeps_its_promises(engine, session)
    assert asked == [{"path": "secret/a"}]
    assert [call.arguments for call in tool.calls] == [{"path": "notes/a"}]
    decisions = [(d["decision"], d["reason"]) for d in of(events, "gate/decision")]
    assert decisions == [("allow", "policy-allow:2"), ("block", "ask-rejected")]


async def test_s08_a_refusal_stands_against_a_later_approval_and_the_next_call_asks_again(
    autojump_clock,
):
    tool = CountingTool(timeout_s=1)
    replies = [CallTools(Call("count")), CallTools(Call("count")), Say("done")]
    async with open_engine(model=ScriptedModel(replies), tools=[tool]) as engine:
        async with engine.asks() as asks:
            session = await engine.create()
            turn = await session.prompt("go")
            first = await anext(asks)
            await trio.sleep(1)  # as long as the tool's own budget, which waiting does not use up
            refused, late = [], []

            async def answer(word, into) -> None:
                into.append(await engine.answer(first.id, word, by=word))

            async with trio.open_nursery() as nursery:
                nursery.start_soon(answer, "reject", refused)
                await trio.lowlevel.checkpoint()
                await trio.lowlevel.checkpoint()
                nursery.start_soon(answer, "approve", late)
            second = await anext(asks)
            assert second.id != first.id
            assert tool.calls == []
            await engine.answer(second.id, "approve")
            await turn.result()
        events = await keeps_its_promises(engine, session)
    assert (refused[0].outcome, late[0].outcome) == ("applied", "superseded")
    assert len(tool.calls) == 1
    assert of(events, "tool/result")[0]["error"]["code"] == "TOOL_BLOCKED"


async def test_s22_a_fork_from_before_an_ask_asks_again_and_leaves_the_source_alone(
    autojump_clock,
):
    tool = CountingTool()
    model = ScriptedModel([Say("hello"), *[CallTools(Call("count")), Say("done")] * 2])
    async with open_engine(model=model, tools=[tool]) as engine, engine.asks() as asks:
        session = await engine.create()
        first_turn = await session.run("first")
        turn = await session.prompt("go")
        ask = await anext(asks)
        await engine.answer(ask.id, "approve")
        await turn.result()
        before = list(await stored(engine, session.id))
        fork = await session.fork(first_turn.last_seq)
        again = await fork.prompt("go")
        asked_again = await anext(asks)
        assert asked_again.id != ask.id
        await engine.answer(asked_again.id, "reject")
        await again.result()
        assert list(await stored(engine, session.id)) == before
        await keeps_its_promises(engine, fork)
    assert [call.context.session_id for call in tool.calls] == [session.id]


async def test_s23_two_equal_calls_get_each_the_answer_of_its_own_ask(autojump_clock):
    tool = CountingTool(effect="read")
    entry = PolicyEntry(index=0, tool="count", decision="ask")
    policy = Policy(table=PolicyTable(entries=(entry,)))
    calls = [Call("count", {"x": 1}, id="a"), Call("count", {"x": 1}, id="b")]
    model = ScriptedModel([CallTools(*calls), Say("done")])
    async with open_engine(model=model, tools=[tool], policy=policy) as engine:
        async with engine.asks() as asks:
            session = await engine.create()
            turn = await session.prompt("go")
            both = [await anext(asks), await anext(asks)]
            await engine.answer(both[1].id, "approve")
            await engine.answer(both[0].id, "reject")
            await turn.result()
        events = await keeps_its_promises(engine, session)
    assert {ask.tool_call_id for ask in both} == {"a", "b"}
    assert [call.context.call_id for call in tool.calls] == [both[1].tool_call_id]
    blocked = [d["toolCallId"] for d in of(events, "tool/result") if "error" in d]
    assert blocked == [both[0].tool_call_id]
    decided = [data(event) for event in events if event.type == "approval/decided"]
    assert [d["decision"] for d in decided] == ["approve", "reject"]
