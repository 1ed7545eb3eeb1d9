"""What goes wrong at a provider, through the engine and the real SDKs: the turn says it, and the session goes on."""

from collections.abc import Sequence

import attrs
import pytest
import trio

from actors.errors.session import CompactionError
from actors.log.events import Event
from actors.rules.retry import RetryPolicy
from actors.session.agent import Agent
from actors.session.limits import Limits
from runtime.engine.engine import Engine
from runtime.engine.opening import NEVER, open_engine
from runtime.engine.session import Session
from runtime.tools.functions import tool
from tests.fake_provider.answers import Answer, cut_after, refused, silent_after, streamed
from tests.fake_provider.clients import served_model
from tests.fake_provider.server import Seen, open_fake_provider
from tests.fake_provider.wire_forms import FORMS, Called, Form, Told, frames

forms = pytest.mark.parametrize("form", FORMS)
QUICK = RetryPolicy(base_ms=1)
OK = Told(text=("All ", "is well."))
LONG = "words " * 300
CALL = Told(text=("So. ",), calls=(Called("call-a", "add", ('{"a": 2', ', "b": 3}')),))


@tool(effect="read")
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def ok(form: Form) -> Answer:
    return streamed(frames(form, OK))


def page(body: bytes, kind: str = "text/html") -> Answer:
    return Answer(headers={"content-type": kind}, beats=[body])


FAULTS = {
    "429 with a wait": lambda f: refused(429, "rate_limit_error", "slow", {"retry-after": "0.05"}),
    "429 without one": lambda _: refused(429, "rate_limit_error", "slow"),
    "500": lambda _: refused(500, "api_error", "oops"),
    "529": lambda _: refused(529, "overloaded_error", "busy"),
    "cut": lambda f: cut_after(frames(f, OK), 3),
    "silence": lambda f: silent_after(frames(f, OK), 2),
    "silence from the start": lambda f: silent_after(frames(f, OK), 0),
    "a frame that is no JSON": lambda f: streamed([frames(f, OK)[0], b"data: {nonsense\n\n"]),
    "a page instead of a stream": lambda _: page(b"<html>maintenance</html>"),
    "nothing at all": lambda _: page(b"", "text/event-stream"),
    "bytes that are no text": lambda _: page(b"\xff\xfe\x00" * 50, "text/event-stream"),
}


@forms
@pytest.mark.parametrize("fault", FAULTS)
async def test_a_fault_is_tried_again_and_nothing_of_it_stays_in_the_reply(
    form: Form, fault: str
) -> None:
    async with (
        open_fake_provider([FAULTS[fault](form), ok(form)]) as provider,
        served_model(form, provider.url) as model,
        open_engine(
            agents=[Agent(name="quick", model=model, retry=QUICK)],
            limits=Limits(stream_idle_s=1.0),
        ) as engine,
    ):
        session = await engine.create(agent="quick")
        with trio.fail_after(10):
            result = await session.run("hi")
        events = await session.read()
    assert (result.reason, result.text) == ("completed", "All is well.")
    assert [e.type for e in events].count("assistant/attempt") == 1
    assert len(provider.seen) == 2


@forms
@pytest.mark.parametrize(
    "fault", ["a frame that is no JSON", "a page instead of a stream", "silence"]
)
async def test_a_provider_that_answers_nonsense_for_ever_ends_the_turn_and_says_so(
    form: Form, fault: str
) -> None:
    well = False

    def answer(_: Seen) -> Answer:
        return ok(form) if well else FAULTS[fault](form)

    async with (
        open_fake_provider(answer) as provider,
        served_model(form, provider.url) as model,
        open_engine(
            agents=[Agent(name="quick", model=model, retry=QUICK)],
            limits=Limits(stream_idle_s=0.5),
        ) as engine,
    ):
        session = await engine.create(agent="quick")
        result = await session.run("hi")
        assert result.reason == "error"
        assert any(code in str(result.error) for code in ("LLM_STREAM", "LLM_REQUEST"))
        # Counted in the log: a request that is given up may never have reached the provider.
        attempts = [event.type for event in await session.read()].count("assistant/attempt")
        assert attempts == 3
        well = True
        assert (await session.run("and now?")).completed


@forms
async def test_an_unknown_model_is_a_final_failure_that_names_it(form: Form) -> None:
    no_model = refused(404, "not_found_error", "no such model: model-1")
    async with (
        open_fake_provider(lambda _: no_model) as provider,
        served_model(form, provider.url) as model,
        open_engine(model=model) as engine,
    ):
        result = await (await engine.create()).run("hi")
        assert result.reason == "error"
        assert "LLM_MODEL_UNKNOWN" in str(result.error)
        assert "model-1" in str(result.error)
        assert len(provider.seen) == 1


