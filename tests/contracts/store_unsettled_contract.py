"""The index of open turns and asks follows the logs (K-19)."""

import orjson
import pytest

from actors.errors.store import ConflictError
from actors.log.events import Event
from actors.ports.store import EventStore, Unsettled
from tests.contracts.store_fixtures import Owned, StoreFixtures
from tests.contracts.store_samples import Door, event, fork


def _word(seq: int, word: str, **data: object) -> Event:
    return Event(seq, 1, word, orjson.dumps(data))


def _turn(seq: int, turn: int) -> Event:
    return _word(seq, "turn/start", turn=turn)


def _asked(seq: int, key: str) -> Event:
    return _word(seq, "approval/asked", approvalId=key)


class UnsettledContract(StoreFixtures):
    async def test_a_turn_is_listed_until_it_ends(self, owned: Owned):
        await owned.with_session("a", [event(0), _turn(1, 7)])
        assert await _all(owned.store) == [Unsettled("a", 1, "turn", "7")]
        await self._append(owned, _word(2, "turn/end", turn=7, reason="stop"))
        assert await _all(owned.store) == []

    async def test_asks_are_listed_until_they_are_decided_in_any_order(self, owned: Owned):
        await owned.with_session("a", [_turn(0, 1), _asked(1, "x"), _asked(2, "y")])
        await self._append(owned, _word(3, "approval/decided", approvalId="x"))
        assert [item.key for item in await _all(owned.store)] == ["1", "y"]
        await self._append(owned, _word(4, "approval/decided", approvalId="y"))
        assert [item.kind for item in await _all(owned.store)] == ["turn"]

    async def test_what_opens_and_ends_in_one_batch_is_not_listed(self, owned: Owned):
        await owned.with_session("a", [_turn(0, 1), _word(1, "turn/end", turn=1)])
        assert await _all(owned.store) == []

    async def test_an_end_without_a_number_ends_the_last_turn(self, owned: Owned):
        await owned.with_session("a", [_turn(0, 1), _turn(1, 2), _word(2, "turn/end")])
        assert [item.key for item in await _all(owned.store)] == ["1"]

    async def test_the_end_of_a_turn_decides_no_ask(self, owned: Owned):
        await owned.with_session("a", [_turn(0, 1), _asked(1, "x"), _word(2, "turn/end", turn=1)])
        assert [item.kind for item in await _all(owned.store)] == ["ask"]

    async def test_ends_of_nothing_are_ignored(self, owned: Owned):
        await owned.with_session("a", [_word(0, "turn/end"), _word(1, "approval/decided")])
        assert await _all(owned.store) == []

    async def test_words_with_strange_data_are_followed_all_the_same(self, owned: Owned):
        await owned.with_session("a", [Event(0, 1, "turn/start", b"[1]")])
        assert await _all(owned.store) == [Unsettled("a", 0, "turn", "")]

    async def test_a_refused_batch_does_not_count(self, owned: Owned):
        await owned.with_session("a", [event(0)])
        with pytest.raises(ConflictError):
            await owned.store.append("a", [_turn(5, 1)], expected_seq=5, epoch=owned.epoch)
        assert await _all(owned.store) == []

    async def test_a_fork_counts_only_what_it_opened_itself(self, owned: Owned):
        await owned.with_session("a", [_turn(0, 1)])
        await owned.store.create(
            fork("b", "a", 1), [_word(1, "turn/end", turn=1), _turn(2, 2)], epoch=owned.epoch
        )
        assert await _all(owned.store) == [
            Unsettled("a", 0, "turn", "1"),
            Unsettled("b", 2, "turn", "2"),
        ]

    async def test_a_deleted_session_is_not_listed_also_when_its_id_is_used_again(
        self, owned: Owned
    ):
        await owned.with_session("a", [_turn(0, 1)])
        await owned.store.create(fork("b", "a", 1), epoch=owned.epoch)
        await owned.store.delete("a", epoch=owned.epoch)
        assert await _all(owned.store) == []
        await owned.with_session("a", [event(0)])
        assert await _all(owned.store) == []

    async def test_pages_cover_everything_once_in_order(self, owned: Owned):
        for name in ("c", "a", "b"):
            await owned.with_session(name, [_turn(0, 1), _asked(1, "x"), _asked(2, "y")])
        seen: list[Unsettled] = []
        after = None
        while page := await owned.store.unsettled(after=after, limit=2):
            seen += page
            after = (page[-1].session_id, page[-1].seq)
        assert [(item.session_id, item.seq) for item in seen] == [
            (name, seq) for name in "abc" for seq in range(3)
        ]

    async def test_it_survives_reopening_and_is_followed_on(self, door: Door):
        async with door() as store:
            owned = Owned(store, await store.claim("first"))
            await owned.with_session("a", [_turn(0, 1), _asked(1, "x")])
            await store.release(owned.epoch)
        async with door() as store:
            owned = Owned(store, await store.claim("second"))
            assert [item.kind for item in await _all(store)] == ["turn", "ask"]
            await self._append(owned, _word(2, "approval/decided", approvalId="x"))
            await self._append(owned, _word(3, "turn/end"))
            assert await _all(store) == []
            await store.release(owned.epoch)

    async def _append(self, owned: Owned, item: Event) -> None:
        await owned.store.append("a", [item], expected_seq=item.seq, epoch=owned.epoch)


async def _all(store: EventStore) -> list[Unsettled]:
    return list(await store.unsettled())
