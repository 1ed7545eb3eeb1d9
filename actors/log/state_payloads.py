"""Typed views of the core words that say what state a session or its host is in.

Those of the conversation stand in :mod:`payloads`; the rules for reading and writing are the same.

Source: S section 5, K-8, K-20, K-22.
"""

from typing import Any, Literal, TypeAlias

import attrs

Objects: TypeAlias = list[dict[str, Any]]


@attrs.frozen(kw_only=True)
class TodoWritten:
    """``todo/write``: the whole list; the last one counts."""

    items: Objects


@attrs.frozen(kw_only=True)
class SeedEnded:
    """``session/end-seed``; ``inherited`` marks the cut of a fork."""

    inherited: bool | None = None


@attrs.frozen(kw_only=True)
class InputHeld:
    """``agent/inbox/hold``."""

    held: bool


@attrs.frozen(kw_only=True)
class ChildStarted:
    """``child/started``; ``delegated`` says that the parent waits for what it answers."""

    session_id: str
    agent: str | None = None
    delegated: bool | None = None


@attrs.frozen(kw_only=True)
class ChildEnded:
    """``child/ended``; ``kept`` is the mode that lets a child outlive its parent."""

    session_id: str
    mode: str


@attrs.frozen(kw_only=True)
class SessionClosed:
    """``session/closed``."""


@attrs.frozen(kw_only=True)
class SessionReopened:
    """``session/reopened``."""


@attrs.frozen(kw_only=True)
class SessionPaused:
    """``session/paused``: paused while it is the last event."""

    reason: str


@attrs.frozen(kw_only=True)
class SandboxModeSet:
    """``sandbox/mode``; the last one counts."""

    mode: Literal["read-only", "workspace-write", "danger"]


@attrs.frozen(kw_only=True)
class ThinkingLevelSet:
    """``session/thinking-level``; the last one counts."""

    level: Literal["off", "minimal", "low", "medium", "high", "xhigh", "max"]


@attrs.frozen(kw_only=True)
class TokensUsed:
    """``llm/usage``: token counts of one call, no money."""

    call_id: str
    model: str
    usage: dict[str, Any]
    priority: Literal["foreground", "background"]
    elapsed_ms: float | None = None


@attrs.frozen(kw_only=True)
class NodesHidden:
    """``compaction/surface``: carries a hide."""

    summary_seq: int | None = None
    occluded_messages: int | None = None
    occluded_chars: int | None = None
    ccr_hash: str | None = None


@attrs.frozen(kw_only=True)
class SummarizerFailed:
    """``compaction/fallback``."""

    source: str
    stage: Literal["throw", "timeout", "rejected"]
    error: str
    circuit: bool | None = None


@attrs.frozen(kw_only=True)
class CompactionSkipped:
    """``compaction/skip``; ``remain_ms`` says how long the gate still holds."""

    gate: str
    basis: str | None = None
    est_tokens: int | None = None
    effective_window: float | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    remain_ms: float | None = None


@attrs.frozen(kw_only=True)
class PluginInstalled:
    """``plugin/installed``."""

    id: str
    source: str
    version: str | None = None


@attrs.frozen(kw_only=True)
class PluginUninstalled:
    """``plugin/uninstalled``."""

    id: str
    source: str
    data_action: str
    version: str | None = None
    affected: Any = None


@attrs.frozen(kw_only=True)
class PluginMounted:
    """``plugin/mounted``."""

    id: str


@attrs.frozen(kw_only=True)
class PluginUnmounted:
    """``plugin/unmounted``."""

    id: str


@attrs.frozen(kw_only=True)
class PluginToggled:
    """``plugin/toggled``."""

    id: str
    disabled: bool


@attrs.frozen(kw_only=True)
class PluginUpdated:
    """``plugin/updated``."""

    id: str
    from_: str | None = None
    to: str | None = None


@attrs.frozen(kw_only=True)
class PluginOpens:
    """``plugin/opens``: the full set, empty when withdrawn."""

    plugin_id: str
    opens: list[Any]


@attrs.frozen(kw_only=True)
class DoorsUpdated:
    """``doors/updated``: the full set."""

    doors: list[Any]
    origin: Literal["boot-diff", "tui-cmd"]


@attrs.frozen(kw_only=True)
class CapabilityUsed:
    """``capability/used``; what it was used on depends on the capability."""

    capability: str
    plugin_id: str | None = None
    caller_session_id: str | None = None
    trigger_name: str | None = None
    namespace: str | None = None
    name: str | None = None
    verb: str | None = None


@attrs.frozen(kw_only=True)
class HookRegistered:
    """``hook/registered``."""

    plugin_id: str
    hook: str


@attrs.frozen(kw_only=True)
class ValueWritten:
    """``kv/written``; never the value."""

    plugin_id: str
    key: str
    action: Literal["set", "delete"]


@attrs.frozen(kw_only=True)
class PresetApplied:
    """``preset/applied``."""

    preset: Literal["conservative", "balanced", "open"]
    sandbox_mode: str
    approval_policy: Any
    appended: Any


@attrs.frozen(kw_only=True)
class CredentialsChanged:
    """``credentials/changed``; never the value."""

    namespace: str
    name: str
    action: Literal["add", "remove", "rotate"]
    origin: Literal["human", "oauth-flow"]


StatePayload: TypeAlias = (
    TodoWritten
    | SeedEnded
    | InputHeld
    | ChildStarted
    | ChildEnded
    | SessionClosed
    | SessionReopened
    | SessionPaused
    | SandboxModeSet
    | ThinkingLevelSet
    | TokensUsed
    | NodesHidden
    | SummarizerFailed
    | CompactionSkipped
    | PluginInstalled
    | PluginUninstalled
    | PluginMounted
    | PluginUnmounted
    | PluginToggled
    | PluginUpdated
    | PluginOpens
    | DoorsUpdated
    | CapabilityUsed
    | HookRegistered
    | ValueWritten
    | PresetApplied
    | CredentialsChanged
)
