"""Which system prompt stands on the surface, and what is logged when it changes.

Source: D-110..D-116.
"""

from collections.abc import Sequence

from actors.log.events import Draft, Replace
from actors.log.projection import ProjectedMessage, SystemMessage
from actors.log.request import content_text


def admission_drafts(visible: Sequence[ProjectedMessage], prompt: str | None) -> list[Draft]:
    """Return what must be logged so that ``prompt`` is the effective one; nothing when it is already.

    A prompt becomes node 0 when nothing stands there yet; otherwise the head is rewritten and every
    later prompt is emptied, so that no older instruction stays visible (D-112, D-113).
    """
    systems = [m for m in visible if isinstance(m, SystemMessage) and m.role == "system"]
    effective = next((t for s in reversed(systems) if (t := content_text(s.content))), None)
    if effective == (prompt or None):
        return []
    if not systems:
        return [Draft("system/message", {"content": prompt or ""})]
    head, *later = systems
    drafts = [_rewrite(s.seq, "") for s in later if content_text(s.content)]
    if content_text(head.content) != (prompt or ""):
        drafts.append(_rewrite(head.seq, prompt or ""))
    return drafts


def _rewrite(seq: int, text: str) -> Draft:
    return Draft("system/message", {"content": text}, op=Replace(seq, seq), sources=(seq,))
