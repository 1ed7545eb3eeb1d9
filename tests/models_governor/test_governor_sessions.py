"""One key, many sessions: what waits, who goes first, and what a provider that is down does to all of them."""

import pytest
import trio

from actors.log.projection import UserMessage
from actors.ports.model import (
    Allotment,
    Failed,
    Finished,
    Held,
    ModelRequest,
    Part,
    RateReport,
    TextDelta,
)
from actors.rules.rates import Rates
from actors.testing.model import ScriptedModel
from actors.testing.script import Beat, Fail, Hang, Raise, Say
from runtime.models.governed import GovernedModel, Governors
from runtime.models.governor import Governor
from tests.contracts.model_contract import ModelContract, parts_of


def request(
    session: str = "s-1", *, background: bool = False, purpose: str = "turn", model: str = "p/m"
) -> ModelRequest:
    return ModelRequest(
        session_id=session,
        turn=1,
        step=1,
        purpose=purpose,
        background=background,
        model=model,
        messages=(UserMessage(0, "hello"),),
    )


def governed(answer: object, **rates: float) -> GovernedModel:
    script = answer if callable(answer) else (lambda _: answer)
    return GovernedModel(ScriptedModel(script), Governor(Rates(**rates)))


class TestContractOfAGovernedModel(ModelContract):
    @pytest.fixture
    def model(self) -> GovernedModel:
        return governed(Say("a b c", pieces=3, delay_s=1), concurrent=2)


async def test_a_request_that_nothing_limits_goes_at_once_and_says_nothing_of_it(
    autojump_clock: trio.testing.MockClock,
) -> None:
    model = governed(Say("hello"))
    parts = await parts_of(model, request())
    assert not any(isinstance(part, Held) for part in parts)
    assert trio.current_time() == 0
    assert (model.governor.under_way, model.governor.waiting) == (0, 0)


async def started(model: GovernedModel, *requests: ModelRequest) -> list[tuple[str, float]]:
    """Ask for all of them in this order; return who was let go, and when."""
    order: list[tuple[str, float]] = []

    async def ask(one: ModelRequest) -> None:
        async with model.stream(one) as stream:
            async for part in stream:
                if isinstance(part, TextDelta):
                    order.append((one.session_id, trio.current_time()))

    async with trio.open_nursery() as nursery:
        for one in requests:
            nursery.start_soon(ask, one)
            await trio.testing.wait_all_tasks_blocked()
    return order


async def test_no_more_than_so_many_run_at_once_and_the_rest_go_by_session(
    autojump_clock: trio.testing.MockClock,
) -> None:
    model = governed(Say("x", delay_s=1), concurrent=1)
    names = ["first", "busy", "busy", "busy", "quiet"]
    order = await started(model, *map(request, names))
    assert [name for name, _ in order] == ["first", "busy", "quiet", "busy", "busy"]
    assert [at_s for _, at_s in order] == [1, 2, 3, 4, 5]


async def test_people_go_before_children_and_summaries(
    autojump_clock: trio.testing.MockClock,
) -> None:
    model = governed(Say("x", delay_s=1), concurrent=1)
    order = await started(
        model,
        request("first"),
        request("child", background=True),
        request("summary", purpose="summary"),
        request("person"),
    )
    assert [name for name, _ in order] == ["first", "person", "child", "summary"]


async def test_requests_of_a_minute_are_counted_over_all_sessions(
    autojump_clock: trio.testing.MockClock,
) -> None:
    model = governed(Say("x"), requests_per_minute=2, wait_s=600)
    order = await started(model, *(request(f"s-{n}") for n in range(5)))
    assert [at_s for _, at_s in order] == [0, 0, 60, 60, 120]


async def test_tokens_are_counted_by_what_replies_really_used(
    autojump_clock: trio.testing.MockClock,
) -> None:
    used = {"input": 30, "output": 30, "totalTokens": 60}
    model = governed(Say("x", usage=used), tokens_per_minute=100)
    starts = []
    for _ in range(4):
        await parts_of(model, request())
        starts.append(trio.current_time())
    assert starts == [0, 60, 120, 180]


async def test_a_pause_that_one_session_was_told_is_kept_by_all(
    autojump_clock: trio.testing.MockClock,
) -> None:
    answers = iter([Fail("transient", "LLM_RATE_LIMITED", "slow", 7.0)])
    model = governed(lambda _: next(answers, Say("x")))
    assert isinstance((await parts_of(model, request("a")))[-1], Failed)
    parts = await parts_of(model, request("b"))
    assert parts[0] == Held(reason="rate-limit", at_most_s=240.0)
    assert trio.current_time() == 7.0


