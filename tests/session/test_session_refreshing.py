"""A model whose credentials are refused renews them once (L-101)."""

import pytest
import trio
from promises import keeps_its_promises, of

from actors.rules.retry import RetryPolicy
from actors.testing.model import ScriptedModel
from actors.testing.script import Fail, Say
from runtime import Agent, Fallback, open_engine
from runtime.models.governed import GovernedModel
from runtime.models.governor import Governor

REFUSED = Fail("auth", "LLM_AUTH", "401 unauthorized")


class RenewingModel(ScriptedModel):
    """Renews its credentials as ``answer`` says."""

    def __init__(self, replies, answer) -> None:
        super().__init__(replies, name="p/renewing")
        self.renewed = 0
        self._answer = answer

    async def refresh(self) -> bool:
        self.renewed += 1
        return await self._answer()


async def works() -> bool:
    await trio.sleep(1)
    return True


async def does_not() -> bool:
    return False


async def raises() -> bool:
    raise OSError("no token service")


async def ran(model, **options):
    async with open_engine(agents=[Agent(name="a", model=model, **options)]) as engine:
        session = await engine.create(agent="a")
        result = await session.run("hello")
        return result, await keeps_its_promises(engine, session)


@pytest.mark.parametrize("governed", [False, True])
async def test_a_request_is_made_again_when_the_credentials_were_renewed(autojump_clock, governed):
    model = RenewingModel([REFUSED, Say("ok")], works)
    result, events = await ran(GovernedModel(model, Governor()) if governed else model)
    assert (result.text, model.renewed) == ("ok", 1)
    (retry,) = of(events, "llm/retry")
    assert (retry["phase"], retry["reason"], retry["decidedBy"]) == (
        "scheduled",
        "auth-refresh",
        "host",
    )
    assert len(of(events, "assistant/attempt")) == 1


@pytest.mark.parametrize("answer", [does_not, raises, trio.sleep_forever])
async def test_where_they_cannot_be_renewed_the_turn_ends_and_nothing_is_written_of_it(
    autojump_clock, answer
):
    model = RenewingModel([REFUSED], answer)
    result, events = await ran(model)
    assert (result.reason, model.renewed) == ("error", 1)
    assert of(events, "llm/retry") == []
    assert of(events, "assistant/message")[-1]["errorMessage"].endswith("401 unauthorized")


async def test_they_are_renewed_once_a_turn(autojump_clock):
    model = RenewingModel([REFUSED, REFUSED], works)
    result, events = await ran(model)
    assert (result.reason, model.renewed) == ("error", 1)
    assert [retry["phase"] for retry in of(events, "llm/retry")] == ["scheduled", "exhausted"]


async def test_without_retries_or_a_way_to_renew_nothing_is_tried(autojump_clock):
    model = RenewingModel([REFUSED], works)
    result, _ = await ran(model, retry=RetryPolicy(enabled=False))
    assert (result.reason, model.renewed) == ("error", 0)
    result, events = await ran(GovernedModel(ScriptedModel([REFUSED]), Governor()))
    assert (result.reason, of(events, "llm/retry")) == ("error", [])


async def test_the_next_model_is_asked_when_they_cannot_be_renewed(autojump_clock):
    other = ScriptedModel([Say("from the other")], name="p/other")
    model = RenewingModel([REFUSED], does_not)
    result, events = await ran(model, fallbacks=[Fallback(other, 1000)])
    assert (result.text, model.renewed) == ("from the other", 1)
    assert [retry["reason"] for retry in of(events, "llm/retry")] == ["fallback"]


async def test_an_interrupt_while_they_are_renewed_keeps_what_the_attempt_had_said(autojump_clock):
    model = RenewingModel(
        [Fail("auth", "LLM_AUTH", "401 unauthorized", text="part")], trio.sleep_forever
    )
    async with open_engine(agents=[Agent(name="a", model=model)]) as engine:
        session = await engine.create(agent="a")
        turn = await session.prompt("hello")
        await trio.sleep(5)
        await session.interrupt().settled()
        assert (await turn.result()).reason == "aborted"
        events = await keeps_its_promises(engine, session)
    assert "part" in str(of(events, "assistant/attempt"))
