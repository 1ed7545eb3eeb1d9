"""The frames of a Responses stream as typed parts. Pure."""

from collections.abc import Callable, Iterator
from typing import Final

from actors.json import JsonObject, JsonValue
from actors.ports.model import Finished, Part, UsageReport
from runtime.models.openai_responses_request import SEALED
from runtime.models.openai_usage import token_counts
from runtime.models.provider_content import count, mapping, string
from runtime.models.provider_failures import broken_off, held_back
from runtime.models.provider_text import Block, Blocks, Kind

_KINDS: Final[dict[str, Kind]] = {
    "message": "text",
    "function_call": "call",
    "reasoning": "thinking",
}
_DELTAS: Final[dict[str, Kind]] = {
    "response.output_text.delta": "text",
    "response.refusal.delta": "text",
    "response.reasoning_summary_text.delta": "thinking",
    "response.reasoning_text.delta": "thinking",
    "response.function_call_arguments.delta": "call",
}


class ResponsesReader:
    """Folds the frames of one stream; ``restore`` gives tools back the names that the wire did not take."""

    def __init__(self, restore: Callable[[str], str]) -> None:
        self._restore = restore
        self._blocks = Blocks()

    def take(self, frame: JsonObject) -> Iterator[Part]:
        """Return the parts that a frame adds."""
        word, key = string(frame.get("type")), str(frame.get("output_index"))
        if word in _DELTAS:
            yield from self._blocks.add(key, _DELTAS[word], frame.get("delta"))
            return
        match word:
            case "response.output_item.added":
                yield from self._item(key, mapping(frame.get("item")))
            case "response.reasoning_summary_part.added" if count(frame.get("summary_index")):
                yield from self._blocks.add(key, "thinking", "\n\n")
            case "response.output_item.done":
                yield from self._item_done(key, mapping(frame.get("item")))
            case "response.completed" | "response.incomplete":
                yield from self._completed(mapping(frame.get("response")))
            case "response.failed":
                yield broken_off(frame.get("response"))
            case "error":
                yield broken_off(frame)
            case _:
                pass  # progress, and what a later version may add

    def rest(self) -> Iterator[Part]:
        """Return nothing: a reply ends with a frame that says so, or it broke."""
        return iter(())

    def _item(self, key: str, item: JsonObject) -> Iterator[Part]:
        kind = _KINDS.get(string(item.get("type")))
        block = self._blocks.open(key, kind) if kind is not None else None
        if block is not None and block.kind == "call" and not block.call_id:
            block.call_id = string(item.get("call_id"))
            block.name = self._restore(string(item.get("name")))
            yield block.opened()

    def _item_done(self, key: str, item: JsonObject) -> Iterator[Part]:
        yield from self._item(key, item)
        block = self._blocks.get(key)
        if block is None:
            return
        if not block.text:
            yield from self._blocks.add(key, block.kind, _whole_text(block, item))
        if block.kind == "thinking" and item.get("encrypted_content"):
            block.more = {"id": item.get("id"), SEALED: item.get("encrypted_content")}
        yield from self._blocks.close(key)

    def _completed(self, response: JsonObject) -> Iterator[Part]:
        yield from self._blocks.close_all()
        usage = response.get("usage")
        if isinstance(usage, dict):
            yield UsageReport(responses_usage(usage))
        cut = string(mapping(response.get("incomplete_details")).get("reason"))
        if cut == "content_filter":
            yield held_back(cut)
        elif cut:
            yield Finished("length")
        else:
            yield Finished("toolUse" if self._blocks.called else "stop")


def _whole_text(block: Block, item: JsonObject) -> str:
    """Return the text of an item that came without deltas."""
    if block.kind == "call":
        return string(item.get("arguments"))
    held: JsonValue = item.get("summary") if block.kind == "thinking" else item.get("content")
    parts = held if isinstance(held, list) else []
    texts = (mapping(part).get("text") or mapping(part).get("refusal") for part in parts)
    return "\n\n".join(text for text in texts if isinstance(text, str))


def responses_usage(usage: JsonObject) -> JsonObject:
    """Return token counts in the words of the log."""
    asked = mapping(usage.get("input_tokens_details"))
    made = mapping(usage.get("output_tokens_details"))
    read, written = count(asked.get("cached_tokens")), count(asked.get("cache_write_tokens"))
    total_input, output = count(usage.get("input_tokens")), count(usage.get("output_tokens"))
    return token_counts(total_input, read, written, output, count(made.get("reasoning_tokens")))