async def test_a_pause_longer_than_anybody_waits_is_an_error_at_once(
    autojump_clock: trio.testing.MockClock,
) -> None:
    model = governed(Fail("transient", "LLM_RATE_LIMITED", "slow", 900.0))
    await parts_of(model, request())
    (failed,) = await parts_of(model, request())
    assert isinstance(failed, Failed)
    assert (failed.code, failed.retry_after_s) == ("LLM_RATE_LIMITED", 900.0)
    assert trio.current_time() == 0


class _Reporting:
    """A reply whose provider says what is left."""

    def __init__(self, left: float) -> None:
        self._left = left

    def beats(self, _: ModelRequest, /):
        yield Beat(0.0, RateReport(requests=Allotment(limit=60, left=self._left, reset_s=60)))
        yield from Say("x").beats(_)


async def test_what_the_provider_says_is_left_is_kept_and_shown_to_nobody(
    autojump_clock: trio.testing.MockClock,
) -> None:
    model = governed(lambda _: _Reporting(0))
    parts = await parts_of(model, request())
    assert not any(isinstance(part, RateReport) for part in parts)
    await parts_of(model, request())
    assert trio.current_time() == pytest.approx(1.0)


async def test_models_of_one_key_share_its_limits_but_not_what_is_left_of_each(
    autojump_clock: trio.testing.MockClock,
) -> None:
    governor = Governor(Rates(concurrent=1))
    one = GovernedModel(ScriptedModel(lambda _: _Reporting(0), name="p/one"), governor)
    two = GovernedModel(ScriptedModel(lambda _: Say("x"), name="p/two"), governor)
    await parts_of(one, request(model="p/one"))
    await parts_of(two, request(model="p/two"))
    assert trio.current_time() == 0
    async with one.stream(request(model="p/one")) as stream:
        held = await anext(stream)
        assert isinstance(held, Held)
        assert await parts_of(two, request(model="p/two"))  # a waiting one stands in nobody's way
        assert trio.current_time() == 0


DOWN = Fail("transient", "LLM_UNAVAILABLE", "oops")


async def test_a_provider_that_is_down_is_left_alone_then_one_request_tries_for_all(
    autojump_clock: trio.testing.MockClock,
) -> None:
    up = False

    def answer(_: ModelRequest) -> object:
        return Say("x", delay_s=1) if up else DOWN

    model = governed(answer, failures=3, open_s=20)
    for _ in range(3):
        await parts_of(model, request())
    asked = len(model.model.requests)
    (failed,) = await parts_of(model, request())
    assert isinstance(failed, Failed)
    assert (failed.code, failed.retry_after_s) == ("LLM_CIRCUIT_OPEN", 20.0)
    assert "failed 3 times in a row" in failed.message
    assert len(model.model.requests) == asked

    await trio.sleep(20)
    assert (await parts_of(model, request()))[-1].code == "LLM_UNAVAILABLE"
    assert (await parts_of(model, request()))[-1].code == "LLM_CIRCUIT_OPEN"

    up = True
    await trio.sleep(20)
    first_s = trio.current_time()
    order = await started(model, request("tries"), request("waits"), request("waits too"))
    later_s = first_s + 2
    assert sorted(order) == [("tries", first_s + 1), ("waits", later_s), ("waits too", later_s)]


async def test_those_who_wait_for_the_one_that_tries_fail_with_it(
    autojump_clock: trio.testing.MockClock,
) -> None:
    model = governed(Fail("transient", "LLM_UNAVAILABLE", "oops"), failures=1, open_s=20)
    await parts_of(model, request())
    await trio.sleep(20)
    model.model._next_reply = lambda _: _Slow(DOWN)
    ends: list[Part] = []

    async def ask() -> None:
        ends.append((await parts_of(model, request()))[-1])

    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(ask)
    codes = sorted(end.code for end in ends)
    assert codes == ["LLM_CIRCUIT_OPEN", "LLM_CIRCUIT_OPEN", "LLM_UNAVAILABLE"]


class _Slow:
    def __init__(self, then: Fail) -> None:
        self._then = then

    def beats(self, request: ModelRequest, /):
        for beat in self._then.beats(request):
            yield Beat(1.0, beat.part)


@pytest.mark.parametrize(
    "refusal",
    [
        Fail("non-retryable", "LLM_REQUEST_REFUSED", "no"),
        Fail("auth", "LLM_NOT_AUTHORIZED", "no"),
        Fail("quota", "LLM_QUOTA_EXCEEDED", "no"),
    ],
)
async def test_refusals_of_one_request_or_key_do_not_say_that_the_provider_is_down(
    refusal: Fail, autojump_clock: trio.testing.MockClock
) -> None:
    model = governed(refusal, failures=2)
    for _ in range(5):
        (failed,) = await parts_of(model, request())
        assert failed.code == refusal.code


