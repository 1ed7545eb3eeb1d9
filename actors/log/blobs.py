"""Blobs: content that stands outside the log and is named in it by its digest.

An object in the data of an event names a blob when it has the key ``blob`` with a digest: the block of an
image or a file, the ``overflow`` of a tool result. Whoever stores the event keeps the blob with it.

Shape: ``"blob": "sha256:<64 hex digits>"``.

Source: K-4, K-5.
"""

import re
from collections.abc import Iterator
from hashlib import sha256
from typing import Final, TypeAlias

from actors.json import JsonValue
from actors.log.plain import MAX_DEPTH

Digest: TypeAlias = str
"""``sha256:`` and 64 lower-case hex digits."""

_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}\Z")
BLOB_MARK: Final = b'"blob":"sha256:'
_NAMED: Final = re.compile(rb'"blob":"(sha256:[0-9a-f]{64})"')
"""A quote inside a text is escaped, so this is found in no text."""


def is_digest(value: object) -> bool:
    """Return whether ``value`` has the form of a digest."""
    return isinstance(value, str) and _DIGEST.match(value) is not None


def names_blobs(body: bytes) -> bool:
    """Return whether the JSON text of an event's data names any blob."""
    return BLOB_MARK in body


def named_blobs(body: bytes) -> tuple[Digest, ...]:
    """Return the digests that the JSON text of an event's data names, each once, in order."""
    if BLOB_MARK not in body:
        return ()
    return tuple(dict.fromkeys(found.decode() for found in _NAMED.findall(body)))


def blobs_of(value: object) -> Iterator[Digest]:
    """Yield the digests that a value names, before it is written; in no order, whatever is nested in what."""
    todo, seen = [value], set[int]()
    while todo:
        item = todo.pop()
        if not isinstance(item, dict | list) or id(item) in seen:
            continue
        seen.add(id(item))
        if isinstance(item, dict):
            name = item.get("blob")
            if isinstance(name, str) and is_digest(name):
                yield name
            todo.extend(item.values())
        else:
            todo.extend(item)


def without_names(value: JsonValue) -> JsonValue:
    """Return a value that names no blob: what a stranger made may look like a name, and is none.

    A value without names is returned itself. What is deeper than a log can hold is left as it is, for the
    log to refuse.
    """
    return value if next(blobs_of(value), None) is None else _unnamed(value, 0)


def _unnamed(value: JsonValue, depth: int) -> JsonValue:
    if depth > MAX_DEPTH:
        return value
    if isinstance(value, list):
        return [_unnamed(child, depth + 1) for child in value]
    if not isinstance(value, dict):
        return value
    named = is_digest(value.get("blob"))
    return {
        key: _unnamed(child, depth + 1)
        for key, child in value.items()
        if not (named and key == "blob")
    }


def digest_of(content: bytes) -> Digest:
    """Return the digest of content that is there as a whole."""
    return f"sha256:{sha256(content).hexdigest()}"


class Digester:
    """Computes the digest of content that comes in pieces."""

    __slots__ = ("_hash", "size_bytes")

    def __init__(self) -> None:
        self._hash = sha256()
        self.size_bytes = 0

    def update(self, piece: bytes) -> None:
        """Take the next piece in."""
        self._hash.update(piece)
        self.size_bytes += len(piece)

    @property
    def digest(self) -> Digest:
        """The digest of what came so far."""
        return f"sha256:{self._hash.hexdigest()}"
