"""P1 in a fresh process: each request that was really sent is rebuilt from the log, equal byte for byte."""

import json
import sys
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
import trio

from actors.ports.model import Model, ModelRequest, Part
from actors.rules.retry import RetryPolicy
from actors.session.agent import Agent, Fallback
from actors.session.live import StreamDelta
from runtime.engine.engine import Engine
from runtime.engine.opening import NEVER, open_engine
from runtime.tools.functions import tool
from tests.fake_provider.answers import Answer, cut_after, refused, silent_after, streamed
from tests.fake_provider.clients import served_model
from tests.fake_provider.server import FakeProvider, Seen, open_fake_provider
from tests.fake_provider.wire_forms import FORMS, Called, Form, Told, frames
from tests.models_providers.rebuilding import Sent

ROOT = Path(__file__).parents[2]
LONG = "Wörter und 🙂 mehr. " * 120


@tool(effect="read")
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool(effect="read")
async def multiply(a: int, b: int) -> int:
    """Multiply two numbers."""
    return a * b


class Witness:
    """Notes which request of which session each one is that the provider sees."""

    def __init__(self, model: Model, asked: list[ModelRequest]) -> None:
        self._model, self._asked = model, asked

    @property
    def name(self) -> str:
        return self._model.name

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[Part]]:
        self._asked.append(request)
        return self._model.stream(request)


class Conversation:
    """The provider's side: what is said next; each request is answered by the next answer."""

    def __init__(self, form: Form) -> None:
        self.form = form
        self.answers: list[Answer] = []

    def say(self, *texts: str, calls: tuple[Called, ...] = (), thinking: str = "") -> Answer:
        told = Told(text=texts, calls=calls, thinking=(thinking,) if thinking else ())
        answer = streamed(frames(self.form, told))
        self.answers.append(answer)
        return answer

    def call(self, number: int, name: str = "add") -> None:
        call = Called(f"call-{number}", name, ('{"a": 2', ', "b": 3}'))
        self.say("Let me see. \u00e9", calls=(call,), thinking="Hm, 2 and 3.")

    def __call__(self, _: Seen) -> Answer:
        return self.answers.pop(0)


async def converse(engine: Engine, talk: Conversation) -> None:
    """Failures, a fallback, calls, a typed result, an interrupt, a hidden range, a compaction, a fork."""
    session = await engine.create(id="s", agent="a")

    talk.answers.append(refused(500, "api_error", "oops"))
    talk.answers.append(cut_after(frames(talk.form, Told(text=("half ", "of it"))), 3))
    talk.call(1)
    talk.say("It is five.")
    assert (await session.run("What is 2 + 3? Kürze 🙂.")).text == "It is five."

    talk.answers.append(refused(402, "billing_error", "no money"))
    talk.call(2)
    talk.say("From the second model.")
    assert (await session.run("And by another?")).completed

    talk.say("no JSON")
    talk.say("[1, 2, 3]")
    assert (await session.run("Three numbers as JSON.", returns=list[int])).value == [1, 2, 3]

    talk.answers.append(silent_after(frames(talk.form, Told(text=("One ", "two ", "three"))), 4))
    async with session.events() as feed:
        turn = await session.prompt("Count.")
        async for item in feed:
            if isinstance(item, StreamDelta):
                break
    await session.interrupt().settled()
    assert (await turn.result()).reason == "aborted"

    for number in range(6):
        talk.say(f"{number} {LONG}")
        await session.run(f"{number} {LONG}")
    first, second = (m.seq for m in (await session.projection()).messages[-6:-4])
    await session.occlude(first, second)
    talk.say("After the hidden range.")
    await session.run("Go on.")

    talk.say("A summary of all that.")
    assert (await session.compact()).outcome == "compacted"
    talk.call(3)
    talk.say("With a summary.")
    await session.run("And 2 + 3 again?")

    fork = await session.fork(id="f")
    talk.call(4)
    talk.say("In the fork.")
    await fork.run("What about here?")
    talk.say("In the parent.")
    await session.run("And there?")


async def go_on(engine: Engine, talk: Conversation) -> None:
    """Another life, with other tools."""
    session = engine.session("s")
    talk.call(5, "multiply")
    talk.say("Six.")
    assert (await session.run("What is 2 * 3?")).text == "Six."


async def sent_requests(form: Form, store: str) -> list[Sent]:
    asked: list[ModelRequest] = []
    talk = Conversation(form)
    async with (
        open_fake_provider(talk) as provider,
        served_model(form, provider.url) as one,
        served_model(form, provider.url, name="model-2") as two,
    ):
        for tools, live in (([add], converse), ([add, multiply], go_on)):
            agent = Agent(
                name="a",
                model=Witness(one, asked),
                fallbacks=[Fallback(Witness(two, asked))],
                tools=tools,
                policy=NEVER,
                system="Kürze 🙂.",
                retry=RetryPolicy(base_ms=1),
                config={"temperature": 0.5, "maxTokens": 500},
            )
            async with open_engine(store, agents=[agent]) as engine:
                await live(engine, talk)
        return paired(asked, provider)


def paired(asked: list[ModelRequest], provider: FakeProvider) -> list[Sent]:
    """The requests came one after the other, so each belongs to what was seen at its place."""
    return [
        Sent(
            session=request.session_id,
            purpose=request.purpose,
            turn=request.turn,
            step=request.step,
            attempt=request.attempt,
            model=request.model,
            body=seen.body,
        )
        for request, seen in zip(asked, provider.seen, strict=True)
    ]


@pytest.mark.parametrize("form", FORMS)
async def test_a_fresh_process_rebuilds_every_request_that_was_sent_to_the_byte(
    form: Form, tmp_path: Path
) -> None:
    store, recorded = str(tmp_path / "a.db"), tmp_path / "sent.json"
    sent = await sent_requests(form, store)
    recorded.write_text(json.dumps([one.packed() for one in sent]))

    code = "import sys; sys.path.insert(0, sys.argv.pop(1))\nfrom tests.models_providers.rebuilding import main\nmain()"
    command = [sys.executable, "-c", code, str(ROOT), form, store, str(recorded)]
    ended = await trio.run_process(command, capture_stdout=True)
    told = json.loads(ended.stdout)
    assert told["wrong"] == []
    assert told["compared"] == len(sent) == 25
    attempts = {(one.attempt, one.model.partition("/")[2]) for one in sent}
    assert {(1, "model-1"), (2, "model-1"), (3, "model-1"), (2, "model-2")} <= attempts
    assert {one.purpose for one in sent} == {"turn", "summary"}
    assert {one.session for one in sent} == {"s", "f"}
