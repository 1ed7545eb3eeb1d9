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
