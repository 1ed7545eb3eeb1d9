"""The thinking level of a session, as its log says.

Source: L-78, L-150.
"""

from typing import Final

from actors.json import JsonObject, JsonValue
from actors.log.log import Log
from actors.rules.session_mode import fold_level

WORD: Final = "session/thinking-level"
EFFORT: Final = "reasoningEffort"
"""The setting of a request that the level decides (D-92)."""


class ThinkingLevels:
    """Follows a log; each event is looked at once."""

    def __init__(self, log: Log) -> None:
        self._log, self._read = log, 0
        self._entries: list[JsonValue] = []

    def settings(self) -> JsonObject:
        """Return what the level that holds now adds to the settings of a request.

        Raises:
            ThinkingLevelError: the log holds a level that is none.
        """
        self._entries += [event.data() for event in self._log.events_of_type(WORD, self._read)]
        self._read = len(self._log)
        level = fold_level(self._entries)
        return {} if level is None else {EFFORT: level}
