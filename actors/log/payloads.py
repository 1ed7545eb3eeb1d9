"""Typed views of the data of core events, and records to write it from.

Wire names are camelCase. A key that is absent is None here, and a None is left out on the wire; unknown
keys are not part of a view. ``Any`` marks a JSON value whose form is open (content blocks, usage, meta).

Source: K-1, K-17, K-20, K-29, S section 5.
"""

from typing import Any, Literal, TypeAlias

import attrs

from actors.log.state_payloads import StatePayload

Content: TypeAlias = str | list[dict[str, Any]]


@attrs.frozen(kw_only=True)
class TurnStarted:
    """``turn/start``."""

    turn: int | None = None


@attrs.frozen(kw_only=True)
class TurnEnded:
    """``turn/end``; ``reason`` is an open set: an unknown one is no success (D-205)."""

    reason: str
    turn: int | None = None
    cause: str | None = None
    error: Any = None
    detail: Any = None


@attrs.frozen(kw_only=True)
class SystemMessageAdded:
    """``system/message``."""

    content: Content
    id: str | None = None
    turn: int | None = None
    step: int | None = None
    origin: Any = None


@attrs.frozen(kw_only=True)
class DeveloperMessageAdded:
    """``developer/message``; ``header_seq`` names the header that a tool addition refers to (D-122)."""

    content: Content
    id: str | None = None
    turn: int | None = None
    step: int | None = None
    header_seq: int | None = None
    origin: Any = None


@attrs.frozen(kw_only=True)
class UserMessageAdded:
    """``user/message``; ``source`` is text, or an object with ``kind``."""

    content: Content
    source: Any = None
    id: str | None = None
    origin: Any = None
    dedupe_key: str | None = None


@attrs.frozen(kw_only=True)
class AssistantMessageAdded:
    """``assistant/message``."""

    content: Content
    usage: Any = None
    stop_reason: str | None = None
    error_message: str | None = None
    provider: str | None = None
    model: str | None = None
    turn: int | None = None
    step: int | None = None
    id: str | None = None
    origin: Any = None
    interrupted: bool | None = None
    stream: Any = None


@attrs.frozen(kw_only=True)
class AttemptFailed:
    """``assistant/attempt``: a settled attempt that gave no message, with what it delivered.

    ``model`` is ``provider/model``, as it was asked.
    """

    turn: int | None = None
    step: int | None = None
    attempt: int | None = None
    model: str | None = None
    content: Any = None
    usage: Any = None
    error_message: str | None = None
    stream: Any = None


@attrs.frozen(kw_only=True)
class ToolCalled:
    """``tool/call``; ``arguments`` is the model's raw text. ``inline``: the call stands in the content, too."""

    tool_call_id: str
    name: str
    arguments: Any = None
    turn: int | None = None
    step: int | None = None
    inline: bool | None = None


@attrs.frozen(kw_only=True)
class ToolReturned:
    """``tool/result``; it failed when ``error`` is true or an object (S-64, K-33)."""

    tool_call_id: str
    content: Content
    error: Any = None
    meta: Any = None
    turn: int | None = None
    step: int | None = None
    id: str | None = None
    origin: Any = None

    @property
    def failed(self) -> bool:
        """Whether the call failed."""
        return self.error is True or isinstance(self.error, dict)


@attrs.frozen(kw_only=True)
class HeaderLogged:
    """``request/header`` in the form of :mod:`request_header`."""

    header: dict[str, Any]
    reason: str
    starts_series: bool | None = None


@attrs.frozen(kw_only=True)
class ContextLogged:
    """``request/context``."""

    provider: str
    model: str
    context_window: int | None = None
    system_prompt_update: str | None = None


@attrs.frozen(kw_only=True)
class GateDecided:
    """``gate/decision``: committed before a tool starts."""

    tool_call_id: str
    decision: Literal["allow", "block", "mutate"]
    reason: Any = None


@attrs.frozen(kw_only=True)
class ApprovalAsked:
    """``approval/asked``."""

    approval_id: str
    summary: Any = None
    tool_call_id: str | None = None
    tool_name: str | None = None
    target: Any = None
    tier: str | None = None
    reason: str | None = None
    suggested_entry: Any = None
    path: Any = None


@attrs.frozen(kw_only=True)
class ApprovalDecided:
    """``approval/decided``."""

    approval_id: str
    decision: str
    source: str
    by: Any = None


@attrs.frozen(kw_only=True)
class InputSpliced:
    """``agent/inbox/spliced``: one record of the waiting input."""

    target: Literal["next-turn", "next-step"]
    start: int
    inserted: list[dict[str, Any]]
    removed_count: int | None = None
    outcome: Literal["canceled"] | None = None


@attrs.frozen(kw_only=True)
class CompactionStarted:
    """``compaction/start``."""

    reason: str | None = None
    will_retry: bool | None = None
    basis: str | None = None
    est_tokens: int | None = None
    effective_window: int | None = None
    summarizer: str | None = None


@attrs.frozen(kw_only=True)
class CompactionEnded:
    """``compaction/end``."""

    reason: str | None = None
    error: Any = None
    summary_seq: int | None = None
    ccr_hash: str | None = None
    occluded_messages: int | None = None
    occluded_chars: int | None = None


@attrs.frozen(kw_only=True)
class RetryLogged:
    """``llm/retry``; with the reason ``fallback`` it names the ``model`` that is asked instead."""

    attempt: int
    max_attempts: int
    phase: Literal["scheduled", "aborted", "exhausted"]
    delay_ms: float | None = None
    reason: str | None = None
    decided_by: str | None = None
    error_message: str | None = None
    model: str | None = None


@attrs.frozen(kw_only=True)
class Titled:
    """``session/title``; None clears it."""

    title: str | None = None


@attrs.frozen(kw_only=True)
class ImagesOffloaded:
    """``image/offload``: the model does not see the pictures of these messages any more (K-5)."""

    seqs: list[Any]
    reason: str | None = None


Payload: TypeAlias = (
    StatePayload
    | TurnStarted
    | TurnEnded
    | SystemMessageAdded
    | DeveloperMessageAdded
    | UserMessageAdded
    | AssistantMessageAdded
    | AttemptFailed
    | ToolCalled
    | ToolReturned
    | HeaderLogged
    | ContextLogged
    | GateDecided
    | ApprovalAsked
    | ApprovalDecided
    | InputSpliced
    | CompactionStarted
    | CompactionEnded
    | RetryLogged
    | Titled
    | ImagesOffloaded
)
