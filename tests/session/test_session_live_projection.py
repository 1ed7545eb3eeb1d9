"""The ten live events of a session: complete, in order, and each family with one start and one end."""

import copy
from functools import cache

import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st
from promises import stored

from actors.log.events import Draft, Event
from actors.log.log import Log
from actors.session.live import LiveItem
from actors.session.live_events import (
    AgentEnd,
    AgentStart,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
    TurnEnd,
    TurnStart,
    live_data,
)
from actors.session.live_projection import LiveProjection
from actors.testing.model import ScriptedModel
from actors.testing.script import Call, CallTools, Fail, Hang, Say
from actors.testing.tools import CountingTool, SleepingTool
from runtime import Policy, open_engine

UPDATES = (MessageUpdate, ToolExecutionUpdate)


class Reader:
    """Follows a session from its first event and keeps what it was shown."""

    def __init__(self, session):
        self.session = session
        self.items: list[Event | LiveItem] = []

    async def run(self, *, task_status):
        async with self.session.events(-1) as feed:
            task_status.started()
            async for item in feed:
                self.items.append(item)

    def heard(self):
        return LiveProjection().take_all(self.items)


async def read(engine, program):
    """Run a program on a session and return everything that a reader was shown."""
    session = await engine.create()
    await session.append("todo/write", {"items": []})
    reader = Reader(session)
    async with trio.open_nursery() as nursery:
        await nursery.start(reader.run)
        await program(session)
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    return session, reader


def label(event):
    data = live_data(event)
    said = {
        MessageStart: lambda: [data["role"], *([data["channel"]] if "channel" in data else [])],
        MessageUpdate: lambda: [data["role"]],
        MessageEnd: lambda: [data["message"]["role"]],
        AgentEnd: lambda: [data["status"], str(data.get("stopReason"))],
        TurnStart: lambda: [str(data["turn"])],
        TurnEnd: lambda: [str(data["turn"]), data["stopReason"]],
    }.get(type(event), lambda: [data["toolCallId"]] if "toolCallId" in data else [])
    return ":".join([data["kind"], *said()])


def obeys_the_order_law(events):
    """L-2, L-7, L-8: one start, updates only between, one end; nothing is left open behind a run."""
    open_families: set[str] = set()
    for event in events:
        name, start, end = _family(event)
        if start:
            assert name not in open_families, f"{name} starts twice"
            open_families.add(name)
        else:
            assert name in open_families, f"{label(event)} without a start"
        if end:
            open_families.remove(name)
        if isinstance(event, AgentEnd):
            assert open_families == set()


def _family(event):
    if isinstance(event, ToolExecutionStart | ToolExecutionUpdate | ToolExecutionEnd):
        name = f"call {event.tool_call_id}"
    else:
        name = event.kind.split("_")[0]
    word = event.kind.rsplit("_", 1)[1]
    return name, word == "start", word == "end"


async def test_a_turn_with_tools_is_told_in_the_order_that_readers_rely_on(autojump_clock):
    tool = SleepingTool(name="look", effect="read", seconds=2)
    model = ScriptedModel([CallTools(Call("look", id="c1")), Say("done")])
    async with open_engine(model=model, tools=[tool]) as engine:
        _, reader = await read(engine, lambda session: session.run("go"))
    events = [event for event in reader.heard() if not isinstance(event, UPDATES)]
    obeys_the_order_law(events)
    assert [label(event) for event in events] == [
        "message_start:user",
        "message_end:user",
        "agent_start",
        "turn_start:1",
        "message_start:assistant",
        "message_end:assistant",
        "turn_end:1:toolUse",
        "tool_execution_start:c1",
        "tool_execution_end:c1",
        "message_start:toolResult",
        "message_end:toolResult",
        "turn_start:2",
        "message_start:assistant",
        "message_end:assistant",
        "turn_end:2:stop",
        "agent_end:completed:stop",
    ]


async def test_a_start_is_told_when_it_happens_and_not_with_the_end(autojump_clock):
    tool = SleepingTool(name="look", effect="read", seconds=5)
    model = ScriptedModel([CallTools(Call("look", id="c1"))])
    heard = []

    async def program(session):
        await session.prompt("go")
        await trio.sleep(1)

    async with open_engine(model=model, tools=[tool]) as engine:
        _, reader = await read(engine, program)
        heard = [label(event) for event in reader.heard()]
    assert heard[-3:] == ["message_end:assistant", "turn_end:1:toolUse", "tool_execution_start:c1"]


async def test_snapshots_grow_to_the_text_and_calls_that_the_message_ends_with(autojump_clock):
    model = ScriptedModel(
        [CallTools(Call("count", {"a": 1}, id="c1"), text="Look:", delay_s=1), Say("x")]
    )
    async with open_engine(model=model, tools=[CountingTool(effect="read")]) as engine:
        _, reader = await read(engine, lambda session: session.run("go"))
    heard = reader.heard()
    partials = [event.partial["content"] for event in heard if isinstance(event, MessageUpdate)]
    ends = [event.message for event in heard if isinstance(event, MessageEnd)]
    assert partials[0] == [{"type": "text", "text": "Look:"}]
    assert [block.get("arguments") for _, block in partials[1:4]] == ["", '{"a', '{"a":1}']
    assert ends[1]["content"] == partials[3]
    assert ends[1]["content"][1]["name"] == "count"


