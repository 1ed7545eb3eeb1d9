"""The one converter between JSON and the values that typed functions take and give.

Strict: JSON types are taken at their word, so ``"3"`` is no number and ``true`` is no integer. ``3.0`` is
the integer 3, as JSON schema has it, and an integer may stand for a number.
"""

import json
from collections.abc import Callable, Iterable
from enum import Enum
from types import NoneType
from typing import Any, Final, Literal, TypeAlias, get_args, get_origin

import attrs
from cattrs import Converter
from cattrs.errors import BaseValidationError, IterableValidationError, IterableValidationNote
from cattrs.gen import make_dict_structure_fn, override

from runtime.tools.schema import ARRAYS, OBJECTS, UNIONS, field_types

Hook: TypeAlias = Callable[[Any, Any], Any]

CONVERTER: Final = Converter(unstruct_collection_overrides={tuple: list})
_SHOWN_CHARS: Final = 40


class MismatchError(Exception):
    """A value is not what was asked for."""

    def __init__(self, wanted: str, value: object) -> None:
        super().__init__(wanted, value)
        self.wanted, self.value = wanted, value

    def __str__(self) -> str:
        return f"must be {self.wanted}, not {shown(self.value)}"


def shown(value: object) -> str:
    """Return a short text of a JSON value."""
    match value:
        case dict():
            return "an object"
        case list():
            return f"an array of {len(value)}"
        case str() if len(value) > _SHOWN_CHARS:
            return f"{_quoted(value[:_SHOWN_CHARS])}..."
        case _:
            return _quoted(value)


