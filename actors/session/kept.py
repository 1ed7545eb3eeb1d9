"""What tools leave running in a session beyond their calls: it ends with the session (P7)."""

from collections.abc import Awaitable, Callable
from functools import partial

import trio


class KeptTasks:
    """The tasks that tools gave to one session. While one runs, the session is not put to rest.

    Args:
        spawn: runs a task in the nursery of the session.
    """

    def __init__(self, spawn: Callable[[Callable[[], Awaitable[object]]], None]) -> None:
        self._spawn = spawn
        self._scopes: set[trio.CancelScope] = set()

    def keep(self, run: Callable[[], Awaitable[None]], *, ended: bool = False) -> None:
        """Run a task until it ends, or the session does; in a call that was ``ended`` it is cancelled at once."""
        scope = trio.CancelScope()
        if ended:
            scope.cancel()
        self._scopes.add(scope)
        self._spawn(partial(self._run, run, scope))

    def end(self) -> None:
        """Cancel all of them; safe to repeat."""
        for scope in self._scopes:
            scope.cancel()

    async def _run(self, run: Callable[[], Awaitable[None]], scope: trio.CancelScope) -> None:
        try:
            with scope:
                await run()
        except* Exception:  # noqa: BLE001, S110 - the tool boundary: it ends that task alone (P8)
            pass
        finally:
            self._scopes.discard(scope)
