"""Which values orjson writes exactly as the log wants them.

orjson alone is no validator: it turns NaN into null, takes tuples, UUIDs, enums and ready-made
fragments, and writes ``1.0`` where the log's text has ``1``. With :data:`OPTIONS` it refuses everything
else that is not plain JSON, so what is left to look at are the types of the nodes.

Source: D-10, D-11, D-15, S-36, K-36.
"""

from types import NoneType
from typing import Any, Final

import orjson

OPTIONS: Final = (
    orjson.OPT_PASSTHROUGH_SUBCLASS
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_STRICT_INTEGER
)
"""Subclasses, dataclasses, dates and integers beyond 2^53-1 are errors."""

MAX_DEPTH: Final = 200
"""Containers inside each other, the outermost counted."""

SCALARS: Final = frozenset((str, int, bool, NoneType))
"""The exact types that need no second look."""

_FRACTION_FROM: Final = 1e-4
_FRACTION_BELOW: Final = 1e15


def is_plain(value: object) -> bool:
    """Return whether orjson's text of ``value`` is the log's text of it.

    ``value`` must have passed ``orjson.dumps`` with :data:`OPTIONS`. False means: look closer, it may
    still be writable.
    """
    nodes: list[Any] = [value]
    if type(value) is not dict and type(value) is not list:
        nodes = [nodes]
    for node in nodes:  # grows while it is read: one flat loop is what keeps an append cheap
        for child in node.values() if type(node) is dict else node:
            kind = type(child)
            if kind is str or kind is int:
                continue
            if kind is dict or kind is list:
                nodes.append(child)
            elif kind not in SCALARS and not (kind is float and is_plain_fraction(child)):
                return False
    return len(nodes) <= MAX_DEPTH or depth(value, MAX_DEPTH) <= MAX_DEPTH


def is_plain_fraction(number: float) -> bool:
    """Return whether every JSON writer has the same text for ``number``: no exponent, no trailing zero."""
    return _FRACTION_FROM <= abs(number) < _FRACTION_BELOW and number % 1 != 0


def depth(value: object, stop: int) -> int:
    """Return how many containers are inside each other; gives up above ``stop`` (cycles end there)."""
    level, found = [value], 0
    while found <= stop:
        level = [node for node in level if type(node) is dict or type(node) is list]
        if not level:
            break
        found += 1
        level = [
            child
            for node in level
            for child in (node.values() if isinstance(node, dict) else _items(node))
        ]
    return found


def _items(node: Any) -> Any:  # noqa: ANN401 - a list of anything
    return node
