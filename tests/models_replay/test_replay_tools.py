"""Recorded tools: the very call gets the very result, and nothing harmless is guessed."""

from typing import Any

import pytest
import trio

from actors.ports.tool import ToolContext
from runtime.formats.reading import read_log
from runtime.models.replay_reading import record
from runtime.models.replay_tools import effect_of, replay_tools
from tests.formats.dsh_samples import SAMPLES
from tests.models_replay.test_replay_model import RECORDING, TWO_TURNS, native


def context(**changes: Any) -> ToolContext:
    given = {
        "session_id": "s",
        "call_id": "c1",
        "idempotency_key": "k",
        "turn": 1,
        "step": 1,
        "cancelled": trio.Event(),
        "sandbox_mode": None,
        "progress": lambda _: None,
        "ask": None,
        "keep": None,
        "attach": None,
    }
    return ToolContext(**(given | changes))


async def test_a_tool_gives_back_what_was_recorded_for_the_very_call() -> None:
    (read,) = replay_tools(RECORDING)
    first = await read.call({"path": "a"}, context())
    second = await read.call({"path": "b"}, context(call_id="c2"))
    assert (first.content, first.is_error, first.meta) == ("alpha", False, {"lines": 1})
    assert (second.content, second.is_error) == ("beta", True)


@pytest.mark.parametrize("turn", [1, 3])
async def test_a_call_with_a_fresh_id_is_found_by_its_arguments(turn: int) -> None:
    (read,) = replay_tools(RECORDING)
    found = await read.call({"path": "b"}, context(call_id="minted", turn=turn))
    assert found.content == "beta"


async def test_a_call_with_other_arguments_is_found_by_its_place() -> None:
    (read,) = replay_tools(RECORDING)
    assert (await read.call({"path": "z"}, context(call_id="minted"))).content == "alpha"


async def test_what_was_not_recorded_is_an_error_for_the_model() -> None:
    cut_off = record("x", TWO_TURNS[:5])
    (read,) = replay_tools(cut_off)
    assert (await read.call({}, context())).is_error
    (other,) = replay_tools([RECORDING], {})
    assert (await other.call({}, context())).is_error


async def test_each_session_gets_its_own_recording() -> None:
    other = record("other", read_log(SAMPLES / "code-tour.jsonl").events)
    tools = {
        t.schema.name: t for t in replay_tools([RECORDING, other], {"s": RECORDING, "t": other})
    }
    assert sorted(tools) == ["grep", "ls", "read"]
    assert (await tools["read"].call({"path": "a"}, context())).content == "alpha"
    there = await tools["read"].call({"path": "README.md"}, context(session_id="t", call_id="new"))
    assert str(there.content).startswith("# tidemark")


async def test_a_tool_takes_the_time_it_took(autojump_clock: Any) -> None:
    (read,) = replay_tools(RECORDING, speed=2)
    started = trio.current_time()
    await read.call({"path": "a"}, context())
    assert trio.current_time() - started == 1.5


async def test_a_tool_that_is_told_to_end_ends_at_once(autojump_clock: Any) -> None:
    (read,) = replay_tools(RECORDING, speed=2)
    told = trio.Event()
    started = trio.current_time()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_set_later, told)
        output = await read.call({"path": "a"}, context(cancelled=told))
    assert trio.current_time() - started == 1
    assert output.is_error


async def _set_later(event: trio.Event) -> None:
    await trio.sleep(1)
    event.set()


@pytest.mark.parametrize(
    ("name", "effect"),
    [
        ("read", "read"),
        ("ReadFile", "read"),
        ("mcp__files__list", "read"),
        ("todo_write", "read"),
        ("grep", "read"),
        ("bash", "exec"),
        ("thread", "exec"),
        ("Edit", "exec"),
        ("TodoWrite", "read"),
        ("LS", "read"),
    ],
)
def test_an_unknown_tool_is_not_taken_for_a_harmless_one(name: str, effect: str) -> None:
    assert effect_of(name) == effect


async def test_an_id_that_is_used_again_in_a_turn_names_two_calls() -> None:
    again = native(
        ("user/message", {"content": "twice"}),
        ("assistant/message", {"content": []}),
        ("tool/call", {"toolCallId": "c1", "name": "read", "arguments": "1"}),
        ("tool/result", {"toolCallId": "c1", "content": "first"}),
        ("assistant/message", {"content": []}),
        ("tool/call", {"toolCallId": "c1", "name": "read", "arguments": "2"}),
        ("tool/result", {"toolCallId": "c1", "content": "second"}),
        ("tool/result", {"toolCallId": "c1", "content": "nobody asked"}),
    )
    (read,) = replay_tools(record("again", again))
    assert (await read.call(1, context())).content == "first"
    assert (await read.call(2, context(step=2))).content == "second"
