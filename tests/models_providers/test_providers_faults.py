"""Faults of a provider through the real SDKs and a real connection."""

import pytest
import trio

from actors.log.projection import UserMessage
from actors.ports.model import Failed, Finished, ModelRequest, TextDelta
from tests.contracts.model_contract import assembled, parts_of
from tests.fake_provider.answers import Answer, cut_after, refused, silent_after, streamed
from tests.fake_provider.clients import served_model
from tests.fake_provider.server import open_fake_provider
from tests.fake_provider.wire_forms import FORMS, Called, Form, Told, frames

REQUEST = ModelRequest(
    session_id="s-1", turn=1, step=1, model="provider/model-1", messages=(UserMessage(0, "hello"),)
)
TOLD = Told(text=("It is", " five."), calls=(Called("call-a", "add", ('{"a": 2', ', "b": 3}')),))
pytestmark = pytest.mark.parametrize("form", FORMS)


async def test_a_stream_through_the_sdk_is_whole_and_its_connection_is_used_again(
    form: Form,
) -> None:
    async with (
        open_fake_provider(lambda _: streamed(frames(form, TOLD))) as provider,
        served_model(form, provider.url, key="key-7") as model,
    ):
        for _ in range(3):
            parts = await parts_of(model, REQUEST)
            assert parts[-1] == Finished("toolUse")
            assert assembled(parts).result().calls[0].arguments == '{"a": 2, "b": 3}'

        assert provider.connections == 1
        assert {seen.body for seen in provider.seen} == {provider.seen[0].body}
        assert "key-7" in str(provider.seen[0].headers)


@pytest.mark.parametrize(
    ("answer", "bucket", "code", "wait_s"),
    [
        (refused(429, "rate_limit_error", "slow", {"retry-after": "7"}), "transient", "LLM_RATE_LIMITED", 7.0),
        (refused(429, "rate_limit_error", "slow"), "transient", "LLM_RATE_LIMITED", None),
        (refused(500, "api_error", "oops"), "transient", "LLM_UNAVAILABLE", None),
        (refused(401, "authentication_error", "no"), "auth", "LLM_NOT_AUTHORIZED", None),
        (refused(400, "x", "prompt is too long"), "overflow", "LLM_CONTEXT_OVERFLOW", None),
        (refused(404, "not_found_error", "no"), "non-retryable", "LLM_MODEL_UNKNOWN", None),
        (Answer(status=502, beats=[b"<html>bad gateway"]), "transient", "LLM_UNAVAILABLE", None),
        (Answer(status=500, end="cut"), "transient", "LLM_CONNECTION_FAILED", None),
    ],
)  # fmt: skip
async def test_a_refusal_is_a_final_value_and_is_asked_once(
    form: Form, answer: Answer, bucket: str, code: str, wait_s: float | None
) -> None:
    async with (
        open_fake_provider(lambda _: answer) as provider,
        served_model(form, provider.url) as model,
    ):
        (failed,) = await parts_of(model, REQUEST)

    assert isinstance(failed, Failed)
    assert (failed.bucket, failed.code, failed.retry_after_s) == (bucket, code, wait_s)
    assert len(provider.seen) == 1


async def test_nobody_at_the_other_end_is_a_transient_failure(form: Form) -> None:
    async with open_fake_provider([]) as provider:
        url = provider.url
    async with served_model(form, url) as model:
        (failed,) = await parts_of(model, REQUEST)

    assert isinstance(failed, Failed)
    assert (failed.bucket, failed.code) == ("transient", "LLM_CONNECTION_FAILED")


async def test_a_connection_lost_between_any_two_frames_is_told(form: Form) -> None:
    told = frames(form, TOLD)
    answers = [cut_after(told, count) for count in range(len(told))]
    async with (
        open_fake_provider(answers) as provider,
        served_model(form, provider.url) as model,
    ):
        for count in range(len(told)):
            last = (await parts_of(model, REQUEST))[-1]
            if isinstance(last, Failed):
                assert (last.bucket, last.code) == ("transient", "LLM_CONNECTION_FAILED")
            else:
                assert count >= len(told) - 2


async def test_leaving_in_mid_stream_closes_the_connection_within_a_second(form: Form) -> None:
    async with (
        open_fake_provider(lambda _: silent_after(frames(form, TOLD), 4)) as provider,
        served_model(form, provider.url) as model,
    ):
        async with model.stream(REQUEST) as stream:
            async for part in stream:
                if isinstance(part, TextDelta):
                    break
            left_s = trio.current_time()
        assert trio.current_time() - left_s < 0.5
        with trio.fail_after(1):
            await provider.seen[0].left.wait()


@pytest.mark.parametrize("frames_sent", [0, 4])
async def test_cancelling_a_silent_stream_closes_the_connection_within_a_second(
    form: Form, frames_sent: int
) -> None:
    async with (
        open_fake_provider(lambda _: silent_after(frames(form, TOLD), frames_sent)) as provider,
        served_model(form, provider.url) as model,
    ):
        with trio.move_on_after(0.3) as scope:
            await parts_of(model, REQUEST)
        assert scope.cancelled_caught
        with trio.fail_after(1):
            await provider.seen[0].left.wait()
        assert provider.seen[0].left_s is not None
        assert provider.seen[0].left_s - scope.deadline < 1


async def test_a_finished_answer_that_does_not_end_is_left_after_a_moment(form: Form) -> None:
    told = frames(form, TOLD)
    async with (
        open_fake_provider(lambda _: silent_after(told, len(told))) as provider,
        served_model(form, provider.url) as model,
    ):
        with trio.fail_after(2):
            parts = await parts_of(model, REQUEST)
            await provider.seen[0].left.wait()

    assert parts[-1] == Finished("toolUse")
