"""Checks of the fields of messages, made where a message is made: what cannot be meant never reaches an actor."""

from collections.abc import Callable
from typing import Any, TypeAlias

import attrs

from actors.errors.message import MessageFieldError

Check: TypeAlias = Callable[[Any, "attrs.Attribute[Any]", Any], None]


def one_of(*words: str) -> Check:
    """Return a check that the field is one of the words."""

    def check(message: object, field: "attrs.Attribute[Any]", value: object) -> None:
        if value not in words:
            wanted = " or ".join(map(repr, words))
            raise MessageFieldError(type(message).__name__, field.name, value, wanted)

    return check


def number_or_none(message: object, field: "attrs.Attribute[Any]", value: object) -> None:
    """Check that the field is an integer, or None."""
    if value is not None and type(value) is not int:
        raise MessageFieldError(type(message).__name__, field.name, value, "a seq, or None")


def text_or_none(message: object, field: "attrs.Attribute[Any]", value: object) -> None:
    """Check that the field is text, or None."""
    if value is not None and not isinstance(value, str):
        raise MessageFieldError(type(message).__name__, field.name, value, "text, or None")
