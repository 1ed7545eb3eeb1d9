"""Whether a message id was used before. Pure.

Source: H-21.
"""

from collections.abc import Mapping
from typing import Literal, TypeAlias

Admission: TypeAlias = Literal["fresh", "duplicate", "conflict"]


def admit(known: Mapping[str, str], message_id: str, content: str) -> Admission:
    """Return what a message is to those that are known; texts are compared exactly."""
    if message_id not in known:
        return "fresh"
    return "duplicate" if known[message_id] == content else "conflict"
