"""Scenarios about compactions through the engine: every tail that may be kept (S-15), and what comes meanwhile (S-19)."""

import pytest
import trio
from promises import keeps_its_promises, of

from actors.errors.session import CompactionError
from actors.log.projection import AssistantMessage, SystemMessage, ToolResultMessage
from actors.rules.compaction_settings import CompactionSettings
from actors.testing.model import ScriptedModel
from actors.testing.script import Call, CallTools, Say
from actors.testing.tools import CountingTool
from runtime import Agent, open_engine

LOOK = CountingTool(name="look", effect="read")
LONG = "words " * 200


def busy(request):
    """Call two tools at once, then one, then say something."""
    if request.step == 1:
        return CallTools(Call("look"), Call("look"), text=LONG)
    return CallTools(Call("look")) if request.step == 2 else Say(LONG)


def paired(messages) -> bool:
    """Whether every call has its result behind it, and every result its call."""
    waiting: list[str] = []
    for message in messages:
        if isinstance(message, ToolResultMessage):
            if message.tool_call_id not in waiting:
                return False
            waiting.remove(message.tool_call_id)
        elif waiting:
            return False
        if isinstance(message, AssistantMessage):
            waiting = [call.tool_call_id for call in message.tool_calls]
    return not waiting


@pytest.mark.parametrize("tail_keep", range(1, 25))
async def test_s15_after_any_compaction_the_next_request_is_whole_behind_its_prompt(tail_keep):
    model = ScriptedModel(busy)
    agent = Agent(
        name="busy",
        model=model,
        tools=[LOOK],
        system="Be brief.",
        compaction=CompactionSettings(tail_keep=tail_keep),
    )
    async with open_engine(agents=[agent]) as engine:
        session = await engine.create(agent="busy")
        for number in range(4):
            await session.run(f"{number} {LONG}")
        outcome = (await session.compact()).outcome
        await session.run("and now?")
        await keeps_its_promises(engine, session)
    asked = model.requests[-3].messages
    assert outcome == ("compacted" if tail_keep <= 20 else "nothing")
    assert asked[0] == SystemMessage(0, "Be brief.")
    assert paired(asked)


@pytest.mark.parametrize("what", ["prompt", "append", "occlude inside", "occlude beside"])
async def test_s19_what_comes_while_a_summary_is_made_is_covered_by_it_or_visible(
    what, autojump_clock
):
    slow = Say("A summary.", pieces=5, delay_s=2)
    model = ScriptedModel(lambda _: Say(LONG), summaries=lambda _: slow)
    async with open_engine(model=model) as engine:
        session = await engine.create()
        for number in range(8):
            await session.run(f"{number} {LONG}")
        seen = [message.seq for message in (await session.projection()).messages]
        outcomes: list[str] = []

        async def compact() -> None:
            try:
                outcomes.append((await session.compact()).outcome)
            except CompactionError:
                outcomes.append("refused")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(compact)
            await trio.sleep(3)
            hidden: list[int] = []
            if what == "prompt":
                await session.run("meanwhile")
            elif what == "append":
                await session.append("user/message", {"content": "meanwhile"})
            elif what == "occlude inside":
                hidden = seen[4:6]
            else:
                hidden = seen[-2:]
            if hidden:
                await session.occlude(*hidden)
        events = await keeps_its_promises(engine, session)
        now = {message.seq for message in (await session.projection()).messages}
    covered = {seq for e in events if e.type == "user/message" and e.op for seq in e.sources}
    messages = {e.seq for e in events if e.type in {"user/message", "assistant/message"}}
    assert messages == now | covered | set(hidden)
    assert not now & (covered | set(hidden))
    assert outcomes == ["refused" if what == "occlude inside" else "compacted"]
    assert len(of(events, "compaction/end")) == len(covered and [1])
