"""A crash between an answer and its call: the answer stands, nobody is asked twice."""

import pytest
import trio
from promises import keeps_its_promises, of

from actors.log.events import Draft
from actors.log.log import Log
from actors.ports.store import SessionRecord
from actors.testing.model import ScriptedModel
from actors.testing.script import Say
from actors.testing.tools import CountingTool
from runtime import open_engine
from runtime.stores.memory import MemoryStore

CALL = {"toolCallId": "c1", "name": "count", "arguments": "{}", "turn": 1, "step": 1}
ASKED = {"approvalId": "ask-1", "toolCallId": "c1", "toolName": "count", "summary": "?"}
BLOCKED = Draft(
    "gate/decision", {"toolCallId": "c1", "decision": "block", "reason": "ask-rejected"}
)


def decided(word: str) -> Draft:
    data = {"approvalId": "ask-1", "decision": word, "source": "user", "by": "ann"}
    return Draft("approval/decided", data)


async def cut_off_behind(*drafts: Draft) -> MemoryStore:
    store, log = MemoryStore(), Log()
    before = [
        Draft("user/message", {"content": "go", "source": "user", "id": "m"}),
        Draft("turn/start", {"turn": 1}),
        Draft("assistant/message", {"content": [], "stopReason": "toolUse", "turn": 1, "step": 1}),
        Draft("tool/call", CALL),
        Draft("approval/asked", ASKED),
    ]
    events = log.append(*before, *drafts, time_ms=1)
    epoch = await store.claim("the dead one")
    await store.create(SessionRecord(id="s", created_ms=1), events, epoch=epoch)
    await store.release(epoch)
    return store


@pytest.mark.parametrize(
    ("drafts", "runs"),
    [
        ((decided("reject"),), 0),
        ((decided("reject"), BLOCKED), 0),
        ((decided("cancel"),), 0),
        ((decided("approve"),), 1),
    ],
)
async def test_an_answer_on_record_is_kept_when_its_turn_is_picked_up(drafts, runs, autojump_clock):
    store = await cut_off_behind(*drafts)
    tool = CountingTool()

    async def approve(_ask):
        return "approve"

    async with open_engine(
        store, model=ScriptedModel([Say("done")]), tools=[tool], on_ask=approve, recovery="resume"
    ) as engine:
        await trio.sleep(1)
        result = await engine.session("s").result("m")
        events = await keeps_its_promises(engine, engine.session("s"))
    assert result.text == "done"
    assert len(of(events, "approval/asked")) == 1
    assert len(tool.calls) == runs
