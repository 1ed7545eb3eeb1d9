"""Bad input and bad company: each bounded, each with a code of its own, and the neighbours unharmed."""

from contextlib import asynccontextmanager, suppress

import attrs
import pytest
import trio
from promises import keeps_its_promises, of, words

from actors.errors import GreenroomError
from actors.errors.actor import ActorQuarantinedError
from actors.errors.message import LimitError
from actors.errors.session import CompactionError, ModelMissingError
from actors.errors.store import StoreCorruptError, StoreUnavailableError
from actors.ports.model import TextDelta
from actors.testing.model import ScriptedModel
from actors.testing.script import Beat, Call, CallTools, Hang, Say
from actors.testing.tools import CountingTool
from runtime import Limits, open_engine
from runtime.stores.memory import MemoryStore

LONG = "words " * 400


@asynccontextmanager
async def beside_a_neighbour(store=":memory:", replies=lambda _request: Say("ok"), **how):
    """Open an engine in which a neighbour talks before and after."""

    def answer(request):
        return Say("fine") if request.session_id == "neighbour" else replies(request)

    async with open_engine(store, model=ScriptedModel(answer), **how) as engine:
        neighbour = await engine.create(id="neighbour")
        assert (await neighbour.run("how are you?")).text == "fine"
        yield engine
        assert (await neighbour.run("and now?")).text == "fine"
        await keeps_its_promises(engine, neighbour)


class FaultyStore(MemoryStore):
    """Raises ``error`` from ``method`` for one session, ``times`` times."""

    def __init__(self, method: str, error: Exception, times: int = 1) -> None:
        super().__init__()
        self.method, self.error, self.times = method, error, times

    async def append(self, session_id, events, **kwargs):
        await self._strike("append", session_id)
        await super().append(session_id, events, **kwargs)

    async def read(self, session_id, start=0, stop=None):
        await self._strike("read", session_id)
        return await super().read(session_id, start, stop)

    async def row(self, session_id):
        await self._strike("row", session_id)
        return await super().row(session_id)

    async def _strike(self, method: str, session_id: str) -> None:
        await trio.lowlevel.checkpoint()
        if method == self.method and session_id == "s" and self.times > 0:
            self.times -= 1
            raise self.error


FULL = StoreUnavailableError("the disk", "it is full")


@pytest.mark.parametrize("method", ["append", "read", "row"])
async def test_a_store_that_fails_once_costs_one_call_and_the_next_works(method, autojump_clock):
    store = FaultyStore(method, FULL, times=0)
    async with beside_a_neighbour(store=store) as engine:
        session = await engine.create(id="s")
        store.times = 1
        with pytest.raises(StoreUnavailableError) as refused:
            await session.prompt("hi", message_id="m")
        assert refused.value.retryable
        assert (await session.run("hi", message_id="m")).text == "ok"
        events = await keeps_its_promises(engine, session)
    assert [d["id"] for d in of(events, "user/message")] == ["m"]


@pytest.mark.parametrize("method", ["append", "read", "row"])
async def test_a_store_that_always_fails_is_told_to_each_caller_and_nobody_hangs(
    method, autojump_clock
):
    store = FaultyStore(method, FULL, times=0)
    async with beside_a_neighbour(store=store) as engine:
        session = await engine.create(id="s")
        store.times = 1_000_000
        codes = []
        with trio.fail_after(60):
            for number in range(12):
                with pytest.raises(GreenroomError) as refused:
                    await session.prompt("hi", message_id=f"m{number}")
                codes.append(refused.value.code)
        assert set(codes) <= {"STORE_UNAVAILABLE", "ACTOR_QUARANTINED"}
        assert codes[0] == "STORE_UNAVAILABLE"
        store.times = 0
        assert len(await store.read("s")) == 0


async def test_a_damaged_session_is_quarantined_with_its_reason(autojump_clock):
    store = FaultyStore("read", StoreCorruptError("s", "row 3 is torn"), times=0)
    reports = []
    async with beside_a_neighbour(
        store=store, report=lambda where, error: reports.append((where, error))
    ) as engine:
        session = await engine.create(id="s")
        store.times = 1_000_000
        codes = []
        for _ in range(6):
            with pytest.raises(GreenroomError) as refused:
                await session.inspect()
            codes.append(refused.value.code)
        assert codes[-1] == "ACTOR_QUARANTINED"
        assert "row 3 is torn" in str(refused.value)
        with pytest.raises(ActorQuarantinedError):
            await session.run("hi")
        assert not session.interrupt().found
        store.times = 0
        assert engine.quarantined() == ["s"]
        assert engine.release("s")
        assert not engine.release("s")
        assert (await session.run("hi")).text == "ok"
    assert {where for where, _ in reports} == {"s"}


