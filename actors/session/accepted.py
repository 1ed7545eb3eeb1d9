"""Whether an input was accepted before, and whether the model may go on without one.

Source: H-21, L-10.
"""

from collections.abc import Sequence

from actors.errors.input import MessageConflictError
from actors.errors.session import ContinueInvalidError
from actors.ids import MessageId
from actors.json import JsonValue
from actors.log.json_equality import json_equal
from actors.log.log import Log
from actors.log.projection import ProjectedMessage, ToolResultMessage, UserMessage


def accepted_before(log: Log, message_id: MessageId, content: JsonValue) -> bool:
    """Return whether the id was accepted with this content.

    Raises:
        MessageConflictError: it was accepted with another.
    """
    seq = log.fold.dedupe.get(message_id)
    found = log.fold.inbox.find(message_id)
    known: JsonValue
    if seq is not None:
        known = log.event(seq).data()
    elif found is not None:
        known = log.fold.inbox.waiting(found[0])[found[1]]
    else:
        return False
    if isinstance(known, dict) and json_equal(known.get("content"), content):
        return True
    raise MessageConflictError(message_id)


def check_continuable(session_id: str, messages: Sequence[ProjectedMessage]) -> None:
    """Check that something stands last that a model can answer.

    Args:
        session_id: whose.
        messages: as a request would have them.

    Raises:
        ContinueInvalidError: the last message is neither the user's nor a tool's, or there is none.
    """
    if not messages or not isinstance(messages[-1], UserMessage | ToolResultMessage):
        raise ContinueInvalidError(session_id)
