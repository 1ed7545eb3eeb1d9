"""What each client has open, and how many sessions it has made lately.

Source: N-18, K-6.
"""

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager

import attrs
import trio

from actors.log.flood import SpawnWindow
from runtime.faces.http.limits import HttpLimits
from runtime.faces.wire.errors import OverloadedError

MINUTE_MS = 60_000


@attrs.define
class _Client:
    spawns: SpawnWindow
    streams: int = 0


class Clients:
    """The clients of one face, by what they call themselves."""

    def __init__(self, limits: HttpLimits) -> None:
        self._limits = limits
        self._clients: OrderedDict[str, _Client] = OrderedDict()

    def check_stream(self, client: str) -> None:
        """Check that the client may open a stream.

        Raises:
            OverloadedError: it has as many as it may have.
        """
        known = self._find(client)
        if known.streams >= self._limits.streams:
            raise OverloadedError(f"this client has {known.streams} streams open")

    @contextmanager
    def stream(self, client: str) -> Iterator[None]:
        """Count a stream while it is open."""
        known = self._find(client)
        known.streams += 1
        try:
            yield
        finally:
            known.streams -= 1

    def spawn(self, client: str) -> None:
        """Note that the client makes a session.

        Raises:
            SpawnRateLimitError: it made too many in the last minute.
        """
        known = self._find(client)
        known.spawns = known.spawns.spawned(int(trio.current_time() * 1000))

    def _find(self, client: str) -> _Client:
        known = self._clients.pop(client, None)
        if known is None:
            window = SpawnWindow(limit=self._limits.spawns, period_ms=MINUTE_MS)
            known = _Client(window)
        self._clients[client] = known
        if len(self._clients) > self._limits.clients:
            quiet = next((n for n, c in self._clients.items() if not c.streams), None)
            if quiet is not None:
                del self._clients[quiet]
        return known
