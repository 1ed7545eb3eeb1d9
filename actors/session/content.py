"""The content of a message as it may come from outside."""

from actors.errors.input import ContentError
from actors.json import JsonValue


def content_value(content: object) -> JsonValue:
    """Return the content when it is text or a list of blocks, and not empty.

    Raises:
        ContentError: it is neither.
    """
    if isinstance(content, str):
        if not content:
            raise ContentError("is empty")
        return content
    if not isinstance(content, list) or not content:
        raise ContentError("is neither text nor a list of blocks")
    if not all(isinstance(b, dict) and isinstance(b.get("type"), str) for b in content):
        raise ContentError("has a block without a type")
    return content
