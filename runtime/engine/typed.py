"""Typed results: the reply's text as a value of the type that was asked for."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import attrs
import cattrs
import orjson

from actors.errors.session import ResultTypeError
from actors.session.results import TurnResult

T = TypeVar("T")
_CONVERTER = cattrs.Converter(forbid_extra_keys=True)


async def typed_result(
    result: TurnResult[object],
    wanted: type[T],
    again: Callable[[str], Awaitable[TurnResult[object]]],
) -> TurnResult[T]:
    """Return ``result`` with its value; a reply that does not fit is shown to the model once more.

    Raises:
        ResultTypeError: the second reply did not fit either.
    """
    if not result.completed:
        return attrs.evolve(result, value=None)  # type: ignore[return-value]  # no value: it holds any T
    try:
        value = _read(result.text, wanted)
    except ResultTypeError as misfit:
        repeated = await again(
            f"Your reply did not fit the type {wanted.__name__}: {misfit.why}. "
            "Reply with the corrected JSON alone."
        )
        value = _read(repeated.text, wanted)
        result = repeated
    return attrs.evolve(result, value=value)  # type: ignore[return-value]  # evolve keeps the old parameter


def _read(text: str, wanted: type[T]) -> T:
    body = text.strip().removeprefix("```json").removeprefix("```").removesuffix("```")
    try:
        return _CONVERTER.structure(orjson.loads(body), wanted)
    except (orjson.JSONDecodeError, cattrs.BaseValidationError, ValueError, TypeError) as misfit:
        raise ResultTypeError(wanted.__name__, _why(misfit)) from misfit


def _why(misfit: Exception) -> str:
    if isinstance(misfit, cattrs.BaseValidationError):
        return "; ".join(cattrs.transform_error(misfit))
    return str(misfit)
