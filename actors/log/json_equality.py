"""Equality of JSON values.

Source: D-16.
"""

from typing import Any


def json_equal(one: object, other: object) -> bool:
    """Return whether two JSON values are equal: ``1`` equals ``1.0``, never ``true``; key order is free."""
    pairs: list[tuple[Any, Any]] = [(one, other)]
    while pairs:
        left, right = pairs.pop()
        if isinstance(left, dict) and isinstance(right, dict):
            if left.keys() != right.keys():
                return False
            pairs.extend((value, right[key]) for key, value in left.items())
        elif isinstance(left, list) and isinstance(right, list):
            if len(left) != len(right):
                return False
            pairs.extend(zip(left, right, strict=True))
        elif not _scalars_equal(left, right):
            return False
    return True


def _scalars_equal(left: object, right: object) -> bool:
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    return bool(left == right)
