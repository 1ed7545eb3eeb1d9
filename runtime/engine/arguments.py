"""Checks of what the verbs that read are asked for, before a store is asked."""

from typing import Final

from actors.errors.message import MessageFieldError

_LARGEST: Final = 2**53 - 1
"""The largest integer that every reader of JSON keeps."""


def check_whole(verb: str, **named: object) -> None:
    """Check that each argument is a whole number, 0 or above, or None.

    Raises:
        MessageFieldError: one of them is not.
    """
    for name, value in named.items():
        if value is not None and not _is_whole(value):
            raise MessageFieldError(verb, name, value, "a whole number, 0 or above")


def check_limit(verb: str, limit: object) -> None:
    """Check that ``limit`` is a number above zero.

    Raises:
        MessageFieldError: it is not.
    """
    if not _is_whole(limit) or limit == 0:
        raise MessageFieldError(verb, "limit", limit, "a number above zero")


def _is_whole(value: object) -> bool:
    return type(value) is int and 0 <= value <= _LARGEST
