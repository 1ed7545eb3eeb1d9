"""Logs that are folded already when their session is activated for the first time.

Source: K-40 (a fork shares its parent's chunks; its first use costs no read).
"""

from collections import OrderedDict

from actors.ids import SessionId
from actors.log.log import Log

KEPT = 64


class PreparedLogs:
    """The logs of the latest forks, until they are activated; a cache, the store has them too."""

    def __init__(self) -> None:
        self._logs: OrderedDict[SessionId, Log] = OrderedDict()

    def put(self, session_id: SessionId, log: Log) -> None:
        """Keep a log that is stored."""
        self._logs[session_id] = log
        if len(self._logs) > KEPT:
            self._logs.popitem(last=False)

    def __contains__(self, session_id: SessionId) -> bool:
        return session_id in self._logs

    def pop(self, session_id: SessionId, length: int) -> Log | None:
        """Return the log when it is as long as the stored one, and forget it."""
        log = self._logs.pop(session_id, None)
        return log if log is not None and len(log) == length else None
