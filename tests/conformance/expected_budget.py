"""What the corrected budget rules ask for, worked out the slow and obvious way.

Source: S-41, S-48..S-50, S-52a.
"""

import json
from typing import Any

IMAGE_MARKER = "[image-blob-dropped: durable budget]"
ROOM_FOR_A_MARKER = 38
CONTENT_BYTES = 61440
ERROR_TEXT_BYTES = 2048
TOTAL_BYTES = 2 * CONTENT_BYTES


def size_of_text(text: str) -> int:
    """Escaped bytes of a text without unpaired surrogates."""
    return len(json.dumps(text, ensure_ascii=False).encode())


def size_of_block(block: dict[str, Any]) -> int:
    if block["type"] == "image":
        return len(block["data"])
    if block["type"] in ("text", "thinking"):
        return size_of_text(block[block["type"]])
    return json_size(block)


def marker(text: str, kept: str = "") -> str:
    return (
        f"…[truncated {(len(text.encode('utf-16-le')) - len(kept.encode('utf-16-le'))) // 2} chars]"
    )


def cut_text(text: str, limit: int) -> str:
    for length in range(min(len(text), limit), -1, -1):
        kept = text[:length]
        if size_of_text(kept) + size_of_text(marker(text, kept)) <= limit:
            return kept + marker(text, kept)
    return marker(text)


def cut_blocks(blocks: list[dict[str, Any]], limit: int) -> list[dict[str, Any]]:
    """Keep the first way that stays within the limit: without, then with room held back for a marker."""
    free = walk(blocks, limit, held=0)
    if sum(map(size_of_block, free)) <= limit or limit < ROOM_FOR_A_MARKER:
        return free
    return walk(blocks, limit - ROOM_FOR_A_MARKER, held=ROOM_FOR_A_MARKER)


def walk(blocks: list[dict[str, Any]], left: int, held: int) -> list[dict[str, Any]]:
    kept: list[dict[str, Any]] = []
    lost = ""
    marked = text_was_cut = False
    for block in blocks:
        kind, size = block["type"], size_of_block(block)
        fits = size == 0 or (size <= left and not text_was_cut)
        if fits:
            stands_for = block
        elif kind == "image":
            stands_for = {"type": "text", "text": IMAGE_MARKER}
        elif left + held > 0 and not text_was_cut:
            stands_for = {"type": kind, kind: cut_text(block[kind], min(left + held, size - 1))}
        else:
            lost += block[kind]
            continue
        if fits:
            left -= size
        elif not marked or (size_of_block(stands_for) <= left and not text_was_cut):
            left, held, marked = left + held - size_of_block(stands_for), 0, True
            text_was_cut = kind != "image"
        else:
            continue
        kept.append(stands_for)
    return kept if marked else [*kept, {"type": "text", "text": marker(lost)}]


def cut_legs(word: str, data: Any) -> Any:
    """Cut the legs of a message as the reference does."""
    if not isinstance(data, dict):
        return data
    legs = {"tool/call": ("arguments",), "assistant/message": ("content", "errorMessage")}
    cut = dict(data)
    for leg in legs.get(word, ("content",)):
        limit = ERROR_TEXT_BYTES if leg == "errorMessage" else CONTENT_BYTES
        if isinstance(cut.get(leg), str) and size_of_text(cut[leg]) > limit:
            cut[leg] = cut_text(cut[leg], limit)
        elif isinstance(cut.get(leg), list) and sum(map(size_of_block, cut[leg])) > limit:
            cut[leg] = cut_blocks(cut[leg], limit)
    return cut


def json_size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


def cut_data(data: Any, limit: int = CONTENT_BYTES) -> dict[str, Any]:
    """What becomes of data over ``limit``: a text is cut, a mapping or list becomes a marker object."""
    size = json_size(data)
    if isinstance(data, str):
        return {"data": cut_text(data, limit), "truncated": True, "dataKind": "string"}
    if size <= limit:
        kind = "array" if isinstance(data, list) else "object"
        return {"data": data, "truncated": False, "dataKind": kind}
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    cut = {"truncated": {"jsonBytes": size, "start": cut_text(text, ERROR_TEXT_BYTES)}}
    return {"data": cut, "truncated": True, "dataKind": "object"}
