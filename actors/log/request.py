"""The messages of a model request, as a pure function of what is visible (P1, P10).

Live appends never cut a call from its result, but a log that another system wrote may, and a provider
refuses such a history. So the request pairs them, occurrence by occurrence: a result belongs to the
nearest reply before it that still waits for one of that id. It stands directly behind that reply; a call
without a result and a result without a call are left out (K-30).

What was paired once is kept with its part, so the request of a later turn costs no more than an early one.
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
            reply = _without_unanswered(self.message, results.keys())
            if not _is_empty(reply):
                yield reply
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

    ``entries`` are what is shown, results behind their reply. ``waiting`` are the calls without a result in the
    part (id, entry, place of the call), ``strays`` its results without a call before them; both are empty
    nearly always.
    """

    entries: tuple[ProjectedMessage | _Reply, ...]
    shown: Part
    waiting: tuple[tuple[str, int, int], ...]
    strays: tuple[ToolResultMessage, ...]


def request_messages(messages: Sequence[ProjectedMessage]) -> Messages:
    """Return what a request shows of the visible messages; a system prompt at the head comes first.

    Source: K-30, K-33 (empty assistant nodes are left out), K-37 (calls are occurrences), D-66.
    """
    if not isinstance(messages, Messages):
        return Messages(_shown((Part(messages),)))
    sealed, tail = messages.sealed, messages.parts[-1:]
    if sealed is None or not tail or (tail[0].paired or _paired(tail[0])).strays:
        return Messages(_shown(messages.parts))
    if sealed.request is None:
        sealed.request = _shown(sealed.parts)
    return Messages(sealed.request + _shown(tail))


def _shown(parts: Sequence[Part]) -> tuple[Part, ...]:
    found = [part.paired or _paired(part) for part in parts]
    shown = [pairing.shown for pairing in found]
    for number, results in _late_results(found).items():
        shown[number] = Part(_flat(found[number].entries, results))
    return tuple(shown)


def _paired(part: Part) -> Paired:
    pairing = _Pairing()
    messages = part.messages
    at = 0
    while at < len(messages):
        message = messages[at]
        if type(message) is AssistantMessage and message.tool_calls:
            stop = at + 1 + len(message.tool_calls)
            if _are_answers(message, messages[at + 1 : stop]):  # nearly always, and much faster
                pairing.entries += messages[at:stop]
                at = stop
                continue
        pairing.take(message)
        at += 1
    part.paired = pairing.done()
    return part.paired


def _are_answers(reply: AssistantMessage, following: Sequence[ProjectedMessage]) -> bool:
    if len(following) < len(reply.tool_calls):
        return False
    for call, message in zip(reply.tool_calls, following, strict=True):
        if type(message) is not ToolResultMessage or message.tool_call_id != call.tool_call_id:
            return False
    return True


class _Pairing:
    """One part, message by message."""

    def __init__(self) -> None:
        self.entries: list[ProjectedMessage | _Reply] = []
        self._waiting: dict[str, list[tuple[int, int]]] = {}
        self._strays: list[ToolResultMessage] = []

    def take(self, message: ProjectedMessage) -> None:
        if isinstance(message, ToolResultMessage):
            self._take_result(message)
        elif isinstance(message, AssistantMessage) and message.tool_calls:
            for at, call in enumerate(message.tool_calls):
                self._waiting.setdefault(call.tool_call_id, []).append((len(self.entries), at))
            self.entries.append(_Reply(message))
        elif not _is_empty(message):
            self.entries.append(message)

    def done(self) -> Paired:
        left = [(name, *place) for name, places in self._waiting.items() for place in places]
        shown = Part(_flat(self.entries, {}))
        return Paired(tuple(self.entries), shown, tuple(left), tuple(self._strays))

    def _take_result(self, result: ToolResultMessage) -> None:
        places = self._waiting.get(result.tool_call_id)
        if not places:
            self._strays.append(result)
            return
        entry, call = places.pop()
        reply = self.entries[entry]
        assert isinstance(reply, _Reply)
        reply.results[call] = result


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
) -> list[ProjectedMessage]:
    flat: list[ProjectedMessage] = []
    for at, entry in enumerate(entries):
        if isinstance(entry, _Reply):
            flat += entry.shown(late.get(at, {}))
        else:
            flat.append(entry)
    return flat


def _is_empty(message: ProjectedMessage) -> bool:
    if isinstance(message, AssistantMessage):
        return not message.content and not message.tool_calls
    return isinstance(message, SystemMessage) and not content_text(message.content)


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
