"""The messages of a model request, as a pure function of what is visible (P1, P10).

Live appends never cut a call from its result, but a log that another system wrote may; a provider
refuses such a history, so a call without a result and a result without a call are left out here (K-30).
"""

from collections.abc import Sequence

import attrs

from actors.json import JsonValue
from actors.log.projection import (
    AssistantMessage,
    ProjectedMessage,
    SystemMessage,
    ToolResultMessage,
)


def request_messages(messages: Sequence[ProjectedMessage]) -> tuple[ProjectedMessage, ...]:
    """Return what a request shows of the visible messages; a system prompt at the head comes first.

    Source: K-30, K-33 (empty assistant nodes are left out), D-66.
    """
    results = {m.tool_call_id for m in messages if isinstance(m, ToolResultMessage)}
    calls = {
        call.tool_call_id
        for m in messages
        if isinstance(m, AssistantMessage)
        for call in m.tool_calls
    }
    kept: list[ProjectedMessage] = []
    for message in messages:
        if isinstance(message, ToolResultMessage):
            if message.tool_call_id in calls:
                kept.append(message)
        elif isinstance(message, AssistantMessage):
            kept += _shown(message, results)
        elif not isinstance(message, SystemMessage) or content_text(message.content):
            kept.append(message)
    return tuple(kept)


def _shown(message: AssistantMessage, results: set[str]) -> list[ProjectedMessage]:
    answered = tuple(c for c in message.tool_calls if c.tool_call_id in results)
    if not answered and not message.content:
        return []
    if len(answered) == len(message.tool_calls):
        return [message]
    return [attrs.evolve(message, tool_calls=answered)]


def content_text(content: JsonValue) -> str:
    """Return the visible text of a message's content: the text itself, or its text blocks joined."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = (
        block.get("text")
        for block in content
        if isinstance(block, dict) and block.get("type") == "text"
    )
    return "".join(text for text in texts if isinstance(text, str))
