"""What was answered with ``always``: one component owns it, and all sessions see it at once.

Source: A-4, A-14, A-20, A-22, A-23, A-45, N-16.
"""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

import attrs

from actors.json import JsonObject
from actors.rules.approval import Grants
from actors.rules.globs import is_glob
from actors.rules.policy import FILE_TOOLS, Mode, PolicyCall, PolicyEntry, PolicyTable

Remember: TypeAlias = Callable[[JsonObject], Awaitable[None]]
"""Writes one entry where the next engine will find it."""


def suggested_entry(call: PolicyCall) -> JsonObject | None:
    """Return the entry that ``always`` would write: only the write of a single file has one (A-14).

    A file whose name reads as a pattern has none: the entry would allow more than was asked about.
    """
    if call.tool not in FILE_TOOLS or len(call.targets) != 1 or is_glob(call.targets[0]):
        return None
    return {"tool": call.tool, "pattern": call.targets[0], "decision": "allow"}


class Remembered:
    """The entries and grants of one engine."""

    def __init__(self, remember: Remember | None = None) -> None:
        self.grants = Grants()
        self._entries: tuple[PolicyEntry, ...] = ()
        self._remember = remember

    def table(self, table: PolicyTable) -> PolicyTable:
        """Return a policy's table with what was remembered behind it."""
        if not self._entries:
            return table
        first = max((entry.index for entry in table.entries), default=-1) + 1
        added = (attrs.evolve(e, index=first + n) for n, e in enumerate(self._entries))
        return attrs.evolve(table, entries=(*table.entries, *added))

    async def add(self, entry: JsonObject, target: str, tier: Mode) -> bool:
        """Remember an entry, once; False when it was remembered before.

        It holds from now on, whatever becomes of the call that asked (the write stands); when the writer
        raises, nothing is remembered.
        """
        tool, pattern = str(entry["tool"]), str(entry["pattern"])
        if any(e.tool == tool and e.pattern == pattern for e in self._entries):
            return False
        added, grants = PolicyEntry(index=0, tool=tool, pattern=pattern), self.grants
        self._entries, self.grants = (*self._entries, added), grants.added(target, tier)
        if self._remember is not None:
            try:
                await self._remember(entry)
            except Exception:
                self._entries = tuple(e for e in self._entries if e is not added)
                self.grants = grants
                raise
        return True