@forms
@pytest.mark.parametrize("cut", range(1, 12))
async def test_s14_a_stream_that_stops_anywhere_around_its_call_starts_nothing(
    form: Form, cut: int
) -> None:
    whole = frames(form, CALL)
    if cut >= len(whole) - 2:
        pytest.skip("the reply is whole there")
    ran: list[int] = []

    @tool(effect="read", name="add")
    async def noting(a: int, b: int) -> int:
        """Add two numbers."""
        ran.append(a)
        return a + b

    async with (
        open_fake_provider([cut_after(whole, cut), ok(form)]) as provider,
        served_model(form, provider.url) as model,
        open_engine(
            agents=[Agent(name="q", model=model, tools=[noting], policy=NEVER, retry=QUICK)]
        ) as engine,
    ):
        session = await engine.create(agent="q")
        result = await session.run("hi")
        events = await session.read()
    assert (result.text, ran) == ("All is well.", [])
    assert not [e for e in events if e.type in {"tool/call", "tool/result"}]
    assert len(provider.seen) == 2


@forms
async def test_s12_a_reply_that_broke_for_good_behind_its_call_leaves_a_history_to_go_on_with(
    form: Form,
) -> None:
    broken = cut_after(frames(form, CALL), 5)
    async with (
        open_fake_provider([broken, ok(form)]) as provider,
        served_model(form, provider.url) as model,
        open_engine(
            agents=[Agent(name="q", model=model, tools=[add], retry=RetryPolicy(enabled=False))]
        ) as engine,
    ):
        session = await engine.create(agent="q")
        assert (await session.run("hi")).reason == "error"
        assert (await session.run("continue")).completed
        events = await session.read()
    assert b"call-a" not in provider.seen[1].body
    assert b"continue" in provider.seen[1].body
    (lost,) = [e.data() for e in events if e.type == "assistant/message"][:1]
    assert lost["stopReason"] == "error"


async def talked(engine: Engine, count: int) -> Session:
    session = await engine.create(agent="a")
    for number in range(count):
        assert (await session.run(f"{number} {LONG}")).completed
    return session


def told(events: Sequence[Event], word: str) -> list[dict]:
    return [event.data() for event in events if event.type == word]


@forms
async def test_a_context_that_does_not_fit_even_after_a_compaction_ends_the_turn_once(
    form: Form,
) -> None:
    full = False

    def answer(seen: Seen) -> Answer:
        if full and b"FULL" in seen.body:
            return refused(
                400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000"
            )
        return ok(form)

    async with (
        open_fake_provider(answer) as provider,
        served_model(form, provider.url) as model,
        open_engine(agents=[Agent(name="a", model=model)]) as engine,
    ):
        session = await talked(engine, 8)
        full = True
        before = len(provider.seen)
        result = await session.run("FULL")
        events = await session.read()
        assert result.reason == "error"
        assert "LLM_CONTEXT_OVERFLOW" in str(result.error)
        assert len(provider.seen) - before == 3  # the request, the summary, the request again
    assert [d["reason"] for d in told(events, "compaction/end")] == ["completed"]
    assert [d["phase"] for d in told(events, "llm/retry")] == ["scheduled", "exhausted"]


@forms
async def test_a_summariser_that_hangs_is_given_up_by_an_interrupt_and_leaves_all_as_it_was(
    form: Form,
) -> None:
    hangs = False

    def answer(_: Seen) -> Answer:
        return silent_after(frames(form, OK), 3) if hangs else ok(form)

    async with (
        open_fake_provider(answer) as provider,
        served_model(form, provider.url) as model,
        open_engine(
            agents=[Agent(name="a", model=model)], limits=Limits(stream_idle_s=0.4)
        ) as engine,
    ):
        session = await talked(engine, 8)
        before = await session.projection()
        hangs = True
        with pytest.raises(CompactionError, match="silent"):
            await session.compact()
        hangs = False
        assert list((await session.projection()).messages) == list(before.messages)
        assert (await session.compact()).outcome == "compacted"
        assert (await session.run("on")).completed
        events = await session.read()
    assert [d["reason"] for d in told(events, "compaction/end")] == ["failed", "completed"]


@attrs.frozen
class Point:
    x: int
    y: int


@forms
async def test_a_result_that_does_not_fit_its_type_is_asked_for_once_more(form: Form) -> None:
    texts = ['{"x": "left"}', '{"x": 1, "y": 2}']
    answers = [streamed(frames(form, Told(text=(text,)))) for text in texts]
    async with (
        open_fake_provider(answers) as provider,
        served_model(form, provider.url) as model,
        open_engine(model=model) as engine,
    ):
        result = await (await engine.create()).run("Where?", returns=Point)
        assert result.value == Point(1, 2)
        assert b"did not fit the type Point" in provider.seen[1].body
