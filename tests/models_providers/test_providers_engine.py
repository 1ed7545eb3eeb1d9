"""The engine with real SDKs on a real connection: many sessions, interrupts, faults, and the same request again."""

import json
import logging
import sys
from pathlib import Path

import attrs
import pytest
import trio

from actors.rules.retry import RetryPolicy
from actors.session.agent import Agent
from actors.session.live import StreamDelta
from runtime.engine.opening import NEVER, open_engine
from runtime.tools.functions import tool
from tests.fake_provider.answers import Answer, cut_after, refused, silent_after, streamed
from tests.fake_provider.clients import served_model
from tests.fake_provider.server import Seen, open_fake_provider
from tests.fake_provider.wire_forms import FORMS, Called, Form, Told, form_of, frames

ROOT = Path(__file__).parents[2]
MANY = 200
forms = pytest.mark.parametrize("form", FORMS)
SLOWLY = Told(text=tuple(f"piece {n} " for n in range(20)))


FIGURES = logging.getLogger("figures")
"""Shown by --log-cli-level=INFO."""


@tool(effect="read")
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def telling(seen: Seen) -> Answer:
    """Call a tool first, then say what it gave, as a provider of any form would."""
    form = form_of(seen.path)
    if b"call-a" in seen.body:
        return streamed(frames(form, Told(text=("It is ", "five."))))
    calls = (Called("call-a", "add", ('{"a": 2', ', "b": 3}')),)
    return streamed(frames(form, Told(text=("Let me see.",), calls=calls)))


@pytest.mark.slow
@forms
async def test_two_hundred_sessions_stream_at_the_same_time_and_complete(form: Form) -> None:
    results, everybody = [], trio.Event()
    told = streamed(frames(form, SLOWLY), pause_s=0.05)
    head, rest = told.beats[:8], told.beats[8:]

    def answer(_: Seen) -> Answer:
        if len(provider.seen) == MANY:
            everybody.set()
        return attrs.evolve(told, beats=[*head, everybody, *rest])

    async with (
        open_fake_provider(answer) as provider,
        served_model(form, provider.url) as model,
        open_engine(model=model) as engine,
    ):
        started_s = trio.current_time()

        async def talk() -> None:
            session = await engine.create()
            results.append(await session.run("Tell me."))

        async with trio.open_nursery() as nursery:
            for _ in range(MANY):
                nursery.start_soon(talk)
        FIGURES.info("%s: %d sessions in %.2f s", form, MANY, trio.current_time() - started_s)

        assert provider.busiest == MANY
        assert len(provider.seen) == MANY
    assert len(results) == MANY
    assert {(r.reason, r.text) for r in results} == {("completed", "".join(SLOWLY.text))}


@forms
async def test_a_turn_with_a_tool_goes_through_the_sdk_and_its_usage_is_logged(form: Form) -> None:
    async with (
        open_fake_provider(telling) as provider,
        served_model(form, provider.url) as model,
        open_engine(model=model, tools=[add], policy=NEVER, system="Be brief.") as engine,
    ):
        session = await engine.create()
        result = await session.run("What is 2 + 3?")

        assert (result.reason, result.text, result.steps) == ("completed", "It is five.", 2)
        assert [usage["totalTokens"] for usage in result.usage] == [21, 21]
        assert b"Be brief." in provider.seen[0].body
        assert provider.connections == 1


@forms
async def test_an_interrupt_in_mid_stream_closes_the_connection_within_a_second(form: Form) -> None:
    async with (
        open_fake_provider(lambda _: silent_after(frames(form, SLOWLY), 8)) as provider,
        served_model(form, provider.url) as model,
        open_engine(model=model) as engine,
    ):
        session = await engine.create()
        async with session.events() as feed:
            turn = await session.prompt("Tell me.")
            async for item in feed:
                if isinstance(item, StreamDelta):
                    break
        interrupted_s = trio.current_time()
        session.interrupt()
        with trio.fail_after(1):
            await provider.seen[0].left.wait()
        FIGURES.info("%s: closed after %.4f s", form, provider.seen[0].left_s - interrupted_s)

        result = await turn.result()
        assert result.reason == "aborted"
        assert result.text.startswith("piece 0")


