"""What a typed function returned, as a tool's output. Pure."""

import math
from typing import Final

import orjson

from actors.errors.tool import ToolResultError
from actors.log.codec import scalar_fault
from actors.ports.tool import ToolOutput
from runtime.tools.structuring import CONVERTER

DONE: Final = "ok"
"""What a model reads when there is nothing to say."""
_BITS: Final = 64


def output_of(tool: str, value: object) -> ToolOutput:
    """Return ``value`` as output: text as it is, None as ``ok``, everything else as compact JSON text.

    A :class:`~actors.ports.tool.ToolOutput` is passed on. attrs classes become objects, enums their
    values, tuples arrays.

    Raises:
        ToolResultError: it cannot be written as JSON; the path names the first such place.
    """
    if isinstance(value, ToolOutput):
        return value
    if value is None:
        return ToolOutput(content=DONE)
    try:
        plain = CONVERTER.unstructure(value)
        if isinstance(plain, str):
            return ToolOutput(content=str(plain))
        _check(tool, plain, "result")
        return ToolOutput(content=orjson.dumps(plain).decode())
    except (RecursionError, orjson.JSONEncodeError):
        # After the check nothing is left that orjson refuses but its own limit of depth.
        raise ToolResultError(tool, "result", "contains itself, or is too deep") from None


def _check(tool: str, value: object, path: str) -> None:
    """Look at every place before orjson does, which would write NaN as null and much else silently."""
    if type(value) is dict:
        for key, child in value.items():
            if type(key) is not str or scalar_fault(key):
                raise ToolResultError(tool, path, f"has the key {key!r}, which is no JSON text")
            _check(tool, child, f"{path}.{key}")
    elif type(value) is list:
        for index, child in enumerate(value):
            _check(tool, child, f"{path}[{index}]")
    else:
        why = _number_fault(value) if type(value) in {int, float} else scalar_fault(value)
        if why is not None:
            raise ToolResultError(tool, path, why)


def _number_fault(value: object) -> str | None:
    if isinstance(value, float):
        return None if math.isfinite(value) else f"is {value}"
    fits = isinstance(value, int) and -(1 << (_BITS - 1)) <= value < 1 << _BITS
    return None if fits else "is an integer of more than 64 bits: return it as text"
