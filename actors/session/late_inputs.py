"""Input that comes while a session is being closed: it is said behind the end of the turn, and starts nothing.

Source: L-61.
"""

from actors.errors import GreenroomError
from actors.ids import MessageId
from actors.json import JsonObject
from actors.kernel.reply import Reply
from actors.log.events import Draft
from actors.session.answers import PromptReceipt
from actors.session.journal import Journal


class LateInputs:
    """Keeps what came, with those who wait to hear what became of it."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._kept: list[tuple[JsonObject, MessageId, Reply[object]]] = []

    def keep(self, data: JsonObject, message_id: MessageId, reply: Reply[object]) -> None:
        """Keep an input until the turn has ended."""
        self._kept.append((data, message_id, reply))

    def say(self) -> None:
        """The turn has ended: log what came meanwhile."""
        kept, self._kept = self._kept, []
        for data, message_id, reply in kept:
            high_water = len(self._journal.log)
            try:
                self._journal.post(Draft("user/message", data))
            except GreenroomError as refused:
                reply.fail(refused)
            else:
                receipt = PromptReceipt(message_id, "injected", high_water)
                self._journal.acknowledge(reply, receipt)

    def lost(self, error: GreenroomError) -> None:
        """The turn has no end that could be waited for."""
        for _, _, reply in self._kept:
            reply.fail(error)
