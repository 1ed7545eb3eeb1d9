"""A turn that was asked for."""

from typing import cast

from actors.ids import MessageId, SessionId
from actors.log.events import Event
from actors.session.answers import PromptReceipt
from actors.session.messages import AwaitResult
from actors.session.results import TurnResult
from actors.session.stage import Stage
from runtime.engine.feed import Feed


class Turn:
    """The handle of one accepted input. Cancelling a wait on it leaves the turn running (K-24)."""

    def __init__(self, stage: Stage, session_id: SessionId, receipt: PromptReceipt) -> None:
        self._stage = stage
        self._session_id = session_id
        self._receipt = receipt

    def __repr__(self) -> str:
        return f"Turn({self._session_id!r}, {self.message_id!r}, {self._receipt.status})"

    @property
    def message_id(self) -> MessageId:
        """The id of the input; empty for a turn without new input."""
        return self._receipt.message_id

    @property
    def duplicate(self) -> bool:
        """Whether the input had been accepted before."""
        return self._receipt.duplicate

    @property
    def queued(self) -> bool:
        """Whether the input waits, instead of having started a turn at once."""
        return self._receipt.status == "queued"

    @property
    def high_water(self) -> int:
        """The length of the log before the input was accepted."""
        return self._receipt.high_water

    @property
    def joins_run(self) -> bool:
        """Whether a turn was running when the input came."""
        return self._receipt.joins_run

    async def result(self) -> TurnResult[object]:
        """Wait for the end of the turn that takes the input; ``reason`` says how it ended.

        Raises:
            InputUnknownError: the input was withdrawn.
            InputParkedError: the turn before it was interrupted or failed, and nothing takes it by itself now; it
                goes on waiting.
            SessionClosedError: the session was closed before it was taken.

        Cancellation:
            The turn goes on; ask again, or interrupt it.
        """
        awaited = AwaitResult(self.message_id or self._receipt.high_water)
        result = await self._stage.send(self._session_id, awaited)
        return cast("TurnResult[object]", result)

    def follow(self) -> Feed:
        """Follow the session from where the input was accepted to the end of a turn."""
        return Feed(
            self._stage,
            self._session_id,
            self._receipt.high_water - 1,
            live=True,
            until=_ends_turn,
        )


def _ends_turn(event: Event) -> bool:
    return event.type == "turn/end"
