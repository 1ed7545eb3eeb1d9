"""What keeps a file from being read as a session log, or a log from being written as one."""

from actors.errors.base import UsageError
from actors.errors.log import ImportFormatError


class UnknownFormatError(UsageError):
    """Nothing in the content says which log format it is."""

    code = "SESSION_FORMAT_UNKNOWN"

    def __init__(self, seen: str) -> None:
        super().__init__(seen)
        self.seen = seen

    def __str__(self) -> str:
        return (
            f"not a session log of a known format (it begins {self.seen!r}): greenroom reads its own "
            "exports and the logs of DSH, berry-agent, Claude Code and Codex"
        )


class NewerFormatError(UsageError):
    """A newer version wrote the file.

    Source: D-144, D-145.
    """

    code = "SESSION_FORMAT_NEWER"
    rule = "format-newer"

    def __init__(self, format: str, found: str, known: int) -> None:  # noqa: A002 - the wire word
        super().__init__(format, found, known)
        self.format, self.found, self.known = format, found, known

    def __str__(self) -> str:
        return (
            f"the file is {self.format} version {self.found}, this greenroom reads up to "
            f"{self.known}: upgrade greenroom"
        )


class NoUpgradePathError(UsageError):
    """The version is older than ours and there is no converter for it.

    Source: D-144.
    """

    code = "SESSION_FORMAT_NO_UPGRADE_PATH"

    def __init__(self, format: str, found: int, known: str) -> None:  # noqa: A002 - the wire word
        super().__init__(format, found, known)
        self.format, self.found, self.known = format, found, known

    def __str__(self) -> str:
        return f"{self.format} version {self.found} has no upgrade path; readable: {self.known}"


class DamagedLogError(ImportFormatError):
    """A known format, but this part of the file breaks its rules; ``rule`` says which.

    Units: ``line`` counts from 1; 0 stands for the file as a whole.
    Source: D-226, D-228, D-229, S-121.
    """

    def __init__(self, rule: str, line: int, detail: str = "") -> None:
        super().__init__(rule, detail)
        self.args = (rule, line, detail)
        self.line = line

    def __str__(self) -> str:
        where = f"line {self.line}" if self.line else "the file"
        return f"not a readable session log: {where}: {self.rule}: {self.detail}"


class LogTooLargeError(UsageError):
    """A line, the file or the number of events is over the limit of the reader.

    Units: ``line`` counts from 1; 0 stands for the file as a whole.
    """

    code = "SESSION_IMPORT_TOO_LARGE"
    status_hint = 413

    def __init__(self, what: str, line: int, limit: int) -> None:
        super().__init__(what, line, limit)
        self.what, self.line, self.limit = what, line, limit

    def __str__(self) -> str:
        where = f" (line {self.line})" if self.line else ""
        return f"{self.what} is over {self.limit}{where}: raise it with ReadLimits(...)"


class ExtraMissingError(UsageError):
    """A feature needs an optional dependency that is not installed."""

    code = "EXTRA_MISSING"

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(feature, extra)
        self.feature, self.extra = feature, extra

    def __str__(self) -> str:
        return f"{self.feature} needs an extra: pip install 'greenroom[{self.extra}]'"


class NotExportableError(UsageError):
    """The format has no form for something in the log; nothing was written."""

    code = "SESSION_NOT_EXPORTABLE"

    def __init__(self, format: str, seq: int, detail: str) -> None:  # noqa: A002 - the wire word
        super().__init__(format, seq, detail)
        self.format, self.seq, self.detail = format, seq, detail

    def __str__(self) -> str:
        return f"event {self.seq} cannot be written as {self.format}: {self.detail}"


class PathSegmentError(UsageError):
    """An empty text cannot name a folder or a file.

    Source: D-221, D-222.
    """

    code = "PATH_SEGMENT_EMPTY"
    rule = "empty-segment"

    def __str__(self) -> str:
        return "an empty text cannot name a folder or a file"


class EmptyRecordingError(UsageError):
    """The log is readable, but no turn in it has a reply that could be replayed."""

    code = "RECORDING_EMPTY"

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name

    def __str__(self) -> str:
        return f"{self.name} holds no turn with a reply: there is nothing to replay"
