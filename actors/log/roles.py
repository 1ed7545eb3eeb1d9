"""The roles that messages may have.

Source: S-58.
"""

import re
from collections.abc import Callable
from typing import Final

from actors.errors.log import RoleExistsError, RoleInvalidError

STANDARD_ROLES: Final = ("user", "assistant", "toolResult")

_ROLE: Final = re.compile(r"[a-z][a-z0-9-]*/[a-z][a-z0-9-]*")


class MessageRoles:
    """The standard roles and those that extensions registered."""

    def __init__(self) -> None:
        self._registered: dict[str, object] = {}

    def register(self, role: str) -> Callable[[], None]:
        """Add a role and return what takes it away again, and only it; calling that twice is harmless.

        Raises:
            RoleExistsError: the name is taken.
            RoleInvalidError: the name is not two lower-case words with a slash between them.
        """
        if role in STANDARD_ROLES or role in self._registered:
            raise RoleExistsError(role)
        if _ROLE.fullmatch(role) is None:
            raise RoleInvalidError(role)
        registration = object()
        self._registered[role] = registration

        def dispose() -> None:
            if self._registered.get(role) is registration:
                del self._registered[role]

        return dispose

    def registered(self) -> tuple[str, ...]:
        """Return the registered roles in the order of their registration."""
        return tuple(self._registered)
