"""What somebody new gets wrong first is told in words that show the right call."""

import asyncio  # noqa: TID251 - where an engine cannot run
import logging

import pytest

from actors.errors.actor import FeedNotOpenError
from actors.errors.message import EngineLoopError, MessageFieldError
from actors.testing.model import ScriptedModel
from actors.testing.script import Call, CallTools, Say
from runtime import Event, Session, open_engine, tool


@tool
async def act() -> str:
    """Do something."""
    return "done"


@pytest.mark.parametrize("follow", ["events", "live_events"])
async def test_a_feed_that_was_not_entered_is_refused_and_not_silent(follow: str) -> None:
    async with open_engine(model=ScriptedModel([Say("x")])) as engine:
        session = await engine.create()
        with pytest.raises(FeedNotOpenError, match=rf"async with session.{follow}\("):
            async for _ in getattr(session, follow)():
                pass


async def test_asks_that_were_not_entered_are_refused_and_do_not_wait_for_ever() -> None:
    async with open_engine() as engine:
        with pytest.raises(FeedNotOpenError, match=r"async with engine.asks\(\)"):
            async for _ in engine.asks():
                pass


async def test_live_events_are_followed_as_events_are() -> None:
    async with open_engine(model=ScriptedModel([Say("x")])) as engine:
        session = await engine.create()
        words: list[str] = []
        async with session.live_events() as following:
            await session.run("hello")
            async for item, _ in following:
                if isinstance(item, Event):
                    words.append(item.type)
                    if item.type == "turn/end":
                        break
    assert words[:2] == ["user/message", "turn/start"]


def test_an_engine_without_trio_says_how_to_run_it() -> None:
    async def main() -> None:
        async with open_engine():
            pass

    with pytest.raises(EngineLoopError, match=r"trio\.run\(main\)"):
        asyncio.run(main())


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [({"model": object()}, "openai/NAME"), ({"tools": act}, "a list of tools")],
)
async def test_an_argument_that_cannot_be_meant_is_refused_before_anything_is_opened(
    arguments: dict[str, object], shown: str
) -> None:
    with pytest.raises(MessageFieldError, match=shown):
        async with open_engine(**arguments):  # type: ignore[arg-type]
            pass


async def test_a_failing_on_ask_is_logged_when_nobody_else_is_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    model = ScriptedModel([CallTools(Call("act", {})), Say("x")])
    answer = lambda _: "approve"  # noqa: E731 - the mistake: no async function
    with caplog.at_level(logging.ERROR, "greenroom"):
        async with open_engine(model=model, tools=[act], on_ask=answer) as engine:  # type: ignore[arg-type, return-value]
            await (await engine.create()).run("go")
    assert "on_ask" in caplog.text


def test_help_shows_the_queue() -> None:
    assert "withdraw" in (Session.queue.__doc__ or "")
