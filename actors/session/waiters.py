"""Those who wait for the result of a turn."""

from collections.abc import Callable

from actors.errors import GreenroomError
from actors.errors.input import InputUnknownError
from actors.ids import MessageId
from actors.kernel.reply import Reply
from actors.session.results import turn_result
from actors.session.state import SessionState


class Waiters:
    """Settles each with the turn that takes its input, or that holds the event of its seq."""

    def __init__(self, session: SessionState) -> None:
        self._session = session
        self._replies: dict[MessageId | int, list[Reply[object]]] = {}

    @property
    def awaited(self) -> bool:
        """Whether somebody waits; who was cancelled in the wait does not."""
        return any(reply.awaited for waiting in self._replies.values() for reply in waiting)

    def wait(self, key: MessageId | int, reply: Reply[object]) -> None:
        """Settle ``reply`` with the result, at once when the turn has ended.

        Raises:
            InputUnknownError: no such input was accepted, or it was withdrawn.
        """
        log = self._session.log
        seq = self._seq(key)
        if seq is None and log.fold.inbox.find(str(key)) is None:
            raise InputUnknownError(str(key))
        result = turn_result(log, seq) if seq is not None else None
        if result is not None:
            self._session.journal.acknowledge(reply, result)
            return
        waiting = self._replies.setdefault(key, [])
        for gone in [known for known in waiting if not known.awaited]:
            waiting.remove(gone)
            gone.set(None)
        waiting.append(reply)

    def stranded(self, error: Callable[[MessageId], GreenroomError]) -> None:
        """Tell those whose input waits that nothing takes it now (L-66)."""
        for key in list(self._replies):
            if isinstance(key, str) and self._seq(key) is None:
                for reply in self._replies.pop(key):
                    reply.fail(error(key))

    def withdrawn(self, message_id: MessageId) -> None:
        """The input will never run: whoever waits for it is told."""
        for reply in self._replies.pop(message_id, ()):
            reply.fail(InputUnknownError(message_id))

    def turn_ended(self) -> None:
        """Tell those whose turn has ended, once that is durable: a later turn may have been folded since (P4)."""
        for key in list(self._replies):
            seq = self._seq(key)
            result = turn_result(self._session.log, seq) if seq is not None else None
            if result is not None:
                for reply in self._replies.pop(key):
                    self._session.journal.acknowledge(reply, result)

    def _seq(self, key: MessageId | int) -> int | None:
        log = self._session.log
        if isinstance(key, int):
            return key if 0 <= key < len(log) else None
        return log.fold.dedupe.get(key)