async def test_one_that_tries_and_is_cancelled_lets_the_next_one_try(
    autojump_clock: trio.testing.MockClock,
) -> None:
    answers: list[object] = [DOWN, Hang(), Say("x")]
    model = governed(lambda _: answers.pop(0), failures=1, open_s=5)
    await parts_of(model, request())
    await trio.sleep(5)
    with trio.move_on_after(1):
        await parts_of(model, request())
    assert isinstance((await parts_of(model, request()))[-1], Finished)


async def test_waiting_longer_than_allowed_and_too_many_waiting_are_errors_that_say_so(
    autojump_clock: trio.testing.MockClock,
) -> None:
    model = governed(Hang(), concurrent=1, wait_s=30, waiting=1)
    ends: list[Part] = []

    async def ask() -> None:
        ends.append((await parts_of(model, request()))[-1])

    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(ask)
            await trio.testing.wait_all_tasks_blocked()
        assert [end.code for end in ends] == ["LLM_INFLIGHT_LIMIT"]
        assert "1 requests wait" in ends[0].message
        await trio.sleep(30.1)
        assert [end.code for end in ends] == ["LLM_INFLIGHT_LIMIT"] * 2
        assert "for 30 s" in ends[1].message
        nursery.cancel_scope.cancel()
    assert (model.governor.under_way, model.governor.waiting) == (0, 0)


@pytest.mark.parametrize("where", ["waiting", "under way"])
async def test_a_cancelled_request_gives_its_place_up_at_once(
    where: str, autojump_clock: trio.testing.MockClock
) -> None:
    model = governed(Hang(), concurrent=1)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(parts_of, model, request("hangs"))
        await trio.testing.wait_all_tasks_blocked()
        if where == "waiting":
            with trio.move_on_after(2):
                await parts_of(model, request("gives up"))
            assert model.governor.waiting == 0
        nursery.cancel_scope.cancel()
    assert model.governor.under_way == 0
    model.model._next_reply = lambda _: Say("x")
    before_s = trio.current_time()
    assert isinstance((await parts_of(model, request()))[-1], Finished)
    assert trio.current_time() == before_s


async def test_an_adapter_that_raises_leaves_its_place_too(
    autojump_clock: trio.testing.MockClock,
) -> None:
    model = governed(Raise(ValueError("bad adapter")), concurrent=1)
    with pytest.raises(ValueError, match="bad adapter"):
        await parts_of(model, request())
    assert model.governor.under_way == 0


async def test_no_session_starves_however_much_another_asks_for(
    autojump_clock: trio.testing.MockClock,
) -> None:
    model = governed(Say("x", delay_s=1), concurrent=1)
    served: list[tuple[str, float]] = []

    async def insist(name: str, times: int) -> None:
        for _ in range(times):
            async with model.stream(request(name)) as stream:
                async for part in stream:
                    if isinstance(part, Finished):
                        served.append((name, trio.current_time()))

    async with trio.open_nursery() as nursery:
        for _ in range(20):
            nursery.start_soon(insist, "greedy", 5)
        await trio.sleep(0.5)
        nursery.start_soon(insist, "modest", 5)
    modest = [at_s for name, at_s in served if name == "modest"]
    assert modest[-1] <= 16  # of 105 s
    assert len(served) == 105


async def test_a_key_has_one_governor(autojump_clock: trio.testing.MockClock) -> None:
    governors = Governors()
    assert governors.of("A_KEY") is governors.of("A_KEY")
    assert governors.of("A_KEY") is not governors.of("B_KEY")


async def test_background_work_of_another_model_waits_longer_and_not_for_ever(
    autojump_clock: trio.testing.MockClock,
) -> None:
    model = governed(Say("x", delay_s=1), concurrent=1, wait_s=100)
    people = [request(f"p{n}") for n in range(30)]
    summary = request("summary", purpose="summary", model="p/cheap")
    order = await started(model, request("first"), summary, *people)
    assert 1 < [name for name, _ in order].index("summary") <= 10


async def test_an_older_request_that_is_given_up_does_not_let_a_second_one_try(
    autojump_clock: trio.testing.MockClock,
) -> None:
    asked: list[str] = []

    def answer(one: ModelRequest) -> object:
        asked.append(one.session_id)
        return Fail("transient", "LLM_UNAVAILABLE") if one.session_id == "bad" else Hang()

    model = governed(answer, failures=1, open_s=5)
    scopes = {name: trio.CancelScope() for name in ("old", "bad", "tries", "waits")}

    async def ask(name: str) -> None:
        with scopes[name]:
            await parts_of(model, request(name))

    async with trio.open_nursery() as nursery:
        for name in scopes:
            nursery.start_soon(ask, name)
            await trio.sleep(6)
        scopes["old"].cancel()
        await trio.sleep(1)
        assert asked == ["old", "bad", "tries"]
        scopes["tries"].cancel()
        await trio.sleep(1)
        assert asked == ["old", "bad", "tries", "waits"]
        nursery.cancel_scope.cancel()
