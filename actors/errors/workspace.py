"""What the shell and the file tools refuse; the texts are written for the model that made the call."""

from actors.errors.base import DeniedError, ToolError


class SandboxUnavailableError(ToolError):
    """The sandbox mode cannot be enforced on this machine, so the command was not run."""

    code = "SANDBOX_UNAVAILABLE"

    def __init__(self, mode: str, why: str) -> None:
        super().__init__(mode, why)
        self.mode, self.why = mode, why

    def __str__(self) -> str:
        return (
            f"the command was not run: the sandbox mode {self.mode!r} cannot be enforced here ({self.why}). "
            "Whoever runs the engine must install bubblewrap, or choose the mode 'danger'"
        )


class ShellFailedError(ToolError):
    """The shell itself failed: no process could be started, or one could not be ended."""

    code = "SHELL_FAILED"

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why

    def __str__(self) -> str:
        return f"the shell failed: {self.why}"


class BackgroundUnknownError(ToolError):
    """No background command of that id belongs to the session, or what it gave is no longer kept."""

    code = "SHELL_COMMAND_UNKNOWN"

    def __init__(self, command_id: str, known: tuple[str, ...]) -> None:
        super().__init__(command_id, known)
        self.command_id, self.known = command_id, known

    def __str__(self) -> str:
        known = ", ".join(self.known) or "none"
        return f"no background command {self.command_id!r}; known: {known}"


class BackgroundLimitError(DeniedError):
    """As many background commands run in the session as may."""

    code = "SHELL_COMMAND_LIMIT"

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self.limit = limit

    def __str__(self) -> str:
        return f"{self.limit} background commands run already: stop one with shell_stop first"
