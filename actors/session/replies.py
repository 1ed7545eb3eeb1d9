"""What a model's reply, or its failure, is in the log."""

from collections.abc import Sequence

import attrs

from actors.ids import CallId
from actors.json import JsonObject
from actors.log.blobs import without_names
from actors.log.budget import budget_content
from actors.log.codec import encode
from actors.log.event_budget import MESSAGE_BYTES
from actors.log.events import Draft, Event
from actors.log.foreign import mend
from actors.ports.model import Failed, ModelRequest
from actors.rules.assembly import AssembledCall
from actors.rules.retry import Failure
from actors.session.call import CallSpec
from actors.session.drafts import foreign_draft


def specs(
    events: Sequence[Event],
    call_ids: Sequence[CallId],
    calls: Sequence[AssembledCall],
    request: ModelRequest,
) -> tuple[CallSpec, ...]:
    """Return the calls of a reply as they were logged."""
    return tuple(
        CallSpec(
            id=call_id,
            made_as=call.id,
            name=call.name,
            arguments=call.arguments,
            seq=event.seq,
            turn=request.turn,
            step=request.step,
        )
        for event, call_id, call in zip(events, call_ids, calls, strict=True)
    )


def call_draft(call: AssembledCall, call_id: CallId, request: ModelRequest) -> Draft:
    """Return the ``tool/call`` of a call; a provider's id that was used before stands beside ours (K-12)."""
    data: JsonObject = {"toolCallId": call_id, "name": call.name, "arguments": call.arguments}
    if call_id != call.id:
        data["providerCallId"] = call.id
    return foreign_draft("tool/call", data | {"turn": request.turn, "step": request.step})


@attrs.frozen
class Delivered:
    """What came of a reply that failed or was cut.

    ``evidence`` is what is logged beside the content: ``stream``, when each piece came, and ``usage``, as far
    as it was told.
    """

    content: list[JsonObject] = attrs.field(factory=list)
    evidence: JsonObject = attrs.field(factory=dict)

    @property
    def usage(self) -> JsonObject | None:
        """The token counts, as far as they were told."""
        usage = self.evidence.get("usage")
        return usage if isinstance(usage, dict) else None


def attempt_draft(failed: Failed, request: ModelRequest, delivered: Delivered) -> Draft:
    """Return the log-only record of a failed attempt, with what it had delivered (K-10)."""
    data: JsonObject = {
        "turn": request.turn,
        "step": request.step,
        "attempt": request.attempt,
        "model": request.model,
        "content": without_names(list(delivered.content)),
        "errorMessage": f"{failed.code}: {failed.message}",
    }
    return foreign_draft("assistant/attempt", data | delivered.evidence)


def failure_draft(failed: Failed, request: ModelRequest, delivered: Delivered) -> Draft:
    """Return the message that the last failure of a turn becomes, so that the history says what happened (K-10)."""
    message: JsonObject = {
        "content": list(delivered.content),
        "stopReason": "error",
        "errorMessage": f"{failed.code}: {failed.message}",
    }
    return message_draft(message | delivered.evidence, request)


def remembered_part(delivered: list[JsonObject]) -> list[JsonObject]:
    """Return what is kept of a reply that failed or was cut: all, or the start when no event may hold all (K-4)."""
    mended, _ = mend({"content": list(delivered)})
    if len(encode(mended)) <= MESSAGE_BYTES:
        return delivered
    cut = budget_content(list(delivered))
    return [block for block in cut if isinstance(block, dict)]


def failure_of(failed: Failed) -> Failure:
    """Return what the rules of retries want to know of a failure."""
    return Failure(bucket=failed.bucket, code=failed.code, retry_after_s=failed.retry_after_s)


def waits_too_long(failed: Failed, longest_s: float) -> Failed:
    """Return the failure with why nobody waits as long as the provider asked for."""
    asked_s = failed.retry_after_s or 0
    text = (
        f"{failed.message} (asks for a wait of {asked_s:g} s, at most {longest_s:g} s are waited)"
    )
    return attrs.evolve(failed, message=text)


def retry_data(phase: str, attempt: int, limit: int) -> JsonObject:
    """Return the data of an ``llm/retry`` that waits for nothing."""
    return {"attempt": attempt, "maxAttempts": limit, "delayMs": 0, "phase": phase}


def partial_draft(delivered: Delivered, request: ModelRequest) -> Draft:
    """Return the message that keeps what a cut stream had delivered, marked as incomplete (K-9)."""
    message: JsonObject = {
        "content": list(delivered.content),
        "stopReason": "aborted",
        "interrupted": True,
    }
    return message_draft(message | delivered.evidence, request)


def usage_draft(call_id: str, model: str, usage: JsonObject, priority: str) -> Draft:
    """Return the ``llm/usage`` of a request that leaves no message: a summary, or a reply cut before its text."""
    data: JsonObject = {
        "callId": call_id,
        "model": model,
        "usage": usage,
        "priority": priority,
    }
    return foreign_draft("llm/usage", data)


def message_draft(message: JsonObject, request: ModelRequest) -> Draft:
    """Return the ``assistant/message`` that answers a request."""
    provider, _, model = request.model.partition("/")
    made_by: JsonObject = {"provider": provider, "model": model}
    where: JsonObject = {"turn": request.turn, "step": request.step}
    own = {"content": without_names(message.get("content"))}
    return foreign_draft("assistant/message", message | own | made_by | where)
