"""The reply that a model is writing, as far as it has come. Pure.

Source: K-16.
"""

from collections.abc import Callable
from typing import Final

import attrs

from actors.json import JsonObject
from actors.rules.assembly import CALL_BLOCK
from actors.session.live import StreamDelta


@attrs.define
class _Block:
    text: str = ""
    call_id: str | None = None
    name: str | None = None


_CONTENT: Final[dict[str, Callable[[_Block], JsonObject]]] = {
    "text": lambda block: {"type": "text", "text": block.text},
    "thinking": lambda block: {"type": "thinking", "thinking": block.text},
    "arguments": lambda block: {
        "type": CALL_BLOCK,
        "id": block.call_id,
        "name": block.name,
        "arguments": block.text,
    },
}


class LiveReply:
    """Folds the deltas of one reply.

    A delta that does not follow on what came before says that some were dropped; from then on there is
    no snapshot, so that no reader is shown a text with a hole. The complete message follows in any case.
    """

    def __init__(self) -> None:
        self._blocks: dict[tuple[int, str], _Block] = {}
        self._torn = False

    def after(self, delta: StreamDelta) -> JsonObject | None:
        """Take the next delta; return the message so far, None when it is not known."""
        block = self._blocks.setdefault((delta.index, delta.kind), _Block())
        self._torn = self._torn or delta.offset != len(block.text)
        if self._torn:
            return None
        block.text += delta.text
        block.call_id = delta.call_id or block.call_id
        block.name = delta.name or block.name
        content = [_CONTENT[kind](block) for (_, kind), block in self._blocks.items()]
        return {"role": "assistant", "content": list(content)}
