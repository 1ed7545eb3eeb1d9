"""Forks read through their lineage; deleting leaves what they need, and nothing else."""

import pytest

from actors.errors.store import ForkCutError, SessionExistsError, SessionNotFoundError
from actors.log.events import Event
from tests.contracts.store_fixtures import Owned, StoreFixtures
from tests.contracts.store_samples import event, events, fork


class LineageContract(StoreFixtures):
    async def test_a_fork_at_every_cut_reads_the_prefix_and_its_own_events(self, owned: Owned):
        await owned.with_session("a", events(0, 6))
        for cut in range(7):
            name = f"f{cut}"
            await _fork(owned, name, "a", cut, events(cut, cut + 2, name))
            expected = [*events(0, cut), *events(cut, cut + 2, name)]
            assert list(await owned.store.read(name)) == expected
            for start in range(cut + 3):
                for stop in range(start, cut + 3):
                    found = await owned.store.read(name, start, stop)
                    assert list(found) == expected[start:stop]

    async def test_a_fork_of_a_fork_may_cut_above_at_or_below_the_first_cut(self, owned: Owned):
        await owned.with_session("a", events(0, 5))
        await _fork(owned, "b", "a", 3, events(3, 6, "b"))
        whole = [*events(0, 3), *events(3, 6, "b")]
        for cut in range(7):
            await _fork(owned, f"c{cut}", "b", cut, [event(cut, "c")])
            assert list(await owned.store.read(f"c{cut}")) == [*whole[:cut], event(cut, "c")]

    async def test_source_and_fork_go_on_apart(self, owned: Owned):
        await owned.with_session("a", events(0, 3))
        await _fork(owned, "b", "a", 3)
        await owned.store.append("a", [event(3, "a")], expected_seq=3, epoch=owned.epoch)
        await owned.store.append("b", [event(3, "b")], expected_seq=3, epoch=owned.epoch)
        assert list(await owned.store.read("a")) == [*events(0, 3), event(3, "a")]
        assert list(await owned.store.read("b")) == [*events(0, 3), event(3, "b")]

    async def test_the_row_of_a_fork_tells_lineage_and_whole_length(self, owned: Owned):
        await owned.with_session("a", events(0, 3))
        await _fork(owned, "b", "a", 2, events(2, 6))
        row = await owned.store.row("b")
        assert row.record == fork("b", "a", 2)
        assert row.length == 6

    async def test_a_fork_without_own_events_has_the_length_of_its_cut(self, owned: Owned):
        await owned.with_session("a", events(0, 3))
        await _fork(owned, "b", "a", 2)
        assert (await owned.store.row("b")).length == 2
        assert list(await owned.store.read("b")) == events(0, 2)

    @pytest.mark.parametrize("cut", [-1, 4])
    async def test_a_cut_outside_the_source_is_refused(self, owned: Owned, cut: int):
        await owned.with_session("a", events(0, 3))
        with pytest.raises(ForkCutError):
            await _fork(owned, "b", "a", cut)
        with pytest.raises(SessionNotFoundError):
            await owned.store.row("b")

    async def test_a_fork_of_nothing_is_refused(self, owned: Owned):
        with pytest.raises(SessionNotFoundError) as caught:
            await _fork(owned, "b", "no", 0)
        assert caught.value.session_id == "no"

    async def test_a_chain_of_a_hundred_forks_is_read_through(self, owned: Owned):
        await owned.with_session("f0", events(0, 2, "f0"))
        expected = events(0, 2, "f0")
        for depth in range(1, 101):
            name = f"f{depth}"
            await _fork(owned, name, f"f{depth - 1}", depth + 1, [event(depth + 1, name)])
            expected = [*expected[: depth + 1], event(depth + 1, name)]
        assert list(await owned.store.read("f100")) == expected
        assert list(await owned.store.read("f100", 40, 60)) == expected[40:60]

    async def test_deleting_a_source_leaves_its_forks_whole(self, owned: Owned):
        await owned.with_session("a", events(0, 6))
        await _fork(owned, "b", "a", 4, [event(4, "b")])
        await owned.store.delete("a", epoch=owned.epoch)
        assert list(await owned.store.read("b")) == [*events(0, 4), event(4, "b")]
        assert (await owned.store.row("b")).record == fork("b", "a", 4)
        await owned.store.append("b", [event(5, "b")], expected_seq=5, epoch=owned.epoch)
        assert (await owned.store.row("b")).length == 6

    async def test_a_deleted_session_is_gone_for_every_call(self, owned: Owned):
        await owned.with_session("a", events(0, 6))
        await _fork(owned, "b", "a", 4)
        await owned.store.delete("a", epoch=owned.epoch)
        store, epoch = owned.store, owned.epoch
        for call in (
            lambda: store.read("a"),
            lambda: store.row("a"),
            lambda: store.append("a", [event(6)], expected_seq=6, epoch=epoch),
            lambda: store.rename("a", "t", epoch=epoch),
            lambda: store.delete("a", epoch=epoch),
            lambda: _fork(owned, "c", "a", 1),
        ):
            with pytest.raises(SessionNotFoundError):
                await call()
        assert [row.record.id for row in await store.rows()] == ["b"]

    async def test_an_id_that_is_used_again_shares_nothing_with_the_deleted_session(
        self, owned: Owned
    ):
        await owned.with_session("a", events(0, 6, "old"))
        await _fork(owned, "b", "a", 4)
        await owned.store.delete("a", epoch=owned.epoch)
        await owned.with_session("a", events(0, 2, "new"))
        assert list(await owned.store.read("a")) == events(0, 2, "new")
        assert list(await owned.store.read("b")) == events(0, 4, "old")
        with pytest.raises(SessionExistsError):
            await owned.with_session("a")

    async def test_a_whole_chain_can_be_deleted_in_any_order(self, owned: Owned):
        for order in ("abcd", "dcba", "bdac", "cadb"):
            names = [f"{order}-{letter}" for letter in "abcd"]
            logs = await _chain(owned, names)
            for letter in order:
                gone = f"{order}-{letter}"
                await owned.store.delete(gone, epoch=owned.epoch)
                del logs[gone]
                for name, log in logs.items():
                    assert list(await owned.store.read(name)) == log
        assert list(await owned.store.rows()) == []


async def _fork(owned: Owned, name: str, source: str, cut: int, own: list[Event] | None = None):
    await owned.store.create(fork(name, source, cut), own or [], epoch=owned.epoch)


async def _chain(owned: Owned, names: list[str]) -> dict[str, list[Event]]:
    """Forks of forks, with cuts above, at and below the cut before."""
    root, *forks = names
    logs = {root: events(0, 6, root)}
    await owned.with_session(root, logs[root])
    source = root
    for name, cut in zip(forks, (4, 6, 2), strict=True):
        logs[name] = [*logs[source][:cut], *events(cut, cut + 3, name)]
        await _fork(owned, name, source, cut, logs[name][cut:])
        source = name
    return logs
