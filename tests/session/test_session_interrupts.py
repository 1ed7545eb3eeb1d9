"""An interrupt, wherever it comes, ends in a settled turn with paired calls."""

import pytest
import trio
from promises import keeps_its_promises, of, words

from actors.testing.model import ScriptedModel
from actors.testing.script import Call, CallTools, Fail, Hang, Say
from actors.testing.tools import CountingTool, SleepingTool, StubbornTool
from runtime import Engine, Session, open_engine
from runtime.stores.memory import MemoryStore


async def interrupted(engine: Engine, session: Session, after_s: float = 1.0):
    """Prompt, interrupt after a while, and return what the turn gave and how long settling took."""
    turn = await session.prompt("go")
    await trio.sleep(after_s)
    asked_s = trio.current_time()
    interruption = session.interrupt()
    assert interruption.found
    await interruption.settled()
    took_s = trio.current_time() - asked_s
    result = await turn.result()
    events = await keeps_its_promises(engine, session)
    assert (result.reason, result.cause) == ("aborted", "user")
    return result, events, took_s


async def test_in_the_model_stream_what_was_delivered_is_kept_and_marked(autojump_clock):
    model = ScriptedModel([Hang("half a sen"), Say("Yes?")])
    async with open_engine(model=model) as engine:
        session = await engine.create()
        result, events, took_s = await interrupted(engine, session)
        assert (await session.run("still there?")).text == "Yes?"
    assert model.open_streams == 0
    assert took_s == 0
    assert result.text == "half a sen"
    (partial,) = of(events, "assistant/message")
    assert partial["interrupted"] is True


async def test_in_a_stream_that_announces_a_call_the_call_never_starts(autojump_clock):
    tool = CountingTool(effect="read")
    model = ScriptedModel([CallTools(Call("count"), text="I will", delay_s=2)])
    async with open_engine(model=model, tools=[tool]) as engine:
        _, events, _ = await interrupted(engine, await engine.create(), after_s=5)
    assert tool.calls == []
    assert of(events, "tool/call") == []


async def test_in_a_tool_that_honours_its_signal_its_own_result_stands(autojump_clock):
    tool = SleepingTool(effect="read", seconds=100)
    model = ScriptedModel([CallTools(Call("sleep")), Say("never")])
    async with open_engine(model=model, tools=[tool]) as engine:
        _, events, took_s = await interrupted(engine, await engine.create())
    assert took_s == 0
    assert of(events, "tool/result")[0]["content"] == "call 1 ended early"
    assert len(model.requests) == 1


async def test_in_a_tool_that_ignores_its_signal_it_is_cancelled_after_the_grace(autojump_clock):
    tool = SleepingTool(effect="read", seconds=100, honours_signal=False)
    model = ScriptedModel([CallTools(Call("sleep"), Call("sleep")), Say("never")])
    async with open_engine(model=model, tools=[tool]) as engine:
        _, events, took_s = await interrupted(engine, await engine.create())
    assert took_s == pytest.approx(5.0)
    codes = [d["error"]["code"] for d in of(events, "tool/result")]
    assert codes == ["ABORTED", "ABORTED"]


async def test_a_tool_that_swallows_cancellation_does_not_block_settling(autojump_clock):
    tool = StubbornTool(effect="read", seconds=50)
    model = ScriptedModel([CallTools(Call("stubborn")), Say("next")])
    async with open_engine(model=model, tools=[tool]) as engine:
        session = await engine.create()
        _, events, took_s = await interrupted(engine, session)
        assert took_s == pytest.approx(6.0)
        assert (await session.inspect()).stragglers == 1
        assert (await session.run("again")).text == "next"
        await trio.sleep(60)
        assert (await session.inspect()).stragglers == 0
        after = await keeps_its_promises(engine, session)
    assert of(events, "tool/result")[0]["error"]["code"] == "TOOL_OUTCOME_UNKNOWN"
    assert words(after).count("tool/result") == 1


async def test_calls_that_were_not_dispatched_say_so(autojump_clock):
    slow = SleepingTool(effect="write", seconds=100)
    model = ScriptedModel([CallTools(Call("sleep"), Call("sleep"), Call("sleep")), Say("never")])

    async def approve(_ask):
        return "approve"

    async with open_engine(model=model, tools=[slow], on_ask=approve) as engine:
        _, events, _ = await interrupted(engine, await engine.create())
    assert len(slow.calls) == 1
    codes = [d.get("error", {}).get("code") for d in of(events, "tool/result")]
    assert codes == [None, "ABORTED_BEFORE_DISPATCH", "ABORTED_BEFORE_DISPATCH"]


async def test_while_an_ask_is_open_it_is_withdrawn_and_the_late_answer_superseded(autojump_clock):
    tool = CountingTool(effect="write")
    model = ScriptedModel([CallTools(Call("count")), Say("never")])
    async with open_engine(model=model, tools=[tool]) as engine, engine.asks():
        session = await engine.create()
        _, events, took_s = await interrupted(engine, session)
        ask_id = of(events, "approval/asked")[0]["approvalId"]
        late = await engine.answer(ask_id, "approve")
        assert late.outcome == "superseded"
        assert late.settlement.source == "interrupt"
    assert took_s == 0
    assert tool.calls == []
    assert of(events, "approval/decided")[0]["decision"] == "cancel"
    assert of(events, "gate/decision")[0]["decision"] == "block"