def _quoted(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _scalar(kind: type, wanted: str, convert: Callable[[Any], Any] = lambda value: value) -> None:
    """Take exactly ``kind``; the hook also sees enums that inherit from it."""

    def structure(value: Any, cls: Any) -> Any:  # noqa: ANN401 - a hook of the converter
        if cls is not kind:
            return _enum(value, cls)
        taken = convert(value)
        if type(taken) is not kind:
            raise MismatchError(wanted, value)
        return taken

    CONVERTER.register_structure_hook(kind, structure)


def _whole(value: Any) -> Any:  # noqa: ANN401 - any JSON
    return int(value) if type(value) is float and value.is_integer() else value


def _number(value: Any) -> Any:  # noqa: ANN401 - any JSON
    return float(value) if type(value) is int else value


def _enum(value: Any, cls: type[Enum]) -> Any:  # noqa: ANN401 - any JSON
    return _one_of(value, [(member.value, member) for member in cls])


def _literal(value: Any, annotation: Any) -> Any:  # noqa: ANN401 - any JSON
    members = get_args(annotation)
    return _one_of(value, [(m.value if isinstance(m, Enum) else m, m) for m in members])


def _one_of(value: Any, members: list[tuple[Any, Any]]) -> Any:  # noqa: ANN401 - any JSON
    for plain, member in members:
        if type(plain) is type(value) and plain == value:
            return member
    known = ", ".join(shown(plain) for plain, _ in members)
    raise MismatchError(f"one of {known}", value)


def _each(cls: Any, items: Iterable[tuple[Any, Any, Hook, Any]]) -> list[Any]:  # noqa: ANN401 - a type
    """Structure (place, value, hook, type) each; all that fail are told at once, with their places."""
    made, failed = [], []
    for place, value, hook, kind in items:
        try:
            made.append(hook(value, kind))
        except (MismatchError, BaseValidationError) as error:
            error.add_note(IterableValidationNote("", place, kind))
            failed.append(error)
    if failed:
        raise IterableValidationError("", failed, cls)
    return made


def _array_hook(annotation: Any) -> Hook:  # noqa: ANN401 - a type
    kind = next(iter(get_args(annotation)), Any)
    hook = CONVERTER.get_structure_hook(kind)
    make = tuple if _origin(annotation) is tuple else list

    def structure(value: Any, cls: Any) -> Any:  # noqa: ANN401 - a hook of the converter
        if type(value) is not list:
            raise MismatchError("an array", value)
        return make(_each(cls, ((i, item, hook, kind) for i, item in enumerate(value))))

    return structure


def _tuple_hook(annotation: Any) -> Hook:  # noqa: ANN401 - a type
    kinds = get_args(annotation)
    if not kinds or kinds[-1] is Ellipsis:
        return _array_hook(annotation)
    hooks = [CONVERTER.get_structure_hook(kind) for kind in kinds]

    def structure(value: Any, cls: Any) -> Any:  # noqa: ANN401 - a hook of the converter
        if type(value) is not list or len(value) != len(kinds):
            raise MismatchError(f"an array of {len(kinds)}", value)
        return tuple(_each(cls, zip(range(len(kinds)), value, hooks, kinds, strict=True)))

    return structure


def _object_hook(annotation: Any) -> Hook:  # noqa: ANN401 - a type
    kind = next(iter(get_args(annotation)[1:]), Any)
    hook = CONVERTER.get_structure_hook(kind)

    def structure(value: Any, cls: Any) -> Any:  # noqa: ANN401 - a hook of the converter
        if type(value) is not dict:
            raise MismatchError("an object", value)
        made = _each(cls, ((key, item, hook, kind) for key, item in value.items()))
        return dict(zip(value, made, strict=True))

    return structure


def _class_hook(cls: Any) -> Hook:  # noqa: ANN401 - an attrs class
    # The types come from the schema's resolver, so that schema and structure never disagree.
    overrides: dict[str, Any] = {
        name: override(struct_hook=_bound(CONVERTER.get_structure_hook(kind), kind))
        for name, kind in field_types(cls).items()
    }
    inner = make_dict_structure_fn(cls, CONVERTER, _cattrs_forbid_extra_keys=True, **overrides)

    def structure(value: Any, cls: Any) -> Any:  # noqa: ANN401 - a hook of the converter
        if type(value) is not dict:
            raise MismatchError("an object", value)
        return inner(value, cls)

    return structure


def _bound(hook: Hook, kind: Any) -> Hook:  # noqa: ANN401 - a type
    return lambda value, _: hook(value, kind)


def _union_hook(annotation: Any) -> Hook:  # noqa: ANN401 - a type
    # An integer fits a number as well: whole numbers stay whole when both are allowed.
    arms = sorted(get_args(annotation), key=lambda arm: arm is float)
    hooks = [(CONVERTER.get_structure_hook(arm), arm) for arm in arms]

    def structure(value: Any, _: Any) -> Any:  # noqa: ANN401 - a hook of the converter
        failed = []
        for hook, arm in hooks:
            try:
                return hook(value, arm)
            except (MismatchError, BaseValidationError) as error:
                failed.append(error)
        raise _closest(failed, value)

    return structure


def _closest(
    failed: list[MismatchError | BaseValidationError], value: object
) -> MismatchError | BaseValidationError:
    """Return the most helpful failure: of the arm with the right outer shape and the fewest problems."""
    shaped = [error for error in failed if isinstance(error, BaseValidationError)]
    if shaped:
        return min(shaped, key=_leaves)
    wanted = [error.wanted for error in failed if isinstance(error, MismatchError)]
    return MismatchError(" or ".join(dict.fromkeys(wanted)), value)


def _origin(annotation: Any) -> Any:  # noqa: ANN401 - a type
    return get_origin(annotation) or annotation


def _plain(value: Any) -> Any:  # noqa: ANN401 - what a field of the type object holds
    return value if type(value) is object else CONVERTER.unstructure(value, type(value))


def _leaves(error: BaseException) -> int:
    if isinstance(error, BaseExceptionGroup):
        return sum(_leaves(inner) for inner in error.exceptions)
    return 1


_scalar(str, "text")
_scalar(bool, "true or false")
_scalar(int, "an integer", _whole)
_scalar(float, "a number", _number)
_scalar(NoneType, "null")
CONVERTER.register_structure_hook_func(lambda t: t is object, lambda value, _: value)
CONVERTER.register_structure_hook_func(lambda t: isinstance(t, type) and issubclass(t, Enum), _enum)
CONVERTER.register_structure_hook_func(lambda t: _origin(t) is Literal, _literal)
CONVERTER.register_structure_hook_factory(lambda t: _origin(t) in ARRAYS, _array_hook)
CONVERTER.register_structure_hook_factory(lambda t: _origin(t) is tuple, _tuple_hook)
CONVERTER.register_structure_hook_factory(lambda t: _origin(t) in OBJECTS, _object_hook)
CONVERTER.register_structure_hook_factory(lambda t: _origin(t) in UNIONS, _union_hook)
CONVERTER.register_structure_hook_factory(attrs.has, _class_hook)
# Without this an enum that inherits from str would pass as text.
CONVERTER.register_unstructure_hook(
    str, lambda value: value.value if isinstance(value, Enum) else value
)
CONVERTER.register_unstructure_hook_func(lambda t: t is object, _plain)
