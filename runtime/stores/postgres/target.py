"""From a URL to what PostgreSQL's library connects with, and a name that may be shown. Pure.

The URL may hold a password, so it is never shown whole: not in an error, not in a repr, not in a log.
"""

import re
from typing import Final

import attrs

from actors.errors.store import StoreSpecError

SCHEME: Final = "postgresql://"
_HOST = r"(?:\[[0-9A-Fa-f:.]*\]|[A-Za-z0-9._%-]*)(?::[0-9]+)?"
_URL: Final = re.compile(
    rf"{SCHEME}(?:(?P<user>[^:@/?#]*)(?::(?P<password>[^:@/?#]*))?@)?"
    rf"(?P<hosts>{_HOST}(?:,{_HOST})*)(?P<database>/[^:@/?#]*)?(?:\?[^?#]*)?"
)
"""A password with a character of its own meaning must be percent-encoded: else no part of the URL is sure
to be no secret."""


@attrs.frozen
class Target:
    """Where a store is."""

    conninfo: str = attrs.field(repr=False)
    name: str
    """The URL without password and options."""


def to_target(spec: str) -> Target:
    """Take a URL apart.

    Raises:
        StoreSpecError: it is none; the text shows nothing of it that may be a secret.
    """
    found = _URL.fullmatch(spec)
    if found is None or "\0" in spec:
        raise StoreSpecError(f"{SCHEME}...", "percent-encode what is special in user and password")
    user, hosts, database = found["user"], found["hosts"], found["database"] or ""
    return Target(spec, f"{SCHEME}{f'{user}@' if user else ''}{hosts}{database}")


def shown(spec: str) -> str:
    """Return the spec of any store as it may be shown: without what may be a secret."""
    if spec.startswith(SCHEME):
        return to_target(spec).name
    scheme, mark, _ = spec.partition("://")
    return f"{scheme}://..." if mark and scheme != "sqlite" else spec
