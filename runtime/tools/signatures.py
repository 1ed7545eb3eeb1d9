"""What the signature of a function asks of a model: its parameters as a schema and as a class.

Pure.
"""

import inspect
import types
import typing
from collections.abc import Callable
from typing import Any, Final

import attrs
from cattrs.errors import BaseValidationError

from actors.errors.tool import ToolParameterError
from actors.json import JsonObject, JsonValue
from actors.ports.tool import ToolContext
from runtime.tools.problems import no_object, problems_of
from runtime.tools.schema import (
    NAMES,
    UnsupportedAnnotationError,
    described,
    object_schema,
    schema_of,
    with_default,
)
from runtime.tools.structuring import CONVERTER

_BY_NAME: Final = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class ArgumentsError(Exception):
    """The arguments do not fit; ``problems`` has one line for each that does not."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__(problems)
        self.problems = problems


@attrs.frozen
class Signature:
    """``schema`` is for the model, ``record`` an attrs class with a field for each of its parameters.

    ``contexts`` are the parameters that receive the :class:`~actors.ports.tool.ToolContext`.
    """

    schema: JsonObject
    record: type[attrs.AttrsInstance]
    contexts: tuple[str, ...]

    def arguments(self, given: JsonValue) -> dict[str, Any]:
        """Return the values of the parameters, by name.

        Raises:
            ArgumentsError: they do not fit.
        """
        if not isinstance(given, dict):
            raise ArgumentsError([no_object(given)])
        try:
            record: object = CONVERTER.structure(given, self.record)
        except BaseValidationError as error:
            raise ArgumentsError(list(problems_of(error))) from None
        return {field.name: getattr(record, field.name) for field in attrs.fields(self.record)}


def read_signature(
    function: Callable[..., Any], tool: str, documented: dict[str, str]
) -> Signature:
    """Return the signature; ``documented`` describes parameters that say nothing themselves.

    Raises:
        ToolParameterError: a parameter has no annotation, or one without a schema.
    """
    properties: JsonObject = {}
    required: list[str] = []
    fields: dict[str, Any] = {}
    contexts: list[str] = []
    for name, parameter in inspect.signature(function).parameters.items():
        annotation = _resolved(function, tool, parameter)
        if annotation is ToolContext:
            contexts.append(name)
            continue
        schema = described(_schema(tool, name, annotation), annotation, documented.get(name, ""))
        properties[name] = with_default(schema, parameter.default)
        fields[name] = _field(parameter, annotation)
        if parameter.default is parameter.empty:
            required.append(name)
    record = attrs.make_class("Arguments", fields, frozen=True, kw_only=True)
    return Signature(object_schema(properties, required), record, tuple(contexts))


def _resolved(function: Callable[..., Any], tool: str, parameter: inspect.Parameter) -> Any:  # noqa: ANN401
    """Return the annotation of a parameter, with every name in it looked up."""
    if parameter.kind not in _BY_NAME:
        raise ToolParameterError(tool, parameter.name, "cannot be given by name")
    if parameter.annotation is parameter.empty:
        raise ToolParameterError(tool, parameter.name, "has no annotation")
    holder = types.SimpleNamespace(__annotations__={"it": parameter.annotation})
    known = getattr(inspect.unwrap(function), "__globals__", {})
    try:
        return typing.get_type_hints(holder, known, NAMES, include_extras=True)["it"]
    except (NameError, TypeError, SyntaxError) as error:
        why = f"is annotated with {parameter.annotation!r}, which cannot be resolved: {error}"
        raise ToolParameterError(tool, parameter.name, why) from None


def _schema(tool: str, name: str, annotation: Any) -> JsonObject:  # noqa: ANN401 - any annotation
    try:
        return schema_of(annotation)
    except UnsupportedAnnotationError as unsupported:
        raise ToolParameterError(tool, name, unsupported.why) from None


def _field(parameter: inspect.Parameter, annotation: Any) -> Any:  # noqa: ANN401 - an attrs field
    default = attrs.NOTHING if parameter.default is parameter.empty else parameter.default
    return attrs.field(type=annotation, default=default, alias=parameter.name)
