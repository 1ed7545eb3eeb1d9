"""What a tool's author can get wrong."""

from actors.errors.base import ToolError, UsageError


class ToolDefinitionError(UsageError):
    """The function cannot be a tool as it is declared.

    Source: L-46.
    """

    code = "TOOL_DEFINITION_INVALID"

    def __init__(self, tool: str, why: str) -> None:
        super().__init__(tool, why)
        self.tool, self.why = tool, why

    def __str__(self) -> str:
        return f"{self.tool} cannot be a tool: {self.why}"


class ToolParameterError(ToolDefinitionError):
    """The model cannot be told what the parameter takes."""

    code = "TOOL_PARAMETER_UNSUPPORTED"

    def __init__(self, tool: str, parameter: str, why: str) -> None:
        super().__init__(tool, why)
        self.args = (tool, parameter, why)
        self.parameter = parameter

    def __str__(self) -> str:
        return f"{self.tool} cannot be a tool: its parameter {self.parameter!r} {self.why}"


class ToolResultError(ToolError):
    """The tool returned something that is no JSON; what it did has happened all the same.

    Source: S-31, S-32.
    """

    code = "TOOL_RESULT_INVALID"

    def __init__(self, tool: str, path: str, why: str) -> None:
        super().__init__(tool, path, why)
        self.tool, self.path, self.why = tool, path, why

    def __str__(self) -> str:
        return f"{self.tool} returned what is no JSON: {self.path} {self.why}"
