"""The sandbox mode of a session, as its log says.

Source: L-151.
"""

from typing import Final

from actors.json import JsonValue
from actors.log.log import Log
from actors.rules.policy import Mode
from actors.rules.session_mode import fold_mode

WORD: Final = "sandbox/mode"


class SandboxModes:
    """Follows a log; each event is looked at once."""

    def __init__(self, log: Log) -> None:
        self._log, self._read = log, 0
        self._entries: list[JsonValue] = []

    def mode(self, fallback: Mode) -> Mode:
        """Return the mode that holds from the next call on; ``fallback`` when none was set.

        Raises:
            SandboxModeError: the log holds a mode that is none.
        """
        self._look()
        return fold_mode(self._entries, fallback)

    @property
    def logged(self) -> Mode | None:
        """What the log says; None when it says nothing.

        Raises:
            SandboxModeError: the log holds a mode that is none.
        """
        self._look()
        return fold_mode(self._entries, "danger") if self._entries else None

    def _look(self) -> None:
        self._entries += [event.data() for event in self._log.events_of_type(WORD, self._read)]
        self._read = len(self._log)
