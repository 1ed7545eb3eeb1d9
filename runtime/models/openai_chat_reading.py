"""The frames of a Chat Completions stream as typed parts. Pure.

What compatible servers do differently is taken as it comes: reasoning under two names, calls without an
index or an id, blank arguments, ``stop`` as the reason of a reply that holds calls.
"""

from collections.abc import Callable, Iterator
from typing import Final

from actors.json import JsonObject, JsonValue
from actors.ports.model import Finished, Part, StopReason, UsageReport
from runtime.models.openai_usage import token_counts
from runtime.models.provider_content import count, mapping, string
from runtime.models.provider_failures import broken_off, held_back
from runtime.models.provider_text import Blocks

_STOPS: Final[dict[str, StopReason]] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "toolUse",
    "function_call": "toolUse",
}
_TEXT: Final = "text"
_THINKING: Final = "thinking"
_THINKING_FIELDS: Final = ("reasoning_content", "reasoning")


class ChatReader:
    """Folds the frames of one stream; ``restore`` gives tools back the names that the wire did not take."""

    def __init__(self, restore: Callable[[str], str]) -> None:
        self._restore = restore
        self._blocks = Blocks()
        self._reason = ""

    def take(self, frame: JsonObject) -> Iterator[Part]:
        """Return the parts that a frame adds."""
        if frame.get("error"):
            yield broken_off(frame)
        choices = frame.get("choices")
        for choice in choices[:1] if isinstance(choices, list) else []:
            yield from self._choice(mapping(choice))
        usage = frame.get("usage")
        if isinstance(usage, dict):
            yield UsageReport(chat_usage(usage))

    def rest(self) -> Iterator[Part]:
        """Return the end of the reply when its reason was said."""
        if self._reason == "content_filter":
            yield held_back(self._reason)
        elif self._reason:
            stop = _STOPS.get(self._reason, "stop")
            yield Finished("toolUse" if stop == "stop" and self._blocks.called else stop)

    def _choice(self, choice: JsonObject) -> Iterator[Part]:
        delta = mapping(choice.get("delta"))
        for field in _THINKING_FIELDS:
            yield from self._blocks.add(_THINKING, "thinking", delta.get(field))
        yield from self._visible(delta.get("content"))
        yield from self._visible(delta.get("refusal"))
        calls = delta.get("tool_calls")
        for place, call in enumerate(calls if isinstance(calls, list) else []):
            yield from self._call(place, mapping(call))
        reason = string(choice.get("finish_reason"))
        if reason and not self._reason:
            self._reason = reason
            yield from self._blocks.close_all()

    def _visible(self, content: JsonValue) -> Iterator[Part]:
        pieces = content if isinstance(content, list) else [content]
        for piece in pieces:
            text = piece.get("text") if isinstance(piece, dict) else piece
            yield from self._blocks.add(_TEXT, "text", text)

    def _call(self, place: int, call: JsonObject) -> Iterator[Part]:
        index = call.get("index")
        key = ("call", index if isinstance(index, int) else place)
        block = self._blocks.open(key, "call")
        if block is None:
            return
        function = mapping(call.get("function"))
        call_id, name = string(call.get("id")), string(function.get("name"))
        if (call_id or name) and (call_id, name) != (block.call_id, block.name):
            block.call_id = call_id or block.call_id
            block.name = self._restore(name) if name else block.name
            yield block.opened()
        arguments = function.get("arguments")
        if isinstance(arguments, str) and arguments:
            yield from block.add(arguments)


def chat_usage(usage: JsonObject) -> JsonObject:
    """Return token counts in the words of the log: ``input`` is what came from no cache."""
    asked = mapping(usage.get("prompt_tokens_details"))
    made = mapping(usage.get("completion_tokens_details"))
    read, written = count(asked.get("cached_tokens")), count(asked.get("cache_write_tokens"))
    total_input, output = count(usage.get("prompt_tokens")), count(usage.get("completion_tokens"))
    return token_counts(total_input, read, written, output, count(made.get("reasoning_tokens")))
