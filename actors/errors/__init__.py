"""The one tree of errors: a family says who must act, the code is the identity.

Families: :class:`UsageError` (the caller), :class:`DeniedError` (whoever grants), :class:`StoreError`
(whoever runs the store), :class:`ModelError` (the provider or its settings), :class:`ToolError` (the
tool's author), :class:`ExtensionError` (the extension's author), :class:`ActorError` (try again, or
look at the session that failed).

Source: K-25.
"""

from actors.errors.base import (
    ActorError,
    DeniedError,
    ExtensionError,
    GreenroomError,
    ModelError,
    StoreError,
    ToolError,
    UsageError,
)

__all__ = [
    "ActorError",
    "DeniedError",
    "ExtensionError",
    "GreenroomError",
    "ModelError",
    "StoreError",
    "ToolError",
    "UsageError",
]
