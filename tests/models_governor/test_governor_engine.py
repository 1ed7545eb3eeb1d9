"""Sessions of an engine on one key, through the real SDKs: they share its limits, and each says that it waits."""

from collections.abc import Callable

import attrs
import pytest
import trio

from actors.log.events import Event
from actors.rules.rates import Rates
from actors.session.limits import Limits
from actors.session.live import RequestHeld
from runtime.engine.engine import Engine
from runtime.engine.opening import open_engine
from runtime.models.governed import GovernedModel
from runtime.models.governor import Governor
from tests.fake_provider.answers import Answer, refused, silent_after, streamed
from tests.fake_provider.clients import need_sdk, served_model
from tests.fake_provider.server import Seen, open_fake_provider
from tests.fake_provider.wire_forms import FORMS, Form, Told, frames

forms = pytest.mark.parametrize("form", FORMS)
HELLO = Told(text=("Hello.",))


async def until(holds: Callable[[], bool]) -> None:
    with trio.fail_after(5):
        while not holds():  # noqa: ASYNC110 - nothing tells when
            await trio.sleep(0.01)


async def run_many(engine: Engine, count: int) -> list[str]:
    reasons: list[str] = []

    async def talk() -> None:
        session = await engine.create()
        reasons.append((await session.run("hi")).reason)

    async with trio.open_nursery() as nursery:
        for _ in range(count):
            nursery.start_soon(talk)
    return reasons


@forms
async def test_sessions_keep_the_concurrency_of_their_key_and_all_complete(form: Form) -> None:
    async with (
        open_fake_provider(lambda _: streamed(frames(form, HELLO), pause_s=0.002)) as provider,
        served_model(form, provider.url) as model,
        open_engine(model=GovernedModel(model, Governor(Rates(concurrent=3)))) as engine,
    ):
        assert await run_many(engine, 20) == ["completed"] * 20
        assert (provider.busiest, len(provider.seen)) == (3, 20)


@forms
async def test_a_429_of_one_session_holds_the_others_back_for_as_long_as_it_says(
    form: Form,
) -> None:
    times_s: list[float] = []

    def answer(_: Seen) -> Answer:
        times_s.append(trio.current_time())
        if len(times_s) == 1:
            return refused(429, "rate_limit_error", "slow", {"retry-after": "0.4"})
        return streamed(frames(form, HELLO))

    async with (
        open_fake_provider(answer) as provider,
        served_model(form, provider.url) as model,
        open_engine(model=GovernedModel(model, Governor())) as engine,
    ):
        first, second = await engine.create(), await engine.create()
        turn = await first.prompt("hi")
        await until(lambda: bool(times_s))
        await trio.sleep(0.1)
        held: list[RequestHeld] = []
        async with second.events() as feed:
            other = await second.prompt("hi")
            async for item in feed:
                if isinstance(item, RequestHeld):
                    held.append(item)
                if isinstance(item, Event) and item.type == "turn/end":
                    break
        assert (await turn.result()).completed
        assert (await other.result()).completed
    assert [(item.reason, item.turn, item.attempt) for item in held] == [("rate-limit", 1, 1)]
    assert len(times_s) == 3
    assert min(times_s[1:]) - times_s[0] >= 0.39


@forms
async def test_what_the_answer_says_is_left_holds_the_next_request_back(form: Form) -> None:
    headers = {
        "x-ratelimit-limit-requests": "10",
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": "3s",
    }

    def answer(_: Seen) -> Answer:
        told = streamed(frames(form, HELLO))
        return attrs.evolve(told, headers={**told.headers, **headers})

    async with (
        open_fake_provider(answer) as provider,
        served_model(form, provider.url) as model,
        open_engine(model=GovernedModel(model, Governor())) as engine,
    ):
        started_s = trio.current_time()
        assert await run_many(engine, 1) == ["completed"]
        assert await run_many(engine, 1) == ["completed"]
        assert 0.25 < trio.current_time() - started_s < 2.5


@pytest.mark.parametrize("where", ["held", "streaming"])
async def test_an_interrupt_ends_a_request_that_waits_at_once(where: str) -> None:
    need_sdk("chat")
    hanging = silent_after(frames("chat", HELLO), 1)
    async with (
        open_fake_provider(lambda _: hanging) as provider,
        served_model("chat", provider.url) as model,
        open_engine(
            model=(governed := GovernedModel(model, Governor(Rates(concurrent=1))))
        ) as engine,
    ):
        streams, waits = await engine.create(), await engine.create()
        first = await streams.prompt("hi")
        await until(lambda: bool(provider.seen))
        second = await waits.prompt("hi")
        await until(lambda: governed.governor.waiting == 1)
        chosen, turn = (waits, second) if where == "held" else (streams, first)
        with trio.fail_after(1):
            await chosen.interrupt().settled()
            assert (await turn.result()).reason == "aborted"
        if where == "streaming":  # the one that waited goes in its place
            await until(lambda: len(provider.seen) == 2)
        assert len(provider.seen) == (1 if where == "held" else 2)


async def test_a_model_that_is_opened_by_its_name_keeps_the_rates_of_the_engine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    need_sdk("chat")
    async with open_fake_provider(lambda _: streamed(frames("chat", HELLO), pause_s=0.01)) as p:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{p.url}/v1")
        limits = Limits(rates=Rates(concurrent=2))
        async with open_engine(
            model="openai-chat/one", fallbacks=["openai-chat/two"], limits=limits
        ) as engine:
            assert await run_many(engine, 8) == ["completed"] * 8
        assert p.busiest == 2


async def test_a_provider_that_is_down_is_asked_by_one_and_the_fallback_answers_the_rest() -> None:
    need_sdk("chat")

    def down(_: Seen) -> Answer:
        return refused(503, "api_error", "oops")

    async with (
        open_fake_provider(down) as first,
        open_fake_provider(lambda _: streamed(frames("chat", HELLO))) as second,
        served_model("chat", first.url) as one,
        served_model("chat", second.url) as two,
    ):
        governed = GovernedModel(one, Governor(Rates(failures=2, open_s=600)))
        async with open_engine(model=governed, fallbacks=[two]) as engine:
            assert await run_many(engine, 1) == ["completed"]
            asked = len(first.seen)
            assert await run_many(engine, 10) == ["completed"] * 10
        assert asked == 2  # the circuit opened before the retries were used up
        assert len(first.seen) == asked
        assert len(second.seen) == 11
