"""What every reader of a session is: something that is open inside of a block, and released when the block is left."""

from types import TracebackType

from actors.ids import SessionId
from actors.session.feeds import Subscribed
from actors.session.stage import Stage


class Reader:
    """Holds the subscription of one reader; a subclass opens it in ``__aenter__``."""

    def __init__(self, stage: Stage, session_id: SessionId) -> None:
        self._stage, self._session_id = stage, session_id
        self._subscription: Subscribed | None = None

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._subscription is not None:
            self._subscription.close()
