"""What is found across sessions: events by what they are, text in what is visible; and what was audited."""

import pytest

from actors.errors.store import ConflictError, SessionNotFoundError
from actors.log.events import Event
from actors.ports.query import EventFilter, FoundPage
from actors.ports.store import EventStore
from tests.contracts.store_fixtures import Owned, StoreFixtures
from tests.contracts.store_samples import Door, event, events, fork


def _at(seq: int, time_ms: int, word: str = "user/message") -> Event:
    return Event(seq, time_ms, word, b'{"content":"x"}')


def _places(page: FoundPage) -> list[tuple[str, int]]:
    return [(found.session_id, found.event.seq) for found in page.events]


async def _all(store: EventStore, which: EventFilter, limit: int) -> list[tuple[str, int]]:
    page = await store.query(which, limit=limit)
    places = _places(page)
    while page.next is not None:
        page = await store.query(which, after=page.next, limit=limit)
        places += _places(page)
    return places


class QueryContract(StoreFixtures):
    @pytest.mark.parametrize("limit", [1, 2, 3, 100])
    async def test_events_of_all_sessions_come_in_the_order_of_time(self, owned: Owned, limit):
        await owned.with_session("b", [_at(0, 10), _at(1, 30)])
        await owned.with_session("a", [_at(0, 10), _at(1, 20), _at(2, 5)])
        expected = [("a", 2), ("b", 0), ("a", 0), ("a", 1), ("b", 1)]
        assert await _all(owned.store, EventFilter(), limit) == expected

    @pytest.mark.parametrize("limit", [1, 2, 100])
    @pytest.mark.parametrize(
        ("which", "expected"),
        [
            (EventFilter(session_id="a"), [0, 1, 2, 3]),
            (EventFilter(session_id="nobody"), []),
            (EventFilter(types=frozenset({"turn/start", "turn/end"})), [1, 3]),
            (EventFilter(since_ms=20), [1, 2, 3]),
            (EventFilter(until_ms=20), [0]),
            (EventFilter(since_ms=20, until_ms=40), [1, 2]),
            (EventFilter(start_seq=1, stop_seq=3), [1, 2]),
            (EventFilter(session_id="a", types=frozenset({"turn/end"}), since_ms=11), [3]),
        ],
    )
    async def test_a_filter_lets_through_what_fits_all_of_it(
        self, owned: Owned, which, expected, limit
    ):
        words = ("user/message", "turn/start", "user/message", "turn/end")
        await owned.with_session("a", [_at(n, 10 + 10 * n, word) for n, word in enumerate(words)])
        assert [seq for _, seq in await _all(owned.store, which, limit)] == expected

    async def test_what_is_found_is_the_event_itself(self, owned: Owned):
        await owned.with_session("a", [event(0, "grüße")])
        (found,) = (await owned.store.query(EventFilter())).events
        assert [found.event] == list(await owned.store.read("a"))

    async def test_a_fork_shows_its_own_events_only_and_a_deleted_session_none(self, owned: Owned):
        await owned.with_session("a", events(0, 3))
        await owned.store.create(fork("b", "a", 2), [event(2)], epoch=owned.epoch)
        assert await _all(owned.store, EventFilter(), 10) == [
            ("a", 0),
            ("a", 1),
            ("a", 2),
            ("b", 2),
        ]
        await owned.store.delete("a", epoch=owned.epoch)
        assert await _all(owned.store, EventFilter(), 10) == [("b", 2)]

    async def test_a_page_goes_on_where_the_last_one_ended_whatever_was_deleted(self, owned: Owned):
        await owned.with_session("a", [_at(0, 1)])
        await owned.with_session("b", [_at(0, 1), _at(1, 2)])
        page = await owned.store.query(EventFilter(), limit=1)
        await owned.store.delete("a", epoch=owned.epoch)
        rest = await owned.store.query(EventFilter(), after=page.next)
        assert _places(rest) == [("b", 0), ("b", 1)]


