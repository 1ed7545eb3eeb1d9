"""Who a message comes from.

Source: S-57, L-155.
"""

from typing import Final

import attrs

_PREFIXES: Final = {"channel": True, "plugin": False, "session": False}
_WORDS: Final = {
    "user": True,
    "schedule": True,
    "subagent-settled": True,
    "subagent-approval-pending": True,
    "budget-extended": True,
    "compaction": False,
}


@attrs.frozen
class Source:
    """A parsed message source.

    ``kind`` is the word, or the prefix before a colon; ``treated_as_user`` says whether the message
    counts as the user speaking.
    """

    kind: str
    raw: str
    treated_as_user: bool


def parse_source(raw: str) -> Source:
    """Return what a source says; case matters, and an unknown word counts as the user.

    ``channel:``, ``plugin:`` and ``session:`` match with anything behind them, nothing included.
    """
    prefix, colon, _ = raw.partition(":")
    if colon and prefix in _PREFIXES:
        return Source(prefix, raw, _PREFIXES[prefix])
    if raw in _WORDS:
        return Source(raw, raw, _WORDS[raw])
    return Source("user", raw, treated_as_user=True)
