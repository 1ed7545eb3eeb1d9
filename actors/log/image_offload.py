"""Taking pictures out of the model's view: the one message projection that every log knows.

The pictures stay in the log, and what they name stays readable.

Source: K-5, D-75..D-83.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from actors.errors.log import SurfaceOpError
from actors.json import JsonObject, JsonValue
from actors.log.events import Event

if TYPE_CHECKING:
    from actors.log.message_projections import ProjectionContext

OFFLOAD: Final = "image/offload"
"""The word. Shape of its data: ``{seqs: [seq, ...], reason?}``."""


def offload(event: Event, context: "ProjectionContext") -> Mapping[int, JsonValue]:
    """Return the contents of the messages that ``event`` names, a text in the place of each picture.

    Raises:
        SurfaceOpError: ``projection-refused``, it names something else than messages with pictures.
    """
    data = event.data()
    seqs = data.get("seqs") if isinstance(data, dict) else None
    if not isinstance(seqs, list) or not seqs or len(set(map(str, seqs))) != len(seqs):
        raise SurfaceOpError("projection-refused", "seqs lists the messages, each once")
    return {_checked(seq): _without_pictures(_checked(seq), context) for seq in seqs}


def _checked(seq: JsonValue) -> int:
    if type(seq) is not int:
        raise SurfaceOpError("projection-refused", f"{seq!r} is no seq")
    return seq


def _without_pictures(seq: int, context: "ProjectionContext") -> JsonValue:
    content = context.content(seq) if context.is_node(seq) else None
    blocks = content if isinstance(content, list) else []
    if not any(_is_picture(block) for block in blocks):
        raise SurfaceOpError("projection-refused", f"{seq} is no visible message with a picture")
    return [_told(block) if _is_picture(block) else block for block in blocks]


def _is_picture(block: JsonValue) -> bool:
    return isinstance(block, dict) and block.get("type") == "image"


def _told(block: JsonValue) -> JsonObject:
    assert isinstance(block, dict)
    known = [block.get(key) for key in ("name", "mediaType", "mimeType", "blob")]
    words = ["picture", *(word for word in known if isinstance(word, str))]
    return {"type": "text", "text": f"[{' '.join(words)}: taken out of view]"}