class SearchContract(StoreFixtures):
    async def _index(self, owned: Owned, session_id: str, **come: str) -> None:
        length = (await owned.store.row(session_id)).length
        texts = {int(seq.removeprefix("at")): text for seq, text in come.items()}
        await owned.store.reindex(session_id, length, gone=[], come=texts, epoch=owned.epoch)

    async def _found(self, owned: Owned, text: str, **options) -> list[tuple[str, int]]:
        hits = await owned.store.search(text, **options)
        return [(hit.session_id, hit.seq) for hit in hits]

    async def test_text_is_found_wherever_it_stands_in_either_case(self, owned: Owned):
        await owned.with_session("a", events(0, 3))
        await self._index(
            owned, "a", at0="Eine Brücke über den Fluß", at1='say "no" to %_*', at2="x"
        )
        assert await self._found(owned, "BRÜCKE") == [("a", 0)]
        assert await self._found(owned, "cke üb") == [("a", 0)]
        assert await self._found(owned, '"no" to %_*') == [("a", 1)]
        assert await self._found(owned, "brueck") == []
        assert await self._found(owned, "say no") == []

    async def test_the_last_indexed_comes_first_and_pages_go_on(self, owned: Owned):
        await owned.with_session("a", events(0, 3))
        await owned.with_session("b", events(0, 1))
        await self._index(owned, "a", at0="same", at1="same", at2="same")
        await self._index(owned, "b", at0="same")
        first = await owned.store.search("same", limit=2)
        rest = await owned.store.search("same", before=first[-1].place, limit=2)
        found = [(hit.session_id, hit.seq) for hit in (*first, *rest)]
        assert found == [("b", 0), ("a", 2), ("a", 1), ("a", 0)]
        assert await self._found(owned, "same", session_id="b") == [("b", 0)]
        assert await self._found(owned, "same", session_id="nobody") == []

    async def test_what_left_is_not_found_and_what_changed_is_found_as_it_is(self, owned: Owned):
        await owned.with_session("a", events(0, 2))
        await self._index(owned, "a", at0="first words", at1="second words")
        await owned.store.reindex("a", 2, gone=[0], come={1: "third words"}, epoch=owned.epoch)
        assert await self._found(owned, "words") == [("a", 1)]
        assert await self._found(owned, "second") == []
        assert list(await owned.store.indexed("a")) == [1]

    async def test_a_session_is_outdated_until_all_its_events_were_looked_at(self, owned: Owned):
        await owned.with_session("a", events(0, 2))
        await owned.with_session("b", [])
        await owned.store.create(fork("c", "a", 2), epoch=owned.epoch)
        assert list(await owned.store.outdated()) == ["a"]
        await self._index(owned, "a", at0="words")
        assert list(await owned.store.outdated()) == []
        await owned.store.append("c", [event(2)], expected_seq=2, epoch=owned.epoch)
        await owned.store.append("a", [event(2)], expected_seq=2, epoch=owned.epoch)
        assert list(await owned.store.outdated()) == ["a", "c"]
        assert list(await owned.store.outdated(limit=1)) == ["a"]
        assert list(await owned.store.outdated(after="a")) == ["c"]

    async def test_of_a_deleted_session_nothing_is_found_and_nothing_comes_back(self, owned: Owned):
        await owned.with_session("a", events(0, 2))
        await owned.store.create(fork("b", "a", 2), epoch=owned.epoch)
        await self._index(owned, "a", at0="words", at1="words")
        await owned.store.delete("a", epoch=owned.epoch)
        assert await self._found(owned, "words") == []
        await owned.with_session("a", events(0, 1))
        assert await self._found(owned, "words") == []
        assert list(await owned.store.outdated()) == ["a"]

    async def test_only_the_owner_indexes_and_only_sessions_that_are_there(self, owned: Owned):
        await owned.with_session("a", events(0, 1))
        with pytest.raises(ConflictError):
            await owned.store.reindex("a", 1, gone=[], come={}, epoch=owned.epoch - 1)
        with pytest.raises(SessionNotFoundError):
            await owned.store.reindex("b", 1, gone=[], come={}, epoch=owned.epoch)
        with pytest.raises(SessionNotFoundError):
            await owned.store.indexed("b")


class AuditContract(StoreFixtures):
    async def test_the_newest_records_come_first_of_one_type_or_of_all(self, owned: Owned):
        for number, word in enumerate(("x/y", "x/z", "x/y")):
            made = await owned.store.audit(word, {"n": number}, time_ms=number, epoch=owned.epoch)
            assert (made.type, made.data, made.time_ms) == (word, {"n": number}, number)
        every = await owned.store.audited()
        assert [record.data["n"] for record in every] == [2, 1, 0]
        assert [record.id for record in every] == sorted((r.id for r in every), reverse=True)
        assert [record.data["n"] for record in await owned.store.audited(type="x/y")] == [2, 0]
        assert [record.data["n"] for record in await owned.store.audited(limit=1)] == [2]
        assert await owned.store.audited(type="nothing") == []

    async def test_records_are_still_there_when_the_store_is_opened_again(
        self, owned: Owned, door: Door
    ):
        await owned.store.audit("x/y", {"k": ["ü"]}, time_ms=5, epoch=owned.epoch)
        async with door() as again:
            (record,) = await again.audited()
            assert (record.time_ms, record.data) == (5, {"k": ["ü"]})

    async def test_only_the_owner_adds_records(self, owned: Owned):
        with pytest.raises(ConflictError):
            await owned.store.audit("x/y", {}, time_ms=1, epoch=owned.epoch - 1)
        assert await owned.store.audited() == []


class FindingContract(QueryContract, SearchContract, AuditContract):
    """All three."""