FAULTS = {
    "429": lambda form: refused(429, "rate_limit_error", "slow", {"retry-after": "0.2"}),
    "500": lambda form: refused(500, "api_error", "oops"),
    "cut": lambda form: cut_after(frames(form, SLOWLY), 5),
}


@forms
@pytest.mark.parametrize("fault", FAULTS)
async def test_a_transient_fault_is_tried_again_and_the_turn_completes(
    form: Form, fault: str
) -> None:
    answers = [FAULTS[fault](form), streamed(frames(form, SLOWLY))]
    quick = RetryPolicy(base_ms=1)
    async with (
        open_fake_provider(answers) as provider,
        served_model(form, provider.url) as model,
        open_engine(agents=[Agent(name="quick", model=model, retry=quick)]) as engine,
    ):
        session = await engine.create(agent="quick")
        started_s = trio.current_time()
        result = await session.run("Tell me.")
        took_s = trio.current_time() - started_s

        assert (result.reason, result.text) == ("completed", "".join(SLOWLY.text))
        assert took_s >= (0.2 if fault == "429" else 0)
        assert provider.seen[0].body == provider.seen[1].body


@forms
async def test_a_final_refusal_ends_the_turn_and_the_session_goes_on(form: Form) -> None:
    answers = [refused(401, "authentication_error", "no"), streamed(frames(form, SLOWLY))]
    async with (
        open_fake_provider(answers) as provider,
        served_model(form, provider.url) as model,
        open_engine(model=model) as engine,
    ):
        session = await engine.create()
        refused_turn = await session.run("Tell me.")
        assert refused_turn.reason == "error"
        assert "LLM_NOT_AUTHORIZED" in str(refused_turn.error)
        assert (await session.run("And now?")).completed


AGAIN = """
import json, sys
import trio
sys.path.insert(0, sys.argv[1])
from actors.log.request import request_messages
from actors.ports.model import ModelRequest
from runtime.engine.opening import open_engine
from tests.fake_provider.clients import served_model
from tests.models_providers.test_providers_engine import add

async def main():
    form = sys.argv[2]
    async with open_engine(sys.argv[3]) as engine, served_model(form, "http://none") as model:
        seen = await engine.session("s-1").projection()
        request = ModelRequest(session_id="s-1", turn=1, step=9, model=model.name,
            messages=request_messages(seen.messages), tools=(add.schema,))
        print(json.dumps(model.body(request)))

trio.run(main)
"""


@pytest.mark.slow
@forms
async def test_a_fresh_process_rebuilds_the_request_from_the_log_to_the_byte(
    form: Form, tmp_path: Path
) -> None:
    store = str(tmp_path / "a.db")
    async with (
        open_fake_provider(telling) as provider,
        served_model(form, provider.url) as model,
        open_engine(store, model=model, tools=[add], policy=NEVER, system="Kürze 🙂.") as engine,
    ):
        session = await engine.create(id="s-1")
        await session.run("What is 2 + 3?")
        fork = await session.fork()
        await fork.run("And again?")
        sent = provider.seen[-1].body
        # The last reply of the session is what the fork's request adds its question to.
        known = json.loads(sent)
    ended = await trio.run_process(
        [sys.executable, "-c", AGAIN, str(ROOT), form, store], capture_stdout=True
    )
    rebuilt = json.loads(ended.stdout)

    key = "input" if form == "responses" else "messages"
    *before, question = known.pop(key)
    assert "And again?" in json.dumps(question)
    assert json.dumps(before) == json.dumps(rebuilt.pop(key))
    assert json.dumps(known) == json.dumps(rebuilt)
