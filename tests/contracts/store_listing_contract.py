"""Rows, pages, children, titles."""

import trio

from tests.contracts.store_fixtures import Owned, StoreFixtures
from tests.contracts.store_samples import event, events, record


def _ids(rows) -> list[str]:
    return [row.record.id for row in rows]


class ListingContract(StoreFixtures):
    async def test_a_row_keeps_the_whole_record(self, owned: Owned):
        full = record("a", agent="coder", title="T", parent="p", origin="delegation")
        await owned.store.create(full, epoch=owned.epoch)
        row = await owned.store.row("a")
        assert (row.record, row.length, row.updated_ms) == (full, 0, 42)

    async def test_a_row_follows_the_last_event(self, owned: Owned):
        await owned.with_session("a", events(0, 2))
        await owned.store.append("a", [event(2)], expected_seq=2, epoch=owned.epoch)
        row = await owned.store.row("a")
        assert (row.length, row.updated_ms) == (3, event(2).time_ms)

    async def test_pages_cover_every_session_once_in_order_of_ids(self, owned: Owned):
        names = [f"s-{number:03}" for number in range(25)]
        for name in reversed(names):
            await owned.with_session(name)
        seen: list[str] = []
        while page := await owned.store.rows(after=seen[-1] if seen else None, limit=10):
            seen += _ids(page)
        assert seen == names

    async def test_ids_are_ordered_by_code_point(self, owned: Owned):
        names = ["B", "a", "A", "_", "-", ".x", "0", "a.b", "a-b", "aB"]
        for name in names:
            await owned.with_session(name)
        assert _ids(await owned.store.rows()) == sorted(names)

    async def test_a_cursor_need_not_exist(self, owned: Owned):
        for name in ("a", "c"):
            await owned.with_session(name)
        assert _ids(await owned.store.rows(after="b")) == ["c"]

    async def test_a_limit_of_nothing_gives_nothing(self, owned: Owned):
        await owned.with_session("a")
        assert list(await owned.store.rows(limit=0)) == []

    async def test_children_are_listed_by_their_parent(self, owned: Owned):
        for name, parent in (("c2", "p"), ("c1", "p"), ("x", "q"), ("p", None)):
            await owned.store.create(record(name, parent=parent), epoch=owned.epoch)
        assert _ids(await owned.store.rows(parent="p")) == ["c1", "c2"]
        assert _ids(await owned.store.rows(parent="p", after="c1")) == ["c2"]
        assert _ids(await owned.store.rows(parent="p", limit=1)) == ["c1"]
        assert _ids(await owned.store.rows(parent="nobody")) == []

    async def test_a_deleted_child_is_not_listed(self, owned: Owned):
        for name in ("c1", "c2"):
            await owned.store.create(record(name, parent="p"), epoch=owned.epoch)
        await owned.store.delete("c1", epoch=owned.epoch)
        assert _ids(await owned.store.rows(parent="p")) == ["c2"]

    async def test_a_title_is_set_and_cleared(self, owned: Owned):
        await owned.with_session("a")
        await owned.store.rename("a", "Über 'quotes' \" and 😀", epoch=owned.epoch)
        assert (await owned.store.row("a")).record.title == "Über 'quotes' \" and 😀"
        await owned.store.rename("a", None, epoch=owned.epoch)
        assert (await owned.store.row("a")).record.title is None

    async def test_ranges_outside_the_log_are_empty(self, owned: Owned):
        await owned.with_session("a", events(0, 3))
        for start, stop in ((3, None), (7, None), (5, 9), (2, 1), (1, 1)):
            assert list(await owned.store.read("a", start, stop)) == []
        assert list(await owned.store.read("a", 1)) == events(1, 3)
        assert list(await owned.store.read("a", 0, 99)) == events(0, 3)

    async def test_what_was_read_does_not_follow_later_appends(self, owned: Owned):
        await owned.with_session("a", events(0, 3))
        before = await owned.store.read("a")
        await owned.store.append("a", [event(3)], expected_seq=3, epoch=owned.epoch)
        assert list(before) == events(0, 3)

    async def test_many_readers_at_once_each_get_their_own_session(self, owned: Owned):
        names = [f"s{number}" for number in range(50)]
        for name in names:
            await owned.with_session(name, events(0, 5, name))
        found = {}

        async def read(name: str) -> None:
            found[name] = list(await owned.store.read(name))

        async with trio.open_nursery() as nursery:
            for name in names:
                nursery.start_soon(read, name)
        assert found == {name: events(0, 5, name) for name in names}
