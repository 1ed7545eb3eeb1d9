"""A bound for a run that hangs, which says where every task stands."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import trio


class HungError(AssertionError):
    """Nothing ended within the bound."""


@asynccontextmanager
async def bounded_by(limit_s: float) -> AsyncIterator[None]:
    """Fail when the block takes longer than ``limit_s`` by the loop's clock.

    Raises:
        HungError: the text names the waiting tasks and where they wait.
    """
    hung: list[str] = []

    async def watch() -> None:
        await trio.sleep(limit_s)
        root = trio.lowlevel.current_root_task()
        assert root is not None
        hung.extend(_waits(root, trio.lowlevel.current_task()))
        nursery.cancel_scope.cancel()

    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(watch)
            yield
            nursery.cancel_scope.cancel()
    finally:
        if hung:
            raise HungError("\n".join(["hung:", *hung]))


def _waits(task: trio.lowlevel.Task, but: trio.lowlevel.Task) -> Iterator[str]:
    if task is not but:
        frames = [frame for frame, _ in task.iter_await_frames()]
        shown = [f for f in frames if "site-packages" not in f.f_code.co_filename]
        where = " < ".join(
            f"{f.f_code.co_filename.rpartition('/')[2]}:{f.f_lineno} {f.f_code.co_name}"
            for f in reversed(shown)
        )
        yield f"  {task.name}: {where}"
    for nursery in task.child_nurseries:
        for child in nursery.child_tasks:
            yield from _waits(child, but)
