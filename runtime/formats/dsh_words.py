"""The event types that DSH writes; those that native logs do not have are read as log-only.

Source: D-20..D-23, section 4 of the D rules, K-34.
"""

from typing import Final

WRAPPED: Final = frozenset(
    ("system/message", "developer/message", "assistant/message", "tool/result")
)
"""Surface types whose data holds a ``message``; a ``user/message`` is the message itself."""

SURFACE: Final = WRAPPED | {"user/message"}

WORDS: Final = SURFACE | {
    "agent/inbox/spliced",
    "approval/asked",
    "approval/decided",
    "approval/policy",
    "assistant/attempt",
    "assistant/chunk",
    "compaction/end",
    "compaction/prune",
    "compaction/start",
    "compaction/summary",
    "permission/preset",
    "request/context",
    "request/header",
    "sandbox/mode",
    "session/end-seed",
    "session/title",
    "step/end",
    "step/start",
    "todo/write",
    "tool/call",
    "turn/end",
    "turn/start",
}

PREFIXES: Final = ("hook/", "command/")
"""Families of log-only words that DSH's own plugins write."""


def is_known(word: str) -> bool:
    """Say whether DSH's own reader knows the type."""
    return word in WORDS or word.startswith(PREFIXES)