@pytest.mark.parametrize(
    "call",
    [
        lambda s: s.run("x"),
        lambda s: s.prompt("x"),
        lambda s: s.append("todo/write", {"items": []}),
        lambda s: s.inspect(),
        lambda s: s.projection(),
        lambda s: s.fork(),
        lambda s: s.compact(),
        lambda s: s.close(),
        lambda s: s.reopen(),
        lambda s: s.delete(),
        lambda s: s.rename("x"),
        lambda s: s.queue.list(),
        lambda s: s.queue.withdraw("x"),
        lambda s: s.result("x"),
        lambda s: s.events(-1).__aenter__(),
    ],
)
async def test_every_verb_on_an_unknown_session_says_that_it_is_not_there(call, autojump_clock):
    async with beside_a_neighbour() as engine:
        for _ in range(6):  # more often than an actor may crash
            with pytest.raises(GreenroomError) as refused:
                await call(engine.session("nowhere"))
            assert refused.value.code == "SESSION_NOT_FOUND"
        assert engine.active <= 1


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda s: s.prompt("x"), "SESSION_CLOSED"),
        (lambda s: s.run("x"), "SESSION_CLOSED"),
        (lambda s: s.queue.withdraw("x"), "SESSION_INPUT_TAKEN"),
        (lambda s: s.queue.edit("x", "y"), "SESSION_INPUT_TAKEN"),
        (lambda s: s.queue.move("x", "next-turn"), "SESSION_INPUT_TAKEN"),
        (lambda s: s.result("x"), "SESSION_INPUT_UNKNOWN"),
        (lambda s: s.fork(99), "SESSION_BOUNDARY_INVALID"),
        (lambda s: s.fork(-5), "SESSION_BOUNDARY_INVALID"),
        (lambda s: s.fork(id="../x"), "SESSION_ID_INVALID"),
        (lambda s: s.keep("stranger"), "SESSION_CHILD_UNKNOWN"),
        (lambda s: s.occlude(3, 1), None),
    ],
)
async def test_wrong_ids_on_a_closed_session_have_their_own_codes(call, code, autojump_clock):
    async with beside_a_neighbour() as engine:
        session = await engine.create(id="s")
        await session.close()
        before = (await session.inspect()).events
        with pytest.raises(GreenroomError) as refused:
            await call(session)
        if code is not None:
            assert refused.value.code == code
        assert (await session.inspect()).events == before


@pytest.mark.parametrize("word", ["", "maybe", "unavailable", "APPROVE", None, 7])
async def test_an_answer_outside_the_closed_set_is_refused_and_the_ask_stays_open(
    word, autojump_clock
):
    async with beside_a_neighbour(
        replies=lambda r: CallTools(Call("count")) if r.step == 1 else Say("done"),
        tools=[CountingTool()],
    ) as engine:
        session = await engine.create(id="s")
        async with engine.asks() as asks:
            turn = await session.prompt("go")
            ask = await anext(asks)
            with pytest.raises(GreenroomError) as refused:
                await engine.answer(ask.id, word)
            assert refused.value.code == "ASK_ANSWER_INVALID"
            assert (await engine.answer(ask.id, "reject")).outcome == "applied"
            await turn.result()


BOUNDS = [bound.name for bound in attrs.fields(Limits) if bound.name != "calls_per_reply"]


@pytest.mark.parametrize("name", BOUNDS)
@pytest.mark.parametrize("value", [0, -1, float("nan"), "10", True])
def test_a_limit_of_zero_or_below_or_no_number_is_refused(name, value):
    with pytest.raises(LimitError):
        Limits(**{name: value})


async def test_a_model_that_never_ends_is_bounded_by_the_steps(autojump_clock):
    tool = CountingTool(effect="read")
    async with beside_a_neighbour(
        replies=lambda _: CallTools(Call("count")), tools=[tool], limits=Limits(steps_per_turn=7)
    ) as engine:
        session = await engine.create(id="s")
        result = await session.run("go on for ever")
        await keeps_its_promises(engine, session)
    assert result.reason == "error"
    assert "TURN_STEP_LIMIT" in (result.error or "")
    assert len(tool.calls) == 7


async def test_a_model_that_is_silent_for_ever_is_given_up(autojump_clock):
    async with beside_a_neighbour(
        replies=lambda _: Hang("so"), limits=Limits(stream_idle_s=10)
    ) as engine:
        session = await engine.create(id="s")
        result = await session.run("go")
        await keeps_its_promises(engine, session)
    assert result.reason == "error"
    assert "LLM_STREAM_IDLE_TIMEOUT" in (result.error or "")


async def test_a_reply_that_is_too_large_ends_the_turn_and_not_the_session(autojump_clock):
    replies = iter([Say("x" * 2_000_000), Say("back")])
    reports = []
    async with beside_a_neighbour(
        replies=lambda _: next(replies),
        report=lambda where, error: reports.append((where, error)),
    ) as engine:
        session = await engine.create(id="s")
        result = await session.run("go")
        assert result.reason == "error"
        assert "SESSION_EVENT_OVER_BUDGET" in (result.error or "")
        assert (await session.run("again")).text == "back"
        events = await keeps_its_promises(engine, session)
    assert reports == []
    assert [d["reason"] for d in of(events, "turn/end")] == ["error", "completed"]


