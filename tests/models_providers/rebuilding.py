"""Rebuilds every request of a conversation from its stored log alone, in a process of its own.

The arguments are the wire form, the store, and a file with what was sent. Each request is made anew at its place
in the log, goes through the real SDK, and its bytes are compared with those that the provider saw.
"""

import base64
import json
import sys

import attrs
import trio

from actors.json import JsonObject
from actors.log.events import Event
from actors.log.log import Log
from actors.log.request import request_messages
from actors.ports.model import ModelRequest, ToolSchema
from actors.rules.compaction import summary_budget
from actors.rules.compaction_settings import CompactionSettings
from actors.session.summarising import summary_prompt
from runtime.engine.opening import open_engine
from tests.fake_provider.clients import caught_body
from tests.fake_provider.wire_forms import Form

SETTINGS = CompactionSettings()


@attrs.frozen(kw_only=True)
class Sent:
    """One request as it went out."""

    session: str
    purpose: str
    turn: int
    step: int
    attempt: int
    model: str
    body: bytes

    def packed(self) -> dict:
        return attrs.asdict(self) | {"body": base64.b64encode(self.body).decode()}


def unpacked(value: dict) -> Sent:
    return Sent(**value | {"body": base64.b64decode(value["body"])})


def settles(event: Event, sent: Sent) -> bool:
    """Whether an event is the outcome of a request, so that what stands before it is what the request showed."""
    data = event.data()
    at = (data.get("turn"), data.get("step"))
    if event.type == "assistant/attempt":
        return (*at, data["attempt"]) == (sent.turn, sent.step, sent.attempt)
    return event.type == "assistant/message" and at == (sent.turn, sent.step)


def turn_request(events: list[Event], sent: Sent) -> ModelRequest:
    place = next(event.seq for event in events if settles(event, sent))
    log = Log.load(events[:place])
    header = log.fold.header["header"]
    config: JsonObject = dict(header["config"])
    name = f"{config.pop('provider')}/{config.pop('model')}"
    tools = tuple(
        ToolSchema(tool["name"], tool["description"], tool["parameters"])
        for tool in header.get("tools", [])
    )
    return ModelRequest(
        session_id=sent.session,
        turn=sent.turn,
        step=sent.step,
        attempt=sent.attempt,
        model=name,
        messages=request_messages(log.projection().messages),
        tools=tools,
        config=config,
    )


def summary_request(events: list[Event], number: int) -> ModelRequest:
    """Return the request for the summary ``number`` of a log, from what its replacement stands for."""
    summaries = [e for e in events if e.type == "user/message" and e.op is not None]
    summary = summaries[number]
    log = Log.load(events[: summary.seq])
    hidden = [m for m in log.projection().messages if m.seq in set(summary.sources)]
    units = sum(log.fold.units(message.seq) for message in hidden)
    header = log.fold.header["header"]
    config: JsonObject = dict(header["config"])
    name = f"{config.pop('provider')}/{config.pop('model')}"
    return ModelRequest(
        session_id="any",
        turn=log.fold.turns,
        step=0,
        purpose="summary",
        model=name,
        messages=(summary_prompt(hidden, SETTINGS, summary_budget(SETTINGS, units)),),
        config=config,
    )


async def compare(form: Form, store: str, sent: list[Sent]) -> list[str]:
    """Return what differs, one line for each request that does."""
    wrong: list[str] = []
    summaries = 0
    async with open_engine(store) as engine:
        logs = {s.session: list(await engine.session(s.session).read()) for s in sent}
    for one in sent:
        if one.purpose == "summary":
            request = summary_request(logs[one.session], summaries)
            summaries += 1
        else:
            request = turn_request(logs[one.session], one)
        body = await caught_body(form, request)
        if request.model != one.model or body != one.body:
            where = f"{one.session} turn {one.turn} step {one.step} attempt {one.attempt}"
            wrong.append(f"{where} ({one.purpose}): {body[:4000]!r} instead of {one.body[:4000]!r}")
    return wrong


def main() -> None:
    form, store, recorded = sys.argv[1:]
    with open(recorded) as file:  # noqa: PTH123 - a script
        sent = [unpacked(value) for value in json.load(file)]
    wrong = trio.run(compare, form, store, sent)
    print(json.dumps({"compared": len(sent), "wrong": wrong}))  # noqa: T201 - its answer


if __name__ == "__main__":
    main()
