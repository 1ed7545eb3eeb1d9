"""What the pure decisions refuse."""

from actors.errors.base import ModelError, UsageError


class UnknownBlockError(ModelError):
    """The stream left a block of an unknown type open, so it cannot be assembled.

    Source: D-279.
    """

    code = "MODEL_BLOCK_UNKNOWN"

    def __init__(self, index: int, kind: str) -> None:
        super().__init__(index, kind)
        self.index, self.kind = index, kind

    def __str__(self) -> str:
        return f"block {self.index} of the unknown type {self.kind!r} was never closed"


class SettingError(UsageError):
    """A setting is outside its domain; ``name`` says which one."""

    code = "SETTING_INVALID"

    def __init__(self, name: str, value: object, wanted: str) -> None:
        super().__init__(name, value, wanted)
        self.name, self.value, self.wanted = name, value, wanted

    def __str__(self) -> str:
        return f"{self.name} is {self.value!r}, it must be {self.wanted}"


class CompactionConfigError(SettingError):
    """A compaction setting is outside its domain.

    Source: S-155.
    """

    code = "COMPACTION_CONFIG_INVALID"


class CompactionSeatError(UsageError):
    """Another extension holds the seat; first come, first served.

    Source: S-155.
    """

    code = "COMPACTION_CONFIG_TAKEN"
    status_hint = 409

    def __init__(self, seat: str, owner: str) -> None:
        super().__init__(seat, owner)
        self.seat, self.owner = seat, owner

    def __str__(self) -> str:
        return f"the compaction {self.seat} belongs to {self.owner!r}; it must release it first"


class CompactionSummarizerError(CompactionSeatError):
    """Another extension is the summariser."""

    code = "COMPACTION_SUMMARIZER_TAKEN"


class ThinkingLevelError(UsageError):
    """The level is none of the known ones.

    Source: L-150.
    """

    code = "THINKING_LEVEL_INVALID"

    def __init__(self, level: object) -> None:
        super().__init__(level)
        self.level = level

    def __str__(self) -> str:
        return f"{self.level!r} is no thinking level: use off, minimal, low, medium, high, xhigh or max"


class SandboxModeError(UsageError):
    """The mode is none of the known ones.

    Source: L-151.
    """

    code = "SANDBOX_MODE_INVALID"

    def __init__(self, mode: object) -> None:
        super().__init__(mode)
        self.mode = mode

    def __str__(self) -> str:
        return f"{self.mode!r} is no sandbox mode: use read-only, workspace-write or danger"


class EscalationError(UsageError):
    """One call asks for more than its mode in a way that cannot be asked about.

    Source: L-152.
    """

    code = "SANDBOX_ESCALATION_INVALID"

    def __init__(self, target: str, why: str) -> None:
        super().__init__(target, why)
        self.target, self.why = target, why

    def __str__(self) -> str:
        return f"escalation to {self.target!r} refused: {self.why}"
