"""Every call of a store, once or in each of its ways: for whoever wants to see all statements."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from actors.ports.query import EventFilter
from actors.ports.store import Snapshot
from tests.contracts.store_blob_contract import CONTENT, Pieces, naming
from tests.contracts.store_samples import event, events, fork, record


async def call_all(store: Any, epoch: int, forget: Callable[[], None]) -> None:
    """Make every call; ``forget`` lets the writer forget what it remembers."""
    await store.create(record("a", parent="p"), events(0, 3), epoch=epoch)
    await store.create(fork("b", "a", 2), epoch=epoch)
    await store.append("a", [event(3)], expected_seq=3, epoch=epoch)
    forget()
    for word in ("turn/start", "turn/end"):
        length = (await store.row("a")).length
        item = type(event(0))(length, 0, word, b"{}")
        await store.append("a", [item], expected_seq=length, epoch=epoch)
    await store.read("b")
    await store.salvage("b")
    await store.put_snapshot(Snapshot("a", 1, b"x"), epoch=epoch)
    await store.snapshot("b")
    await store.load("b")
    await store.rows(after="a")
    await store.rows(parent="p")
    await store.unsettled(after=("a", 1))
    await store.query(
        EventFilter(types=frozenset({"turn/end"}), since_ms=1, until_ms=5, stop_seq=9)
    )
    await store.query(EventFilter(session_id="a"))
    await store.reindex("a", 4, gone=[1], come={2: "words"}, epoch=epoch)
    await store.indexed("a")
    await store.outdated()
    await store.search("words")
    await store.search("words", session_id="a")
    await store.audit("x/y", {}, time_ms=1, epoch=epoch)
    await store.audited()
    await store.audited(type="x/y")
    blob = await store.put_blob("a", Pieces(CONTENT), now_ms=1, epoch=epoch)
    large = await store.put_blob("a", Pieces(CONTENT * 60_000, 1 << 16), now_ms=1, epoch=epoch)
    await store.read_blob("a", large.digest, 5, 600_000)
    length = (await store.row("a")).length
    await store.append("a", [naming(length, blob.digest)], expected_seq=length, epoch=epoch)
    await store.sweep_uploads(before_ms=2, epoch=epoch)
    broken = Pieces(CONTENT * 600_000, 1 << 16, breaks=True)
    with suppress(ZeroDivisionError):
        await store.put_blob("a", broken, now_ms=1, epoch=epoch)
    await store.rename("a", "t", epoch=epoch)
    await store.delete("a", epoch=epoch)
    await store.delete("b", epoch=epoch)