async def test_a_retry_is_a_new_run_to_the_reader(autojump_clock):
    model = ScriptedModel([Fail(text="half"), Say("ok")])
    async with open_engine(model=model) as engine:
        _, reader = await read(engine, lambda session: session.run("go"))
    events = [event for event in reader.heard() if not isinstance(event, UPDATES)]
    obeys_the_order_law(events)
    assert [label(event) for event in events][6:10] == [
        "turn_end:1:error",
        "agent_end:failed:error",
        "agent_start",
        "turn_start:1",
    ]


async def test_steers_go_on_in_the_same_run_and_followups_in_their_own(autojump_clock):
    model = ScriptedModel([Say("1", delay_s=5), Say("2", delay_s=5), Say("3")])

    async def program(session):
        await session.prompt("a")
        await trio.sleep(1)
        await session.prompt("b")
        await trio.sleep(5)
        last = await session.prompt("c", when="next")
        await last.result()

    async with open_engine(model=model) as engine:
        _, reader = await read(engine, program)
    heard = reader.heard()
    obeys_the_order_law(heard)
    runs = [
        label(event) for event in heard if isinstance(event, AgentStart | AgentEnd | MessageStart)
    ]
    assert runs == [
        "message_start:user",
        "agent_start",
        "message_start:assistant",
        "message_start:user:followUp",
        "message_start:assistant",
        "agent_end:completed:stop",
        "message_start:user",
        "agent_start",
        "message_start:assistant",
        "agent_end:completed:stop",
    ]


async def test_an_interrupt_ends_what_was_open(autojump_clock):
    async def program(session):
        await session.prompt("a")
        await trio.sleep(1)
        await session.interrupt().settled()

    for text in ("half a", ""):
        async with open_engine(model=ScriptedModel([Hang(text)])) as engine:
            _, reader = await read(engine, program)
        heard = reader.heard()
        obeys_the_order_law(heard)
        assert [label(event) for event in heard[-2:]] == [
            "turn_end:1:aborted",
            "agent_end:aborted:aborted",
        ]


async def test_a_run_that_would_go_on_ends_when_what_waited_is_withdrawn():
    log = Log()
    splice = {"target": "next-step", "start": 0, "inserted": [{"id": "m", "content": "x"}]}
    projection = LiveProjection()
    drafts = [
        ("user/message", {"content": "a"}),
        ("turn/start", {"turn": 1}),
        ("agent/inbox/spliced", splice),
        ("turn/end", {"turn": 1, "reason": "completed"}),
    ]
    heard = projection.take_all(appended(log, drafts))
    assert not any(isinstance(event, AgentEnd) for event in heard)
    gone = {"target": "next-step", "start": 0, "removedCount": 1, "inserted": []}
    drafts = [("agent/inbox/spliced", gone | {"outcome": "canceled"})]
    assert [label(e) for e in projection.take_all(appended(log, drafts))] == [
        "agent_end:completed:None"
    ]


def appended(log, drafts):
    return log.append(*(Draft(word, data) for word, data in drafts), time_ms=0)


async def busy_program(session):
    await session.prompt("a")
    await trio.sleep(1)
    await session.prompt("b")
    await trio.sleep(30)
    await session.prompt("c", when="next")
    await trio.sleep(60)


def busy_engine():
    model = ScriptedModel(
        [
            CallTools(Call("sleep", id="c1"), Call("count", id="c2"), Call("nope", id="c3")),
            Fail(text="half"),
            Say("a long reply", pieces=5, delay_s=1),
            CallTools(Call("write", id="c4"), Call("sleep", id="c5")),
            Say("end", delay_s=1),
        ]
    )
    tools = [
        SleepingTool(effect="read", seconds=9),
        CountingTool(effect="read"),
        CountingTool(name="write"),
    ]
    return open_engine(model=model, tools=tools, policy=Policy(asks="never"))


@cache
def recorded():
    """Return what a reader of the busy program is shown."""

    async def run():
        async with busy_engine() as engine:
            _, reader = await read(engine, busy_program)
        return reader.items

    return trio.run(run, clock=trio.testing.MockClock(autojump_threshold=0))


@given(st.data())
def test_dropped_live_items_cost_updates_but_no_start_and_no_end(data):
    items = recorded()
    live = [number for number, item in enumerate(items) if not isinstance(item, Event)]
    dropped = data.draw(st.sets(st.sampled_from(live)))
    heard = LiveProjection().take_all(i for n, i in enumerate(items) if n not in dropped)
    obeys_the_order_law(heard)
    whole = LiveProjection().take_all(items)
    assert sorted(label(e) for e in heard if not isinstance(e, UPDATES)) == sorted(
        label(e) for e in whole if not isinstance(e, UPDATES)
    )


async def test_a_reader_that_begins_anywhere_is_told_the_rest(autojump_clock):
    async with busy_engine() as engine:
        session, _ = await read(engine, busy_program)
        events = await stored(engine, session.id)
    whole = LiveProjection()
    for event in events:
        whole.take(event)
        begun = LiveProjection.of(Log.load(events[: event.seq + 1]))
        assert begun.running == whole.running
        rest = events[event.seq + 1 :]
        expected = copy.deepcopy(whole).take_all(rest)
        assert [label(e) for e in begun.take_all(rest)] == [label(e) for e in expected]


def test_what_cannot_be_written_is_mended_on_the_wire():
    data = live_data(ToolExecutionUpdate("c", {"text": "half \ud83d"}))
    assert data == {
        "kind": "tool_execution_update",
        "toolCallId": "c",
        "update": {"text": "half �"},
    }
    assert "update" in live_data(ToolExecutionUpdate("c", None))
    assert live_data(AgentEnd("completed")) == {"kind": "agent_end", "status": "completed"}
