"""Looking after the store of a running engine: a copy, old sessions removed, room given back."""

from collections.abc import AsyncIterator, Mapping
from pathlib import Path

from actors.errors.message import MessageFieldError
from actors.errors.store import SessionNotFoundError
from actors.errors.upkeep import UpkeepUnsupportedError
from actors.ids import SessionId
from actors.ports.store import EventStore, SessionRow
from actors.session.stage import Stage
from runtime.stores.upkeep import Upkeep

_PAGE = 100


async def back_up(store: EventStore, to: Path) -> int:
    """Copy the store to a new file; see :class:`runtime.stores.upkeep.Upkeep`."""
    return await _kept(store, "backup").back_up(to)


async def vacuum(store: EventStore, epoch: int) -> int:
    """Give room back to the disk; see :class:`runtime.stores.upkeep.Upkeep`."""
    return await _kept(store, "vacuum").vacuum(epoch=epoch)


async def prune(stage: Stage, untouched_s: float, *, dry_run: bool) -> tuple[SessionId, ...]:
    """Delete each tree in which nothing was written for so long and nothing is live now.

    One tree after the other, so that the writes of others come between.
    """
    if not untouched_s >= 0:
        raise MessageFieldError("prune", "untouched_s", untouched_s, "seconds, 0 or above")
    before_ms = stage.services.clock.now_ms() - round(untouched_s * 1000)
    pruned: list[SessionId] = []
    async for root in _roots(stage.services.store):
        tree = await _old_tree(stage, root, before_ms)
        if tree and not dry_run:
            try:
                await stage.delete(root.record.id)
            except SessionNotFoundError:  # somebody was quicker
                continue
        pruned += tree
    return tuple(pruned)


async def _roots(store: EventStore) -> AsyncIterator[SessionRow]:
    """Yield the sessions that belong to no other, or to one that is gone."""
    after: SessionId | None = None
    while page := await store.rows(after=after, limit=_PAGE):
        for row in page:
            if row.record.parent is None or await _is_gone(store, row.record.parent):
                yield row
        after = page[-1].record.id


async def _is_gone(store: EventStore, session_id: SessionId) -> bool:
    try:
        await store.row(session_id)
    except SessionNotFoundError:
        return True
    return False


async def _old_tree(stage: Stage, root: SessionRow, before_ms: int) -> list[SessionId]:
    """Return the sessions of a tree, or nothing when one of them is in use, is younger, or is damaged."""
    live = stage.actors.states()
    tree, level = [], [root]
    while level:
        if any(_in_use(row, live, before_ms) for row in level):
            return []
        tree += [row.record.id for row in level]
        level = [row for above in level for row in await _children(stage, above)]
    return tree


def _in_use(row: SessionRow, live: Mapping[str, str], before_ms: int) -> bool:
    return row.updated_ms >= before_ms or row.damage is not None or row.record.id in live


async def _children(stage: Stage, parent: SessionRow) -> list[SessionRow]:
    children: list[SessionRow] = []
    store, id_ = stage.services.store, parent.record.id
    after: SessionId | None = None
    while page := await store.rows(parent=id_, after=after, limit=_PAGE):
        children += page
        after = page[-1].record.id
    return children


def _kept(store: EventStore, verb: str) -> Upkeep:
    if not isinstance(store, Upkeep):
        raise UpkeepUnsupportedError(verb, type(store).__name__)
    return store
