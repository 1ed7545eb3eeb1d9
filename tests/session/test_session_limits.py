"""Limits that cannot be meant are refused when they are given."""

import pytest
from promises import keeps_its_promises, of

from actors.errors.message import LimitError
from actors.testing.model import ScriptedModel
from actors.testing.script import Call, CallTools
from actors.testing.tools import CountingTool
from runtime import Limits, open_engine


@pytest.mark.parametrize(
    "limit",
    [
        {"running": 0},
        {"running": -1},
        {"waiting_inputs": 2.5},
        {"children": True},
        {"tool_grace_s": 0.0},
        {"tool_grace_s": float("nan")},
        {"calls_per_reply": 1.5},
        {"mailbox": "8"},
    ],
)
def test_a_limit_that_cannot_be_meant_is_refused_with_its_name(limit):
    with pytest.raises(LimitError) as refused:
        Limits(**limit)
    assert refused.value.code == "LIMIT_INVALID"
    assert next(iter(limit)) in str(refused.value)


@pytest.mark.parametrize("most", [0, -3])
async def test_without_room_for_calls_each_is_refused_and_the_turn_ends(most):
    tool = CountingTool(effect="read")
    model = ScriptedModel([CallTools(Call("count"), Call("count"))])
    limits = Limits(calls_per_reply=most)
    async with open_engine(model=model, tools=[tool], limits=limits) as engine:
        session = await engine.create()
        result = await session.run("go")
        events = await keeps_its_promises(engine, session)
    assert result.completed
    assert tool.calls == []
    assert [d["error"]["code"] for d in of(events, "tool/result")] == ["TOOL_CALL_LIMIT"] * 2
