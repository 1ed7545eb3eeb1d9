"""The calls whose tools run in one session, counted until they have really ended."""

from collections.abc import Awaitable, Callable
from functools import partial

from actors.session.call import FOREVER, Execution, Starting


class Executions:
    """Runs each call in a task of its own; ``spawn`` runs what ends with the session."""

    def __init__(self, spawn: Callable[[Callable[[], Awaitable[object]]], None]) -> None:
        self._spawn = spawn
        self._executions: set[Execution] = set()

    @property
    def stragglers(self) -> int:
        """Calls whose tool still runs although they were closed (K-21)."""
        return sum(execution.settled for execution in self._executions)

    @property
    def bounded(self) -> bool:
        """Whether a tool runs that has a time limit of its own."""
        return any(execution.deadlines.at_s < FOREVER for execution in self._executions)

    def start(
        self,
        run: Callable[[Execution, Starting], Awaitable[None]],
        execution: Execution,
        batch: Starting,
    ) -> None:
        """Run a call in a task of the session."""
        self._executions.add(execution)
        self._spawn(partial(self._counted, run, execution, batch))

    async def _counted(
        self,
        run: Callable[[Execution, Starting], Awaitable[None]],
        execution: Execution,
        batch: Starting,
    ) -> None:
        try:
            await run(execution, batch)
        finally:
            self._executions.discard(execution)
