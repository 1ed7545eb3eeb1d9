"""Asking the model for a summary of what a compaction hides.

Source: S-160..S-162, K-15.
"""

from collections.abc import Sequence

import trio

from actors.json import JsonObject
from actors.log.json_text import json_text
from actors.log.project import message_to_wire
from actors.log.projection import ProjectedMessage, UserMessage
from actors.log.request import content_text
from actors.ports.model import Failed, Model, ModelRequest
from actors.rules.compaction import SUMMARIZER_TIMEOUT_S
from actors.rules.compaction_settings import CompactionSettings
from actors.rules.retry import falls_back
from actors.rules.transcript import prepare, request, split_summary
from actors.session.replies import failure_of, usage_draft
from actors.session.state import SessionState
from actors.session.stream import Stream


def summary_prompt(
    hidden: Sequence[ProjectedMessage], settings: CompactionSettings, limit_units: float
) -> UserMessage:
    """Return what a summary is asked for with: a pure function of what it hides (P1)."""
    earlier, rest = split_summary([message_to_wire(message) for message in hidden])
    material = prepare(rest, settings.material_budget_chars, json_text)
    return UserMessage(0, request(material, earlier, limit_units, json_text))


async def summarise(
    session: SessionState,
    hidden: Sequence[ProjectedMessage],
    settings: CompactionSettings,
    limit_units: float,
) -> str | Failed:
    """Return the model's summary of the messages, asked for at most ``limit_units`` long.

    An earlier summary among them is carried on, not summarised again. It is asked for once; a model that fails
    is followed by the agent's fallbacks. What a request used is logged as ``llm/usage``, whatever becomes of it.
    """
    prompt = summary_prompt(hidden, settings, limit_units)
    agent = session.agent
    reply = await _asked(session, session.model, prompt)
    for fallback in agent.fallbacks:
        if not isinstance(reply, Failed) or not falls_back(agent.retry, failure_of(reply)):
            break
        reply = await _asked(session, fallback.model, prompt)
    return reply


async def _asked(session: SessionState, model: Model, prompt: UserMessage) -> str | Failed:
    asked = ModelRequest(
        session_id=session.id,
        turn=session.log.fold.turns,
        step=0,
        purpose="summary",
        model=model.name,
        messages=(prompt,),
        config=session.agent.config,
    )
    stream = Stream(asked, session.unseen, session.services.limits.silence_s)
    try:
        with trio.move_on_after(SUMMARIZER_TIMEOUT_S):
            reply = await stream.run(model)
            return reply if isinstance(reply, Failed) else content_text(list(reply.content))
    finally:
        _note_usage(session, asked.model, stream.delivered().usage)
    return Failed(
        bucket="transient",
        code="COMPACTION_TIMEOUT",
        message=f"the summary took more than {SUMMARIZER_TIMEOUT_S:g} s",
    )


def _note_usage(session: SessionState, model: str, usage: JsonObject | None) -> None:
    if usage is None or session.journal.failure is not None:
        return
    session.spend(model, usage)
    session.journal.post(usage_draft(session.services.ids.new("llm"), model, usage, "background"))
