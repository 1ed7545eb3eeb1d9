"""The engine's own words.

Source: S section 5 (the first 35), design 3 and K-10, K-11, K-20, K-22 (the others).
"""

from typing import Final, Literal, TypeAlias

import attrs

Category: TypeAlias = Literal["surface", "snapshot", "log-only", "structure"]
"""``surface`` belongs to the history, ``snapshot`` is request evidence, ``log-only`` audit and state, ``structure`` the skeleton."""


@attrs.frozen
class Word:
    """An event type and what may be done with it.

    ``carrier`` may hide nodes (S-92); ``projection`` changes the content of messages and needs its handler (D-79).
    """

    type: str
    category: Category = "log-only"
    owner: str = "session"
    tier: str = "stable"
    carrier: bool = False
    projection: bool = False


SURFACE_WORDS: Final = frozenset(
    ("system/message", "developer/message", "user/message", "assistant/message", "tool/result")
)
"""The events that can be nodes (D-20)."""


def _log_only(owner: str, *types: str) -> tuple[Word, ...]:
    return tuple(Word(type, "log-only", owner) for type in types)  # noqa: A001 - the wire word


CORE_WORDS: Final[tuple[Word, ...]] = (
    Word("turn/start", "structure"),
    Word("turn/end", "structure"),
    Word("user/message", "surface"),
    Word("assistant/message", "surface"),
    Word("tool/call", "surface"),
    Word("tool/result", "surface"),
    Word("todo/write", "surface", "conversation"),
    Word("request/header", "snapshot"),
    Word("session/end-seed", "structure"),
    *_log_only("safety", "approval/asked", "approval/decided"),
    *_log_only("tools", "gate/decision"),
    *_log_only("safety", "sandbox/mode"),
    *_log_only("conversation", "session/thinking-level"),
    *_log_only("llm", "llm/usage"),
    Word("llm/retry", carrier=True),
    *_log_only("host", "plugin/uninstalled", "plugin/opens", "doors/updated", "capability/used"),
    *_log_only("host", "plugin/installed", "plugin/mounted", "plugin/unmounted"),
    *_log_only("host", "plugin/toggled", "plugin/updated"),
    *_log_only("compaction", "compaction/start"),
    Word("compaction/surface", "log-only", "compaction", carrier=True),
    *_log_only("compaction", "compaction/end", "compaction/fallback", "compaction/skip"),
    *_log_only("host", "hook/registered", "kv/written", "preset/applied"),
    *_log_only("host", "credentials/changed", "session/paused"),
    Word("system/message", "surface"),
    Word("developer/message", "surface"),
    Word("assistant/attempt"),
    Word("request/context", "snapshot"),
    Word("agent/inbox/spliced"),
    Word("agent/inbox/hold"),
    Word("child/started"),
    Word("child/ended"),
    Word("session/closed"),
    Word("session/reopened"),
    Word("session/title"),
    Word("image/offload", projection=True),
)

CORE_TYPES: Final = frozenset(word.type for word in CORE_WORDS)
