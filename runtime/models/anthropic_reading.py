"""The frames of a Messages stream as typed parts. Pure."""

from collections.abc import Callable, Iterator
from typing import Final

from actors.json import JsonObject
from actors.ports.model import BlockEnd, Finished, Part, StopReason, UsageReport
from runtime.models.provider_content import count, mapping, string
from runtime.models.provider_failures import broken_off, held_back
from runtime.models.provider_text import Block, Blocks, Kind

_KINDS: Final[dict[str, Kind]] = {"text": "text", "thinking": "thinking", "tool_use": "call"}
_DELTAS: Final[dict[str, tuple[Kind, str]]] = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "input_json_delta": ("call", "partial_json"),
}
_STOPS: Final[dict[str, StopReason]] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "toolUse",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "pause_turn": "deferred",
}
_REFUSAL: Final = "refusal"


class MessagesReader:
    """Folds the frames of one stream.

    ``restore`` gives tools back the names that the wire did not take. Signed reasoning keeps the name of
    the ``model``, which alone takes it back.
    """

    def __init__(self, restore: Callable[[str], str], model: str) -> None:
        self._restore, self._model = restore, model
        self._blocks = Blocks()
        self._usage: JsonObject = {}
        self._reason = ""

    def take(self, frame: JsonObject) -> Iterator[Part]:
        """Return the parts that a frame adds."""
        key = str(frame.get("index"))
        match frame.get("type"):
            case "message_start":
                self._usage |= mapping(mapping(frame.get("message")).get("usage"))
            case "content_block_start":
                yield from self._start(key, mapping(frame.get("content_block")))
            case "content_block_delta":
                yield from self._delta(key, mapping(frame.get("delta")))
            case "content_block_stop":
                yield from self._blocks.close(key)
            case "message_delta":
                yield from self._message_delta(frame)
            case "message_stop":
                yield from self.rest()
            case "error":
                yield broken_off(frame)
            case _:
                pass  # pings, and what a later version may add

    def rest(self) -> Iterator[Part]:
        """Return the end of the reply when its reason was said."""
        if self._reason == _REFUSAL:
            yield held_back(self._reason)
        elif self._reason:
            yield Finished(_STOPS.get(self._reason, "stop"))

    def _start(self, key: str, block: JsonObject) -> Iterator[Part]:
        kind = _KINDS.get(string(block.get("type")))
        if kind is None:
            if block.get("type") == "redacted_thinking":
                yield BlockEnd(self._blocks.next_index(), block | {"model": self._model})
            return
        opened = self._blocks.open(key, kind)
        if opened is not None:
            yield from self._first(opened, block)

    def _first(self, opened: Block, block: JsonObject) -> Iterator[Part]:
        if opened.kind == "call":
            opened.call_id = string(block.get("id"))
            opened.name = self._restore(string(block.get("name")))
            yield opened.opened()
        else:
            text = string(block.get(opened.kind))
            yield from opened.add(text) if text else ()

    def _delta(self, key: str, delta: JsonObject) -> Iterator[Part]:
        word = string(delta.get("type"))
        block = self._blocks.get(key)
        if word in _DELTAS:
            kind, field = _DELTAS[word]
            yield from self._blocks.add(key, kind, delta.get(field))
        elif word == "signature_delta" and block is not None:
            signed = string(block.more.get("signature")) + string(delta.get("signature"))
            block.more = {"signature": signed, "model": self._model}

    def _message_delta(self, frame: JsonObject) -> Iterator[Part]:
        self._reason = string(mapping(frame.get("delta")).get("stop_reason")) or self._reason
        later = mapping(frame.get("usage"))
        self._usage |= {word: value for word, value in later.items() if value is not None}
        yield from self._blocks.close_all()
        yield UsageReport(messages_usage(self._usage))


def messages_usage(usage: JsonObject) -> JsonObject:
    """Return token counts in the words of the log; this provider counts cached tokens apart from input."""
    fresh, output = count(usage.get("input_tokens")), count(usage.get("output_tokens"))
    read = count(usage.get("cache_read_input_tokens"))
    written = count(usage.get("cache_creation_input_tokens"))
    hour = count(mapping(usage.get("cache_creation")).get("ephemeral_1h_input_tokens"))
    thought = count(mapping(usage.get("output_tokens_details")).get("thinking_tokens"))
    counts: JsonObject = {
        "input": fresh,
        "output": output,
        "cacheRead": read,
        "cacheWrite": written,
        "reasoning": thought,
        "totalTokens": fresh + read + written + output,
    }
    return counts | ({"cacheWrite1h": hour} if hour else {})
