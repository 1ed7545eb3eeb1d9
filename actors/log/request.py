"""The messages of a model request, as a pure function of what is visible (P1, P10).

Live appends never cut a call from its result, but a log that another system wrote may, and a provider
refuses such a history. So the request pairs them, occurrence by occurrence: a result belongs to the
nearest reply before it that still waits for one of that id. It stands directly behind that reply; a call
without a result and a result without a call are left out (K-30).

Only parts that were not seen before are paired anew, so the request of a later turn costs no more.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

import attrs

from actors.json import JsonValue
from actors.log.projection import (
    AssistantMessage,
    Messages,
    Part,
    ProjectedMessage,
    SystemMessage,
    ToolResultMessage,
)


@attrs.define(eq=False)
class _Reply:
    """A reply with calls; ``results`` are those of its own part, by the place of the call."""

    message: AssistantMessage
    results: dict[int, ToolResultMessage] = attrs.field(factory=dict)

    def shown(self, late: Mapping[int, ToolResultMessage]) -> Iterator[ProjectedMessage]:
        """Yield the reply with the calls that were answered, and their results in the order they came."""
        results = {**self.results, **late}
        if len(results) == len(self.message.tool_calls):
            yield self.message
        else:
            yield from _said(_without_unanswered(self.message, results.keys()))
        yield from results.values()


@attrs.frozen
class _Place:
    """A call that still waits where its part ends."""

    part: int
    entry: int
    call: int


@attrs.frozen(eq=False)
class Paired:
    """What a request shows of one part by itself, and what only its neighbours can tell.

    ``waiting`` are the calls without a result in the part (id, entry, place of the call), ``strays`` its
    results without a call before them; both are empty nearly always.
    """

    entries: tuple[ProjectedMessage | _Reply, ...]
    shown: Part
    waiting: tuple[tuple[str, int, int], ...]
    strays: tuple[ToolResultMessage, ...]


def request_messages(messages: Sequence[ProjectedMessage]) -> Messages:
    """Return what a request shows of the visible messages; a system prompt at the head comes first.

    Source: K-30, K-33 (empty assistant nodes are left out), K-37 (calls are occurrences), D-66.
    """
    parts = messages.parts if isinstance(messages, Messages) else (Part(messages),)
    found = [part.paired or _paired(part) for part in parts]
    late = _late_results(found)
    shown = [pairing.shown for pairing in found]
    for number, results in late.items():
        shown[number] = Part(_flat(found[number].entries, results))
    return Messages(shown)


def _paired(part: Part) -> Paired:
    entries: list[ProjectedMessage | _Reply] = []
    waiting: dict[str, list[tuple[int, int]]] = {}
    strays: list[ToolResultMessage] = []
    for message in part.messages:
        if isinstance(message, ToolResultMessage):
            places = waiting.get(message.tool_call_id)
            if places:
                entry, call = places.pop()
                reply = entries[entry]
                assert isinstance(reply, _Reply)
                reply.results[call] = message
            else:
                strays.append(message)
        elif isinstance(message, AssistantMessage) and message.tool_calls:
            for place, call_made in enumerate(message.tool_calls):
                waiting.setdefault(call_made.tool_call_id, []).append((len(entries), place))
            entries.append(_Reply(message))
        else:
            entries.append(message)
    left = [(name, entry, call) for name, places in waiting.items() for entry, call in places]
    part.paired = Paired(tuple(entries), Part(_flat(entries, {})), tuple(left), tuple(strays))
    return part.paired


def _late_results(found: Sequence[Paired]) -> dict[int, dict[int, dict[int, ToolResultMessage]]]:
    """Return the results that stand in a later part than their call, by part, entry and call of the reply."""
    late: dict[int, dict[int, dict[int, ToolResultMessage]]] = {}
    waiting: dict[str, list[_Place]] = {}
    for number, pairing in enumerate(found):
        if not pairing.strays and not pairing.waiting:
            continue
        for result in pairing.strays:
            places = waiting.get(result.tool_call_id)
            if places:
                place = places.pop()
                late.setdefault(place.part, {}).setdefault(place.entry, {})[place.call] = result
        for name, entry, call in pairing.waiting:
            waiting.setdefault(name, []).append(_Place(number, entry, call))
    return late


def _flat(
    entries: Sequence[ProjectedMessage | _Reply],
    late: Mapping[int, Mapping[int, ToolResultMessage]],
) -> Iterator[ProjectedMessage]:
    for place, entry in enumerate(entries):
        if isinstance(entry, _Reply):
            yield from entry.shown(late.get(place, {}))
        else:
            yield from _said(entry)


def _said(message: ProjectedMessage) -> Iterator[ProjectedMessage]:
    """Yield the message, unless it says nothing."""
    match message:
        case AssistantMessage(content=[] | "" | None, tool_calls=()):
            return
        case SystemMessage() if not content_text(message.content):
            return
    yield message


def _without_unanswered(message: AssistantMessage, answered: Collection[int]) -> AssistantMessage:
    """Return the reply with its answered calls only, also where calls stand in its content."""
    calls = tuple([call for at, call in enumerate(message.tool_calls) if at in answered])
    gone = {call.tool_call_id for call in message.tool_calls if call.inline}
    gone -= {call.tool_call_id for call in calls}
    content = message.content
    if gone and isinstance(content, list):
        content = [block for block in content if not _is_call(block, gone)]
    return attrs.evolve(message, content=content, tool_calls=calls)


def _is_call(block: JsonValue, names: Collection[str]) -> bool:
    return isinstance(block, dict) and block.get("type") == "tool-call" and block.get("id") in names


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