async def test_an_interrupted_reply_that_is_too_large_still_ends_its_turn(autojump_clock):
    reports = []
    async with beside_a_neighbour(
        replies=lambda _: Hang("x" * 2_000_000),
        report=lambda where, error: reports.append((where, error)),
    ) as engine:
        session = await engine.create(id="s")
        turn = await session.prompt("go")
        await trio.sleep(1)
        await session.interrupt().settled()
        assert (await turn.result()).reason == "aborted"
        await keeps_its_promises(engine, session)
    assert reports == []


@pytest.mark.parametrize("times", [1, 6])
async def test_compacting_without_a_model_is_refused_and_harms_nothing(times, autojump_clock):
    store = MemoryStore()
    async with open_engine(store, model=ScriptedModel(lambda _: Say(LONG))) as engine:
        session = await engine.create(id="s")
        for number in range(8):
            await session.run(f"{number} {LONG}")
    async with open_engine(store) as engine:
        session = engine.session("s")
        for _ in range(times):
            with pytest.raises((ModelMissingError, CompactionError)):
                await session.compact()
        assert (await session.inspect()).state == "idle"
        await keeps_its_promises(engine, session)


async def test_a_full_mailbox_makes_senders_wait_and_loses_nothing(autojump_clock):
    async with beside_a_neighbour(limits=Limits(mailbox=2)) as engine:
        session = await engine.create(id="s")
        async with trio.open_nursery() as nursery:
            for _ in range(200):
                nursery.start_soon(session.append, "todo/write", {"items": []})
        events = await keeps_its_promises(engine, session)
    assert words(events).count("todo/write") == 200


async def test_any_number_of_closings_and_answers_at_once_are_all_told(autojump_clock):
    async with beside_a_neighbour() as engine:
        session = await engine.create(id="s")
        told: list[object] = []

        async def close() -> None:
            try:
                told.append(await session.close())
            except GreenroomError as refused:
                told.append(refused)

        async with trio.open_nursery() as nursery:
            for _ in range(1000):
                nursery.start_soon(close)
        events = await keeps_its_promises(engine, session)
    assert len(told) == 1000
    assert words(events).count("session/closed") == 1


async def test_a_watcher_that_never_reads_does_not_hold_up_another(autojump_clock):
    async with beside_a_neighbour(
        replies=lambda r: CallTools(Call("count")) if r.step == 1 else Say("done"),
        tools=[CountingTool()],
    ) as engine:
        session = await engine.create(id="s")
        async with engine.asks() as sleeper, engine.asks() as reader:
            for _ in range(50):
                turn = await session.prompt("go")
                await engine.answer((await anext(reader)).id, "approve")
                assert (await turn.result()).completed
                assert len(sleeper._shown) <= 1
        await keeps_its_promises(engine, session)


async def test_a_tool_that_blocks_on_garbage_answers_its_own_call_only(autojump_clock):
    class Garbage(CountingTool):
        async def _act(self, seen):
            await trio.lowlevel.checkpoint()
            return object()

    async with beside_a_neighbour(
        replies=lambda r: CallTools(Call("count")) if r.step == 1 else Say("done"),
        tools=[Garbage(effect="read")],
    ) as engine:
        session = await engine.create(id="s")
        assert (await session.run("go")).text == "done"
        events = await keeps_its_promises(engine, session)
    assert of(events, "tool/result")[0]["error"]["code"] == "TOOL_RESULT_INVALID"


async def test_a_tool_that_raises_cancelled_of_its_own_is_an_error_result(autojump_clock):
    class Confused(CountingTool):
        async def _act(self, seen):
            with trio.CancelScope() as scope:
                scope.cancel()
                with suppress(trio.Cancelled):
                    await trio.lowlevel.checkpoint()
                raise LookupError("it lost its head")

    async with beside_a_neighbour(
        replies=lambda r: CallTools(Call("count")) if r.step == 1 else Say("done"),
        tools=[Confused(effect="read")],
    ) as engine:
        session = await engine.create(id="s")
        assert (await session.run("go")).text == "done"
        events = await keeps_its_promises(engine, session)
    assert "error" in of(events, "tool/result")[0]


class Babbling:
    """Goes on for ever."""

    def beats(self, _request):
        while True:
            yield Beat(0.0, TextDelta(0, "bla " * 25_000))


async def test_a_reply_that_never_ends_is_cut_off(autojump_clock):
    replies = iter([Babbling(), Say("back")])
    async with beside_a_neighbour(replies=lambda _: next(replies)) as engine:
        session = await engine.create(id="s")
        result = await session.run("go")
        assert result.reason == "error"
        assert "SESSION_EVENT_OVER_BUDGET" in (result.error or "")
        assert result.text.startswith("bla bla")
        assert (await session.run("again")).text == "back"
        await keeps_its_promises(engine, session)
