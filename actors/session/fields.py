"""Checks of the fields of messages, made where a message is made: what cannot be meant never reaches an actor."""

from collections.abc import Callable
from typing import Any, TypeAlias

import attrs

from actors.errors.message import MessageFieldError
from actors.log.events import Hide, Replace, SurfaceOp

Check: TypeAlias = Callable[[Any, "attrs.Attribute[Any]", Any], None]


def one_of(*words: str) -> Check:
    """Return a check that the field is one of the words."""

    def check(message: object, field: "attrs.Attribute[Any]", value: object) -> None:
        if type(value) is not str or value not in words:
            wanted = " or ".join(map(repr, words))
            raise MessageFieldError(type(message).__name__, field.name, value, wanted)

    return check


def tuple_of(kind: type, wanted: str) -> Check:
    """Return a check that the field is a tuple in which each is of that very type."""

    def check(message: object, field: "attrs.Attribute[Any]", value: object) -> None:
        if type(value) is not tuple or any(type(item) is not kind for item in value):
            raise MessageFieldError(type(message).__name__, field.name, value, wanted)

    return check


def number(message: object, field: "attrs.Attribute[Any]", value: object) -> None:
    """Check that the field is an integer."""
    if type(value) is not int:
        raise MessageFieldError(type(message).__name__, field.name, value, "an integer")


def truth(message: object, field: "attrs.Attribute[Any]", value: object) -> None:
    """Check that the field is True or False."""
    if type(value) is not bool:
        raise MessageFieldError(type(message).__name__, field.name, value, "True or False")


def number_or_none(message: object, field: "attrs.Attribute[Any]", value: object) -> None:
    """Check that the field is an integer, or None."""
    if value is not None and type(value) is not int:
        raise MessageFieldError(type(message).__name__, field.name, value, "a seq, or None")


def text_or_none(message: object, field: "attrs.Attribute[Any]", value: object) -> None:
    """Check that the field is text that every reader of the log can read, or None."""
    if value is not None and not _is_text(value):
        raise MessageFieldError(type(message).__name__, field.name, value, "text, or None")


def text(message: object, field: "attrs.Attribute[Any]", value: object) -> None:
    """Check that the field is text that every reader of the log can read."""
    if not _is_text(value):
        raise MessageFieldError(type(message).__name__, field.name, value, "text")


def text_or_number(message: object, field: "attrs.Attribute[Any]", value: object) -> None:
    """Check that the field is text, or a seq."""
    if type(value) is not int and not _is_text(value):
        raise MessageFieldError(type(message).__name__, field.name, value, "text, or a seq")


def operation_or_none(message: object, field: "attrs.Attribute[Any]", value: object) -> None:
    """Check that the field is an operation on the surface between two seqs, or None."""
    if value is None:
        return
    if not isinstance(value, Replace | Hide) or not _between_seqs(value):
        raise MessageFieldError(type(message).__name__, field.name, value, "Replace or Hide")


def _between_seqs(op: SurfaceOp) -> bool:
    return type(op.start_seq) is int and type(op.end_seq) is int


def _is_text(value: object) -> bool:
    if type(value) is not str:
        return False
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:  # an unpaired surrogate
        return False
    return True
