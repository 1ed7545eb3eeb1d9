"""The names things have. All are plain strings; what is promised of each is said here.

A session id is 1 to 200 characters of ``A-Z a-z 0-9 . _ -``, and neither ``.`` nor ``..``: it can stand
in a path, a URL and a column without being encoded, so two different ids never share storage.

Source: S-46 of the scenarios, D-221.
"""

import re
from typing import TypeAlias

from actors.errors import UsageError

SessionId: TypeAlias = str
CallId: TypeAlias = str
AskId: TypeAlias = str
MessageId: TypeAlias = str

_SESSION_ID = re.compile(r"(?!\.{1,2}\Z)[A-Za-z0-9._-]{1,200}\Z")


class SessionIdError(UsageError):
    """The text cannot name a session."""

    code = "SESSION_ID_INVALID"

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f"{self.text[:80]!r} cannot name a session: use 1 to 200 of A-Z a-z 0-9 . _ -"


def check_session_id(text: object) -> SessionId:
    """Return ``text`` when it can name a session.

    Raises:
        SessionIdError: it cannot.
    """
    if not isinstance(text, str):
        raise SessionIdError(type(text).__name__)
    if _SESSION_ID.match(text) is None:
        raise SessionIdError(text)
    return text
