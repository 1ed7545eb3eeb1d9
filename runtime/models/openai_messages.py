"""What the bodies of both OpenAI requests have in common. Pure."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from actors.json import JsonObject
from runtime.models.provider_config import OFF
from runtime.models.provider_content import Image, Shown

EFFORTS: Final = {OFF: "none", "max": "xhigh"}
"""Reasoning efforts of ours that OpenAI calls otherwise."""
NO_OUTPUT: Final = "(no output)"
"""What stands for a result without any text."""


def said(role: str, text: str) -> Iterator[JsonObject]:
    """Yield the message of a role; none when it says nothing."""
    if text:
        yield {"role": role, "content": text}


def said_by_user(
    pieces: Sequence[Shown], part: Callable[[Shown], JsonObject]
) -> Iterator[JsonObject]:
    """Yield the user's message: parts in the form that ``part`` gives them when there is a picture, otherwise text."""
    if any(isinstance(piece, Image) for piece in pieces):
        yield {"role": "user", "content": [part(piece) for piece in pieces]}
    else:
        yield from said("user", "\n".join(p.text for p in pieces if not isinstance(p, Image)))
