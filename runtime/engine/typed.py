"""Typed results: the reply's text as a value of the type that was asked for."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import attrs
import orjson
from cattrs.errors import BaseValidationError

from actors.errors.session import ResultTypeError, ResultTypeUnsupportedError
from actors.session.results import TurnResult
from runtime.tools.problems import problems_of
from runtime.tools.schema import UnsupportedAnnotationError, schema_of
from runtime.tools.structuring import CONVERTER, MismatchError

T = TypeVar("T")


def check_wanted(wanted: type[object]) -> None:
    """See that a reply can be read as ``wanted``, before a turn is spent on it.

    Raises:
        ResultTypeUnsupportedError: JSON cannot be read as this type.
    """
    try:
        schema_of(wanted)
    except UnsupportedAnnotationError as unsupported:
        raise ResultTypeUnsupportedError(_named(wanted), unsupported.why) from None


async def typed_result(
    result: TurnResult[object],
    wanted: type[T],
    again: Callable[[str], Awaitable[TurnResult[object]]],
) -> TurnResult[T]:
    """Return ``result`` with its value; a reply that does not fit is shown to the model once more.

    A turn that did not complete has no value.

    Raises:
        ResultTypeError: the second reply did not fit either.
    """
    value: T | None = None
    if result.completed:
        try:
            value = _read(result.text, wanted)
        except ResultTypeError as misfit:
            result = await again(
                f"Your reply did not fit the type {misfit.wanted}: {misfit.why}. "
                "Reply with the corrected JSON alone."
            )
            value = _read(result.text, wanted) if result.completed else None
    return attrs.evolve(result, value=value)  # type: ignore[return-value]  # evolve keeps the old parameter


def _read(text: str, wanted: type[T]) -> T:
    body = text.strip().removeprefix("```json").removeprefix("```").removesuffix("```")
    try:
        return CONVERTER.structure(orjson.loads(body), wanted)
    except orjson.JSONDecodeError as no_json:
        raise ResultTypeError(_named(wanted), str(no_json)) from no_json
    except (MismatchError, BaseValidationError) as misfit:
        raise ResultTypeError(_named(wanted), "; ".join(problems_of(misfit))) from misfit


def _named(wanted: object) -> str:
    return wanted.__name__ if isinstance(wanted, type) else str(wanted)