async def test_between_steps_no_further_request_is_made(autojump_clock):
    async def stop_from_inside(_ask):
        return "approve"

    model = ScriptedModel([CallTools(Call("count")), Say("never")])
    sessions: list[Session] = []

    class Interrupting(CountingTool):
        async def _act(self, seen):
            sessions[0].interrupt()
            return await super()._act(seen)

    async with open_engine(model=model, tools=[Interrupting()], on_ask=stop_from_inside) as engine:
        session = await engine.create()
        sessions.append(session)
        result = await session.run("go")
        events = await keeps_its_promises(engine, session)
    assert result.reason == "aborted"
    assert len(model.requests) == 1
    assert of(events, "tool/result")[0]["content"] == "call 1"


async def test_in_a_retry_wait_no_further_request_is_made(autojump_clock):
    model = ScriptedModel([Fail(retry_after_s=60), Say("never")])
    async with open_engine(model=model) as engine:
        session = await engine.create()
        turn = await session.prompt("go")
        await trio.sleep(30)
        assert (await session.inspect()).state == "retrying"
        await session.interrupt().settled()
        result = await turn.result()
        await keeps_its_promises(engine, session)
    assert result.reason == "aborted"
    assert len(model.requests) == 1


async def test_in_a_compaction_the_history_stays_as_it_was(autojump_clock):
    long = "words " * 400
    model = ScriptedModel(lambda _request: Say(long), summaries=[Hang()])
    async with open_engine(model=model) as engine:
        session = await engine.create()
        for number in range(8):
            await session.run(f"{number} {long}")
        before = (await session.inspect()).nodes
        outcomes = []

        async def compact():
            outcomes.append(await session.compact())

        async with trio.open_nursery() as nursery:
            nursery.start_soon(compact)
            await trio.sleep(1)
            assert not session.interrupt("turn").found
            await session.interrupt("session").settled()
        assert outcomes[0].outcome == "aborted"
        assert (await session.inspect()).nodes == before
        await keeps_its_promises(engine, session)


async def test_interrupting_twice_is_once_and_the_first_cause_stands(autojump_clock):
    model = ScriptedModel([Hang()])
    async with open_engine(model=model) as engine:
        session = await engine.create()
        turn = await session.prompt("go")
        await trio.sleep(1)
        first = session.interrupt(cause="user")
        session.interrupt(cause="parent")
        await first.settled()
        assert (await turn.result()).cause == "user"
        assert not session.interrupt().found
        await keeps_its_promises(engine, session)


async def test_an_interrupt_keeps_the_queue_until_the_next_wake(autojump_clock):
    model = ScriptedModel([Hang(), Say("one"), Say("two")])
    async with open_engine(model=model) as engine:
        session = await engine.create()
        await session.prompt("a")
        await trio.sleep(1)
        waiting = await session.prompt("b", when="next")
        await session.interrupt().settled()
        await trio.sleep(1)
        assert (await session.inspect()).state == "idle"
        await session.run("c")
        assert (await waiting.result()).completed
        events = await keeps_its_promises(engine, session)
    assert [d["content"] for d in of(events, "user/message")] == ["a", "b", "c"]


async def test_cancelling_run_takes_the_turn_with_it(autojump_clock):
    model = ScriptedModel([Hang("par"), Say("next")])
    async with open_engine(model=model) as engine:
        session = await engine.create()
        with trio.move_on_after(1):
            await session.run("go")
        assert (await session.inspect()).state == "idle"
        events = await keeps_its_promises(engine, session)
        assert of(events, "turn/end")[0]["cause"] == "caller"
        assert (await session.run("again")).text == "next"


async def test_cancelling_a_wait_on_a_turn_leaves_it_running(autojump_clock):
    model = ScriptedModel([Say("done", delay_s=5)])
    async with open_engine(model=model) as engine:
        session = await engine.create()
        turn = await session.prompt("go")
        with trio.move_on_after(1):
            await turn.result()
        assert (await turn.result()).text == "done"
        await keeps_its_promises(engine, session)


async def test_closing_the_engine_ends_turns_as_disposed_and_a_restart_repairs_nothing(
    autojump_clock,
):
    store = MemoryStore()
    tool = SleepingTool(effect="read", seconds=100)
    model = ScriptedModel([Hang("par"), CallTools(Call("sleep")), CallTools(Call("count"))])
    async with open_engine(store, model=model, tools=[tool, CountingTool()]) as engine:
        async with engine.asks():
            for name in ("stream", "tool", "ask"):
                await (await engine.create(id=name)).prompt("go")
                await trio.sleep(1)
    async with open_engine(store, model=model) as engine:
        for name in ("stream", "tool", "ask"):
            session = engine.session(name)
            before = (await engine._stage.services.store.row(name)).length
            assert (await session.inspect()).events == before
            events = await keeps_its_promises(engine, session)
            end = of(events, "turn/end")[-1]
            assert (end["reason"], end["cause"]) == ("aborted", "disposed")


async def test_a_tool_over_its_budget_is_told_then_cancelled(autojump_clock):
    deaf = SleepingTool(name="deaf", effect="read", seconds=100, honours_signal=False, timeout_s=2)
    model = ScriptedModel([CallTools(Call("deaf")), Say("too slow")])
    async with open_engine(model=model, tools=[deaf]) as engine:
        session = await engine.create()
        started_s = trio.current_time()
        result = await session.run("go")
        took_s = trio.current_time() - started_s
        events = await keeps_its_promises(engine, session)
    assert result.text == "too slow"
    assert took_s == pytest.approx(7.0)
    assert of(events, "tool/result")[0]["error"]["code"] == "TOOL_TIMEOUT"


async def test_a_silent_stream_is_given_up_and_tried_again(autojump_clock):
    model = ScriptedModel([Hang("so"), Say("there")])
    async with open_engine(model=model) as engine:
        session = await engine.create()
        assert (await session.run("go")).text == "there"
        events = await keeps_its_promises(engine, session)
    assert "LLM_STREAM_IDLE_TIMEOUT" in of(events, "assistant/attempt")[0]["errorMessage"]
