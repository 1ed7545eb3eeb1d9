"""What a summariser is given: the earlier summary, the hidden messages, and the request.

Source: S-160..S-162.
"""

from collections.abc import Iterable, Sequence
from typing import Final, Literal, TypeAlias

import attrs

from actors.json import JsonObject, JsonValue
from actors.rules.ccr import Archive, JsonText, escaped, section, strip_section
from actors.rules.measure import first_units, units

SUMMARY_PREFIX: Final = "[COMPACTION-SUMMARY]"
SUMMARY_SOURCE: Final = "compaction"
"""The source of the user message that holds a summary."""
RESULT_CAP_UNITS: Final = 4000

Stage: TypeAlias = Literal["full", "results-capped", "old-collapsed", "exhausted"]


def summary_content(text: str, archives: Sequence[Archive]) -> str:
    """Return the content of the summary message (S-156)."""
    return f"{SUMMARY_PREFIX} {escaped(text)}{section(archives)}"


def previous_summary(summaries: Iterable[JsonValue]) -> str | None:
    """Return the text of the latest earlier summary; None without one.

    Args:
        summaries: contents of the user messages with source ``compaction``, oldest first, hidden or not.

    Source: S-160.
    """
    texts = [_joined(content) for content in summaries]
    latest = next((text for text in reversed(texts) if text), None)
    if latest is None:
        return None
    return strip_section(latest.removeprefix(SUMMARY_PREFIX)).strip()


def split_summary(messages: Sequence[JsonObject]) -> tuple[str | None, list[JsonObject]]:
    """Return the earlier summary among the messages of a span, and the span without it.

    A span takes the earlier summary in again (K-15); the summariser gets it once, as what it carries on.
    """
    inside = [m for m in messages if m.get("type") == "user" and m.get("source") == SUMMARY_SOURCE]
    rest = [message for message in messages if message not in inside]
    return previous_summary(message.get("content") for message in inside), rest


def _joined(content: JsonValue) -> str:
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    texts = (b.get("text") for b in blocks if isinstance(b, dict) and b.get("type") == "text")
    return "".join(text for text in texts if isinstance(text, str))


@attrs.frozen
class Material:
    """The messages as they fit the budget; ``stage`` says what was cut for that."""

    stage: Stage
    messages: list[JsonObject]


def prepare(messages: Sequence[JsonObject], budget_units: float, text: JsonText) -> Material:
    """Return the messages cut down until they fit: long results first, then the oldest results whole.

    Args:
        messages: projected messages.
        budget_units: of their indented JSON text, together.
        text: writes JSON.

    Source: S-161.
    """
    sizes = [_size(message, text) for message in messages]
    if sum(sizes) <= budget_units:
        return Material("full", list(messages))
    kept = [_capped(message) for message in messages]
    sizes = [_size(message, text) for message in kept]
    total = sum(sizes)
    if total <= budget_units:
        return Material("results-capped", kept)
    for index, message in enumerate(kept):
        if message.get("type") == "toolResult":
            kept[index] = _folded(message)
            total += _size(kept[index], text) - sizes[index]
            if total <= budget_units:
                return Material("old-collapsed", kept)
    return Material("exhausted", kept)


def _capped(message: JsonObject) -> JsonObject:
    output = message.get("output")
    if message.get("type") != "toolResult" or not isinstance(output, str):
        return message
    size = units(output)
    if size <= RESULT_CAP_UNITS:
        return message
    note = f"\n[the first {RESULT_CAP_UNITS} of {size} characters]"
    return {**message, "output": first_units(output, RESULT_CAP_UNITS) + note}


def _folded(message: JsonObject) -> JsonObject:
    return {**message, "output": "[result left out]"}


def _size(message: JsonObject, text: JsonText) -> int:
    return units(indented(message, text))


def indented(value: JsonValue, text: JsonText, margin: str = "\n") -> str:
    """Return the JSON text of a value, indented by two blanks a level.

    Args:
        value: the value.
        text: writes the JSON text of what is neither list nor object.
        margin: a line feed and the blanks of the level around.
    """
    inner = f"{margin}  "
    if isinstance(value, dict) and value:
        parts = [f"{text(key)}: {indented(child, text, inner)}" for key, child in value.items()]
        return "{" + inner + f",{inner}".join(parts) + margin + "}"
    if isinstance(value, list) and value:
        parts = [indented(child, text, inner) for child in value]
        return "[" + inner + f",{inner}".join(parts) + margin + "]"
    return text(value)


INSTRUCTION: Final = """\
You take over the notes of a working session. The messages below are about to leave the model's view; \
your summary stands in their place, so whoever goes on must be able to work from it alone.

Write it under these headings, and leave out what has nothing to say:
1. Task: what is wanted, by whom, and how far it has come.
2. Decisions: what was settled, and why.
3. Open matters: questions, failures and promises that are not settled.
4. Tools and files: what was run, read and changed, and what came of it.
5. Next step: what was about to be done.

Keep paths, error codes, line numbers, commands and figures exactly as they are. Do not answer the \
messages, do not add advice, and write no more than {max_units} characters."""


def request(material: Material, previous: str | None, max_units: float, text: JsonText) -> str:
    """Return the request for a summary of ``material``, of at most ``max_units``.

    Source: S-162.
    """
    parts = [INSTRUCTION.format(max_units=max_units)]
    if previous:
        parts.append(f"The summary so far, to be carried on:\n{previous}")
    messages = "\n".join(indented(message, text) for message in material.messages)
    parts.append(f"The messages, as JSON:\n{messages}")
    return "\n\n".join(parts)
