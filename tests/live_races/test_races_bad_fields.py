"""A message with a field that cannot be meant is refused where it is made; no session suffers from it."""

import pytest
import trio
from promises import keeps_its_promises, of

from actors.errors.message import MessageFieldError
from actors.ids import SessionIdError
from actors.log.events import Hide, Replace
from actors.session.messages import Abandon, Append, AppendAll, AwaitResult, EndChild
from actors.testing.model import ScriptedModel
from actors.testing.script import Hang, Say
from runtime import open_engine

DEEP: list[object] = []
for _ in range(5000):
    DEEP = [DEEP]


class Odd:
    """Answers nothing that is asked of it."""

    def __eq__(self, other):
        raise RuntimeError

    def __hash__(self):
        raise RuntimeError

    def __repr__(self):
        raise RuntimeError


SAID = {"content": "x"}
VALUES = [True, 1.5, b"x", [], {"a": 1}, DEEP, Odd()]
NO_TEXT = [*VALUES, 7, "\ud800"]
FIELDS = {
    "interrupt": lambda s, e, v: s.interrupt(cause=v).settled(),
    "interrupt the engine": lambda s, e, v: e.interrupt(v).settled(),
    "abandon": lambda s, e, v: s.send(Abandon("m", v)),
    "append": lambda s, e, v: s.append(v, {}),
    "delegate": lambda s, e, v: s.delegate("x", agent=v),
    "child": lambda s, e, v: e.create(agent=v, parent=s.id),
    "keep": lambda s, e, v: s.keep(v),
    "end": lambda s, e, v: s.send(EndChild("c", v)),
    "source": lambda s, e, v: s.prompt("x", source=v),
    "edit": lambda s, e, v: s.queue.edit(v, "x"),
    "withdraw": lambda s, e, v: s.queue.withdraw(v),
}
NO_NUMBER = [*VALUES, None, "1"]
NUMBERS = {
    "move": lambda s, e, v: s.queue.move("q", "next-turn", v),
    "replace": lambda s, e, v: s.send(Append("user/message", SAID, Replace(v, v))),
    "hide": lambda s, e, v: s.send(Append("llm/retry", {}, Hide(0, v))),
    "sources": lambda s, e, v: s.send(Append("user/message", SAID, Replace(0, 0), (v,))),
}
OTHERS = {
    "operation": lambda s, e, v: s.send(Append("user/message", SAID, v)),
    "all": lambda s, e, v: s.send(AppendAll((v,))),
    "requires": lambda s, e, v: s.delegate("x", requires=(v,)),
    "result": lambda s, e, v: s.send(AwaitResult(v)),
}
CASES = [
    *[(name, make, value) for name, make in FIELDS.items() for value in NO_TEXT],
    *[(name, make, value) for name, make in NUMBERS.items() for value in NO_NUMBER],
    *[(name, make, value) for name, make in OTHERS.items() for value in VALUES],
]


@pytest.mark.parametrize("name", [*FIELDS, *NUMBERS, *OTHERS])
async def test_a_field_that_cannot_be_meant_harms_nobody(name, autojump_clock):
    reports = []
    model = ScriptedModel(lambda request: Hang() if request.turn == 1 else Say("ok"))
    async with open_engine(model=model, report=lambda *told: reports.append(told)) as engine:
        session = await engine.create()
        turn = await session.prompt("go", message_id="m")
        await session.prompt("later", when="next", message_id="q")
        await trio.sleep(1)
        for make, value in [case[1:] for case in CASES if case[0] == name]:
            with pytest.raises(MessageFieldError) as refused:
                await make(session, engine, value)
            assert str(refused.value)
        assert (await session.inspect()).state == "running"
        session.interrupt()
        assert (await turn.result()).cause == "user"
        assert (await session.run("again")).text == "ok"
        events = await keeps_its_promises(engine, session)
        assert of(events, "turn/end")[0]["reason"] == "aborted"
    assert reports == []


@pytest.mark.parametrize("value", VALUES)
async def test_what_cannot_name_a_session_is_refused_whatever_it_is(value, autojump_clock):
    reports = []
    async with open_engine(report=lambda *told: reports.append(told)) as engine:
        session = await engine.create()
        for call in (
            lambda: engine.create(id=value),
            lambda: engine.session(value).inspect(),
            lambda: session.fork(id=value),
            lambda: engine.create(parent=session.id, id=value),
        ):
            with pytest.raises((SessionIdError, MessageFieldError)) as refused:
                await call()
            assert str(refused.value)
        await session.inspect()
    assert reports == []
