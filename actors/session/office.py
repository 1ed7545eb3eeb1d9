"""How a session reaches the others."""

from typing import Protocol

from actors.ids import SessionId
from actors.session.interruption import Interruption
from actors.session.messages import Message, Read, Scope


class Office(Protocol):
    """The supervisor of sessions, as one of them sees it."""

    async def send(self, session_id: SessionId, message: Message | Read) -> object:
        """Put the message into a session's mailbox and return its answer."""
        ...

    async def ended(self, session_id: SessionId) -> bool:
        """Wait until a life that takes no more messages has ended; False when none follows."""
        ...

    def interrupt(self, session_id: SessionId | None, scope: Scope, cause: str) -> Interruption:
        """Interrupt at once."""
        ...
