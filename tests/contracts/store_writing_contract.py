"""Appending: all or nothing, in order, fenced, durable on return."""

import pytest
import trio
import trio.testing

from actors.errors.store import (
    ConflictError,
    SessionExistsError,
    SessionNotFoundError,
    StoreUnavailableError,
    UnstorableError,
)
from actors.log.events import Event
from tests.contracts.store_fixtures import Owned, StoreFixtures
from tests.contracts.store_samples import Door, event, events, rare_events, record


class WritingContract(StoreFixtures):
    async def test_what_was_appended_is_read_back_equal(self, owned: Owned):
        await owned.with_session("a", rare_events())
        await owned.store.append("a", [event(5)], expected_seq=5, epoch=owned.epoch)
        assert list(await owned.store.read("a")) == [*rare_events(), event(5)]

    async def test_a_new_session_without_events_is_stored(self, owned: Owned):
        await owned.with_session("a")
        assert list(await owned.store.read("a")) == []
        assert (await owned.store.row("a")).length == 0

    async def test_a_taken_id_is_refused_and_keeps_its_events(self, owned: Owned):
        await owned.with_session("a", events(0, 2))
        with pytest.raises(SessionExistsError):
            await owned.with_session("a", events(0, 1, "other"))
        assert list(await owned.store.read("a")) == events(0, 2)

    @pytest.mark.parametrize("expected_seq", [0, 1, 3, 100])
    async def test_a_batch_for_another_position_is_refused_and_writes_nothing(
        self, owned: Owned, expected_seq: int
    ):
        await owned.with_session("a", events(0, 2))
        with pytest.raises(ConflictError) as caught:
            await owned.store.append(
                "a",
                events(expected_seq, expected_seq + 2),
                expected_seq=expected_seq,
                epoch=owned.epoch,
            )
        assert (caught.value.expected, caught.value.found) == (expected_seq, 2)
        assert list(await owned.store.read("a")) == events(0, 2)

    @pytest.mark.parametrize("seqs", [(2, 4), (2, 2), (3, 4), (2, 3, 5)])
    async def test_a_batch_whose_seqs_do_not_follow_is_refused_whole(self, owned: Owned, seqs):
        await owned.with_session("a", events(0, 2))
        with pytest.raises(UnstorableError):
            await owned.store.append(
                "a", [event(seq) for seq in seqs], expected_seq=2, epoch=owned.epoch
            )
        assert (await owned.store.row("a")).length == 2

    async def test_an_empty_batch_is_fenced_and_writes_nothing(self, owned: Owned):
        await owned.with_session("a", events(0, 1))
        await owned.store.append("a", [], expected_seq=1, epoch=owned.epoch)
        with pytest.raises(ConflictError):
            await owned.store.append("a", [], expected_seq=0, epoch=owned.epoch)
        assert (await owned.store.row("a")).length == 1

    async def test_an_unknown_session_is_named(self, owned: Owned):
        store, epoch = owned.store, owned.epoch
        calls = [
            lambda: store.append("no", [event(0)], expected_seq=0, epoch=epoch),
            lambda: store.read("no"),
            lambda: store.row("no"),
            lambda: store.rename("no", "t", epoch=epoch),
            lambda: store.delete("no", epoch=epoch),
        ]
        for call in calls:
            with pytest.raises(SessionNotFoundError) as caught:
                await call()
            assert caught.value.session_id == "no"

    async def test_appends_under_way_together_are_written_in_the_order_of_the_calls(
        self, owned: Owned
    ):
        """The scheduler decides who calls first; whoever it is, the second follows the first."""
        await owned.with_session("a")
        order = iter(range(100))

        async def call() -> None:
            seq = next(order)
            await owned.store.append("a", [event(seq)], expected_seq=seq, epoch=owned.epoch)

        async with trio.open_nursery() as nursery:
            for _ in range(100):
                nursery.start_soon(call)
        assert list(await owned.store.read("a")) == events(0, 100)

    async def test_sessions_written_together_stay_apart(self, owned: Owned):
        names = [f"s{number}" for number in range(20)]
        for name in names:
            await owned.with_session(name)

        async def write(name: str) -> None:
            for seq in range(10):
                await owned.store.append(
                    name, [event(seq, name)], expected_seq=seq, epoch=owned.epoch
                )

        async with trio.open_nursery() as nursery:
            for name in names:
                nursery.start_soon(write, name)
        for name in names:
            assert list(await owned.store.read(name)) == events(0, 10, name)

    async def test_a_refused_write_does_not_harm_those_beside_it(self, owned: Owned):
        outcomes: dict[str, object] = {}
        await owned.with_session("good")
        await owned.with_session("bad")

        async def attempt(key: str, session_id: str, batch: list[Event], expected: int) -> None:
            try:
                await owned.store.append(
                    session_id, batch, expected_seq=expected, epoch=owned.epoch
                )
                outcomes[key] = "written"
            except (ConflictError, SessionNotFoundError, UnstorableError) as error:
                outcomes[key] = type(error)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(attempt, "1", "good", events(0, 2), 0)
            nursery.start_soon(attempt, "2", "bad", events(5, 6), 5)
            nursery.start_soon(attempt, "3", "none", events(0, 1), 0)
            nursery.start_soon(attempt, "4", "bad", [event(0), event(7)], 0)
        assert outcomes == {
            "1": "written",
            "2": ConflictError,
            "3": SessionNotFoundError,
            "4": UnstorableError,
        }
        assert (await owned.store.row("good")).length == 2
        assert (await owned.store.row("bad")).length == 0

    async def test_a_cancelled_call_wrote_nothing_or_returned(self, owned: Owned):
        """Cancel at every moment: the answer is always the truth."""
        for round_ in range(30):
            name = f"s{round_}"
            await owned.with_session(name)
            returned = False
            with trio.CancelScope() as scope:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(_cancel_after, scope, round_ % 6)
                    await owned.store.append(name, events(0, 3), expected_seq=0, epoch=owned.epoch)
                    returned = True
            assert (await owned.store.row(name)).length == (3 if returned else 0)

    async def test_an_already_cancelled_call_writes_nothing(self, owned: Owned):
        await owned.with_session("a")
        with trio.CancelScope() as scope:
            scope.cancel()
            await owned.store.append("a", events(0, 1), expected_seq=0, epoch=owned.epoch)
        assert scope.cancelled_caught
        await trio.testing.wait_all_tasks_blocked()
        assert (await owned.store.row("a")).length == 0

    async def test_every_call_is_a_checkpoint(self, owned: Owned):
        store, epoch = owned.store, owned.epoch
        for call in (
            lambda: store.create(record("a"), epoch=epoch),
            lambda: store.append("a", [event(0)], expected_seq=0, epoch=epoch),
            lambda: store.read("a"),
            lambda: store.row("a"),
            store.rows,
            lambda: store.rename("a", "t", epoch=epoch),
            lambda: store.delete("a", epoch=epoch),
        ):
            with trio.testing.assert_checkpoints():
                await call()

    async def test_a_huge_body_is_kept(self, owned: Owned):
        huge = Event(0, 1, "user/message", b'"' + b"x" * 8_000_000 + b'"')
        await owned.with_session("a", [huge])
        assert (await owned.store.read("a"))[0] == huge

    async def test_reopening_keeps_everything(self, door: Door):
        async with door() as store:
            epoch = await store.claim("first")
            await store.create(record("a", title="t", agent="x"), rare_events(), epoch=epoch)
            await store.append("a", [event(5)], expected_seq=5, epoch=epoch)
            before = await store.row("a")
            await store.release(epoch)
        async with door() as store:
            epoch = await store.claim("second")
            assert await store.row("a") == before
            assert list(await store.read("a")) == [*rare_events(), event(5)]
            await store.append("a", [event(6)], expected_seq=6, epoch=epoch)
            await store.release(epoch)

    async def test_a_closed_store_says_so(self, owned: Owned):
        await owned.store.aclose()
        await owned.store.aclose()
        for call in (owned.store.rows, lambda: owned.store.rename("a", "t", epoch=owned.epoch)):
            with pytest.raises(StoreUnavailableError, match="closed"):
                await call()


async def _cancel_after(scope: trio.CancelScope, checkpoints: int) -> None:
    for _ in range(checkpoints):
        await trio.lowlevel.checkpoint()
    scope.cancel()
