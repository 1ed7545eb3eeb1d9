"""Typed functions as tools: the annotations say what a model may give, the docstring what for.

``@tool(effect="read")`` above ``async def weather(city: str, days: int = 1) -> Forecast`` is a tool with the
parameters ``city`` and ``days``.
"""

import functools
import inspect
import math
import re
from collections.abc import Callable
from typing import Any, Final, Generic, ParamSpec, TypeVar, get_args, overload

import attrs
import trio

from actors.errors.tool import ToolDefinitionError
from actors.json import JsonValue
from actors.ports.model import ToolSchema
from actors.ports.tool import ToolContext, ToolOutput
from actors.rules.policy import Effect
from runtime.tools.docstrings import read_docstring
from runtime.tools.problems import invalid_arguments
from runtime.tools.returned import output_of
from runtime.tools.signatures import ArgumentsError, Signature, read_signature

P = ParamSpec("P")
R = TypeVar("R")

DEFAULT_TIMEOUT_S: Final = 60.0
SHORTEST_TIMEOUT_S: Final = 0.1
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")


class FunctionTool(Generic[P, R]):
    """A function as an :class:`actors.ports.tool.Tool`; called directly it is still the function."""

    schema: ToolSchema
    effect: Effect
    timeout_s: float | None

    def __init__(
        self,
        function: Callable[P, R],
        schema: ToolSchema,
        signature: Signature,
        *,
        effect: Effect,
        timeout_s: float | None,
    ) -> None:
        functools.update_wrapper(self, function)
        self.schema, self.effect, self.timeout_s = schema, effect, timeout_s
        self._function, self._signature = function, signature
        self._is_async = inspect.iscoroutinefunction(function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function itself, as a test of it wants to."""
        return self._function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<tool {self.schema.name} ({self.effect})>"

    async def call(self, arguments: JsonValue, context: ToolContext) -> ToolOutput:
        """Check the arguments, run the function and return what it returned as text.

        ``arguments`` is the parsed JSON, or the raw text when it was none. Arguments that do not fit
        give an error output with the code ``TOOL_INVALID_ARGS``, and the function is not run.

        Raises:
            ToolResultError: the function returned what is no JSON.
            Exception: whatever the function raises.

        Cancellation:
            An ``async def`` is cancelled where it waits. A plain ``def`` runs in a thread that is
            waited for; it may call ``trio.from_thread.check_cancelled()`` to end early.
        """
        try:
            given = self._signature.arguments(arguments)
        except ArgumentsError as error:
            return invalid_arguments(self.schema.name, error.problems)
        return output_of(self.schema.name, await self._run(given, context))

    async def _run(self, given: dict[str, Any], context: ToolContext) -> object:
        function: Callable[..., Any] = self._function
        if self._is_async:
            returned: object = await function(**given, **self._contexts(context))
            return returned
        threaded = self._contexts(_from_thread(context))
        return await trio.to_thread.run_sync(functools.partial(function, **given, **threaded))

    def _contexts(self, context: ToolContext) -> dict[str, ToolContext]:
        return dict.fromkeys(self._signature.contexts, context)


@overload
def tool(function: Callable[P, R], /) -> FunctionTool[P, R]: ...
@overload
def tool(
    *, effect: Effect = ..., timeout_s: float | None = ..., name: str | None = ...
) -> Callable[[Callable[P, R]], FunctionTool[P, R]]: ...
def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    effect: Effect = "exec",
    timeout_s: float | None = DEFAULT_TIMEOUT_S,
    name: str | None = None,
) -> Any:
    """Turn a function into a tool; use as ``@tool`` or ``@tool(effect="read", ...)``.

    An ``async def`` runs on the loop, a plain ``def`` in a thread. A parameter annotated with
    :class:`~actors.ports.tool.ToolContext` receives the context and is not shown to the model.

    Args:
        function: when used without brackets.
        effect: ``read`` may run beside others and needs no approval; what is not said is ``exec``.
        timeout_s: the budget of one call, at least 0.1 s; None for no limit.
        name: for the model; the function's own when it is not given.

    Raises:
        ToolParameterError: a parameter cannot be described to a model.
        ToolDefinitionError: the name, the effect, the budget or the kind of function is not allowed.
    """
    if function is None:
        return functools.partial(_make, effect=effect, timeout_s=timeout_s, name=name)
    return _make(function, effect=effect, timeout_s=timeout_s, name=name)


def _make(
    function: Callable[P, R], *, effect: Effect, timeout_s: float | None, name: str | None
) -> FunctionTool[P, R]:
    known_as = name or str(getattr(function, "__name__", function))
    _check(known_as, function, effect)
    documentation = read_docstring(function.__doc__)
    signature = read_signature(function, known_as, documentation.parameters)
    schema = ToolSchema(known_as, documentation.description, signature.schema)
    budget_s = _budget(known_as, timeout_s)
    return FunctionTool(function, schema, signature, effect=effect, timeout_s=budget_s)


def _check(name: str, function: Callable[..., Any], effect: str) -> None:
    if not callable(function):
        raise ToolDefinitionError(name, "decorate a function")
    if _NAME.match(name) is None:
        raise ToolDefinitionError(name, "its name must be 1 to 64 of A-Z a-z 0-9 _ -")
    if effect not in get_args(Effect):
        raise ToolDefinitionError(name, f"effect={effect!r} is not read, write or exec")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise ToolDefinitionError(name, "it yields; a tool returns its result once")


def _budget(name: str, timeout_s: float | None) -> float | None:
    """Return the budget.

    Source: L-46.
    """
    if timeout_s is None:
        return None
    if not 0 < timeout_s < math.inf:
        raise ToolDefinitionError(name, f"timeout_s={timeout_s} is no positive number of seconds")
    return max(timeout_s, SHORTEST_TIMEOUT_S)


def _from_thread(context: ToolContext) -> ToolContext:
    """Return the context for a function in a thread: what touches the loop is handed over to it."""
    return attrs.evolve(
        context, progress=lambda value: trio.from_thread.run_sync(context.progress, value)
    )
