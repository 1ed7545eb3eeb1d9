"""What is wrong with a call's arguments, in lines that a model can act on. Pure."""

from collections.abc import Iterator
from typing import Final

import orjson
from cattrs.errors import (
    BaseValidationError,
    ClassValidationError,
    ForbiddenExtraKeysError,
    IterableValidationError,
)

from actors.json import JsonValue
from actors.ports.tool import ToolOutput
from runtime.tools.structuring import MismatchError, shown

INVALID_ARGS: Final = "TOOL_INVALID_ARGS"
SHOWN_PROBLEMS: Final = 5


def invalid_arguments(tool: str, problems: list[str]) -> ToolOutput:
    """Return the error result that lists the first problems.

    Source: L-45.
    """
    shown: list[JsonValue] = [*problems[:SHOWN_PROBLEMS]]
    lines = [f"- {problem}" for problem in shown]
    if len(problems) > len(shown):
        lines.append(f"- and {len(problems) - len(shown)} more")
    text = "\n".join([f"{INVALID_ARGS}: {tool} was not run; correct its arguments:", *lines])
    return ToolOutput(content=text, is_error=True, code=INVALID_ARGS, meta={"problems": shown})


def no_object(arguments: JsonValue) -> str:
    """Return the problem of arguments that are no object; text is what could not be parsed (D-134)."""
    if not isinstance(arguments, str):
        return f"the arguments must be a JSON object, not {shown(arguments)}"
    try:
        orjson.loads(arguments)
    except orjson.JSONDecodeError as error:
        return f"the arguments must be a JSON object, and this text is no JSON: {error}"
    return "the arguments must be a JSON object, not JSON inside a text"


def problems_of(error: Exception, path: str = "") -> Iterator[str]:
    """Yield one line for each value that does not fit, with its path from the outermost object."""
    match error:
        case ClassValidationError():
            placed, others = error.group_exceptions()
            for inner, place in placed:
                yield from _field_problems(inner, place.name, path)
        case IterableValidationError():
            items, others = error.group_exceptions()
            for inner, item in items:
                yield from problems_of(inner, f"{path}{_step(item.index, path)}")
        case ForbiddenExtraKeysError():
            others = []
            for name in sorted(error.extra_fields):
                yield f"{path}{_step(name, path)}: is unknown"
        case _:
            others = []
            yield f"{path}: {_said(error)}" if path else _said(error)
    for inner in others:
        yield from problems_of(inner, path)


def _field_problems(error: Exception, name: str, path: str) -> Iterator[str]:
    here = f"{path}{_step(name, path)}"
    if isinstance(error, KeyError) and not isinstance(error, BaseValidationError):
        yield f"{here}: is missing"
    else:
        yield from problems_of(error, here)


def _said(error: Exception) -> str:
    """Return the text; validators of attrs put it before a row of objects for programmers."""
    first = error.args[0] if error.args else None
    return first if isinstance(first, str) and not isinstance(error, MismatchError) else str(error)


def _step(place: int | str, path: str) -> str:
    if isinstance(place, int):
        return f"[{place}]"
    return f".{place}" if path else place
