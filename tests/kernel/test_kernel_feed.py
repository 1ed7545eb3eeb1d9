import gc
from itertools import pairwise

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import wait_all_tasks_blocked

from actors.errors import UsageError
from actors.errors.actor import FeedCursorError, FeedDetachedError
from actors.errors.store import StoreUnavailableError
from actors.kernel.feed import PAGE, FeedHub


class Log:
    """A durable log of numbers, and its hub."""

    def __init__(self, length=0, *, coalesce=None, live_limit=256, pause=False):
        self.items = [*range(length)]
        self.reads = []
        self.pause = pause
        self.hub = FeedHub(self.read, length, live_limit=live_limit, coalesce=coalesce)

    async def read(self, start, stop):
        self.reads.append((start, stop))
        if self.pause:
            await trio.sleep(1)
        return self.items[start:stop]

    def append(self, count=1):
        for _ in range(count):
            self.items.append(len(self.items))
        self.hub.advance(len(self.items))


async def drain_into(got, reader):
    async for item in reader:
        got.append(item)


def text(first, second):
    return first + second


def test_a_feed_without_room_for_live_items_is_refused():
    with pytest.raises(UsageError):
        Log(live_limit=0)


@pytest.mark.parametrize("after", [-1, 0, 41, 98])
async def test_a_reader_gets_everything_behind_its_cursor_exactly_once(after):
    log = Log(100)
    got = []
    with log.hub.subscribe(after) as reader:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(drain_into, got, reader)
            await wait_all_tasks_blocked()
            for _ in range(10):
                log.append(7)
                await trio.lowlevel.checkpoint()
            log.hub.close()
    assert got == [*range(after + 1, 170)]
    assert reader.after == 169


async def test_without_a_cursor_a_reader_starts_from_now():
    log = Log(10)
    async with log.hub.subscribe() as reader:
        log.append()
        assert await reader.receive() == 10


@pytest.mark.parametrize("after", [-2, 10, 1000])
def test_a_cursor_that_the_feed_has_not_got_is_refused(after):
    with pytest.raises(FeedCursorError, match=r"-1\.\.9"):
        Log(10).hub.subscribe(after)


async def test_an_end_that_goes_back_changes_nothing():
    log = Log(10)
    log.hub.advance(5)
    assert log.hub.end == 10


async def test_durable_items_are_fetched_by_page_and_never_more_than_there_are():
    log = Log(PAGE + 5)
    with log.hub.subscribe(-1) as reader:
        for _ in range(PAGE + 5):
            await reader.receive()
    assert log.reads == [(0, PAGE), (PAGE, PAGE + 5)]


async def test_live_items_come_at_their_place_between_the_durable_ones():
    log = Log(1)
    got = []
    with log.hub.subscribe(-1) as reader:
        got.append(await reader.receive())
        log.hub.push_live("a")
        log.hub.push_live("b")
        log.append(2)
        log.hub.push_live("c")
        log.append()
        log.hub.close()
        await drain_into(got, reader)
    assert got == [0, "a", "b", 1, 2, "c", 3]


async def test_a_reader_that_is_behind_gets_live_items_behind_what_was_there_before_them():
    log = Log(3)
    got = []
    with log.hub.subscribe(-1) as reader:
        log.hub.push_live("a")
        log.append()
        log.hub.close()
        await drain_into(got, reader)
    assert got == [0, 1, 2, "a", 3]


async def test_a_reader_may_do_without_live_items():
    log = Log()
    with log.hub.subscribe(live=False) as reader:
        log.hub.push_live("a")
        log.append()
        assert await reader.receive() == 0


async def test_a_parked_reader_sees_each_live_item_as_it_comes():
    log = Log()
    got = []
    with log.hub.subscribe() as reader:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(drain_into, got, reader)
            for letter in "abc":
                await wait_all_tasks_blocked()
                log.hub.push_live(letter)
            await wait_all_tasks_blocked()
            assert got == ["a", "b", "c"]
            log.hub.close()


async def test_too_many_live_items_are_dropped_oldest_first_and_durable_ones_never():
    log = Log(live_limit=4)
    got = []
    with log.hub.subscribe() as reader:
        for number in range(10):
            log.hub.push_live(f"live {number}")
        log.append(3)
        log.hub.close()
        await drain_into(got, reader)
    assert got == ["live 6", "live 7", "live 8", "live 9", 0, 1, 2]


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 7, 256])
async def test_what_can_be_merged_is_not_dropped(limit):
    log = Log(live_limit=max(limit, 4), coalesce=text)
    got = []
    with log.hub.subscribe() as reader:
        for number in range(1000):
            log.hub.push_live(f"{number},")
        log.append()
        log.hub.close()
        await drain_into(got, reader)
    *live, durable = got
    assert "".join(live) == "".join(f"{number}," for number in range(1000))
    assert len(live) <= max(limit, 4)
    assert durable == 0


async def test_merging_costs_time_in_the_stream_and_not_in_its_square():
    merged_chars = []

    def counted(first, second):
        merged_chars.append(len(first) + len(second))
        return first + second

    log = Log(live_limit=64, coalesce=counted)
    with log.hub.subscribe():
        for _ in range(20_000):
            log.hub.push_live("x")
    assert sum(merged_chars) < 20_000 * 20


async def test_live_items_are_not_merged_across_a_durable_one():
    log = Log(live_limit=4, coalesce=text)
    got = []
    with log.hub.subscribe() as reader:
        for letter in "abcdefg":
            log.hub.push_live(letter)
            log.append()
        log.hub.close()
        await drain_into(got, reader)
    assert [item for item in got if isinstance(item, int)] == [*range(7)]
    for item, following in pairwise(got):
        if isinstance(item, str):
            assert "abcdefg".index(item) == following


async def test_a_slow_reader_holds_no_durable_items_and_few_live_ones():
    log = Log(live_limit=16)
    slow, fast = log.hub.subscribe(-1, live=True), []
    with log.hub.subscribe() as reader:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(drain_into, fast, reader)
            await wait_all_tasks_blocked()
            for number in range(2_000):
                log.append()
                log.hub.push_live(f"live {number}")
                if number == 0:
                    assert await slow.receive() == 0  # it stops reading here
                await trio.lowlevel.checkpoint()
            log.hub.close()
    held = len(slow._live) + len(slow._page)
    assert held <= 16 + PAGE
    assert [item for item in fast if isinstance(item, int)] == [*range(2_000)]
    late = []
    await drain_into(late, slow)  # it catches up without loss
    assert [item for item in late if isinstance(item, int)] == [*range(1, 2_000)]
    assert len([item for item in late if isinstance(item, str)]) <= 16


async def test_a_clean_close_comes_after_everything_durable():
    log = Log(100)
    with log.hub.subscribe(-1) as reader:
        log.hub.close()
        for number in range(100):
            assert await reader.receive() == number
        for _ in range(2):
            with pytest.raises(trio.EndOfChannel):
                await reader.receive()


@pytest.mark.parametrize("reason", ["too slow", ValueError("too slow")])
async def test_a_close_with_a_reason_detaches_at_once_and_names_the_cursor(reason):
    log = Log(10)
    with log.hub.subscribe(3) as reader:
        assert await reader.receive() == 4
        log.hub.close(reason)
        log.hub.close("another")
        with pytest.raises(FeedDetachedError, match="too slow") as caught:
            await reader.receive()
    assert caught.value.after == 4
    assert caught.value.__cause__ is (reason if isinstance(reason, ValueError) else None)


async def test_nothing_comes_after_the_close():
    log = Log(1)
    with log.hub.subscribe() as reader:
        log.hub.close()
        log.append()
        log.hub.push_live("late")
        with pytest.raises(trio.EndOfChannel):
            await reader.receive()


async def test_closing_wakes_parked_readers():
    log = Log()
    got = []

    async def read(reader):
        with pytest.raises(FeedDetachedError):
            await reader.receive()
        got.append(1)

    async with trio.open_nursery() as nursery:
        for _ in range(100):
            nursery.start_soon(read, log.hub.subscribe())
        await wait_all_tasks_blocked()
        log.hub.close("stop")
    assert len(got) == 100


async def test_a_cancelled_receive_loses_nothing(autojump_clock):
    log = Log(5, pause=True)
    got = []
    with log.hub.subscribe(-1) as reader:
        with trio.move_on_after(0.5):
            await reader.receive()  # in the middle of a fetch
        while len(got) < 5:
            with trio.CancelScope() as scope:
                scope.cancel()
                got.append(await reader.receive())
            got.append(await reader.receive())
        with trio.move_on_after(0.5):
            await reader.receive()  # parked
        log.append()
        got.append(await reader.receive())
    assert got == [0, 1, 2, 3, 4, 5]


async def test_a_cancelled_receive_loses_no_live_item():
    log = Log()
    with log.hub.subscribe() as reader:
        log.hub.push_live("a")
        with trio.CancelScope() as scope:
            scope.cancel()
            await reader.receive()
        assert scope.cancelled_caught
        assert await reader.receive() == "a"


async def test_leaving_the_loop_early_releases_the_reader():
    log = Log(10)
    with log.hub.subscribe(-1) as reader:
        async for item in reader:
            if item == 3:
                break
        assert log.hub.readers == 1
    assert log.hub.readers == 0
    with pytest.raises(trio.ClosedResourceError):
        await reader.receive()


async def test_a_dropped_reader_is_gone_at_once():
    log = Log(10)
    gc.disable()
    try:
        async for _ in log.hub.subscribe(-1):
            break
        with trio.move_on_after(0):
            await log.hub.subscribe().receive()
        await trio.lowlevel.checkpoint()  # trio holds the cancellation until the end of this step
        assert log.hub.readers == 0
    finally:
        gc.enable()
    log.append()
    log.hub.push_live("x")


async def test_cancellation_inside_the_loop_raises_no_error_and_releases():
    log = Log(1000)

    async def follow():
        async with log.hub.subscribe(-1) as reader:
            async for _ in reader:
                await trio.sleep_forever()

    async with trio.open_nursery() as nursery:
        for _ in range(10):
            nursery.start_soon(follow)
        await wait_all_tasks_blocked()
        assert log.hub.readers == 10
        nursery.cancel_scope.cancel()
    assert log.hub.readers == 0


async def test_closing_a_reader_wakes_the_task_that_waits_on_it(autojump_clock):
    for log in (Log(), Log(5, pause=True)):
        reader = log.hub.subscribe(-1)

        async def read(reader=reader):
            with pytest.raises(trio.ClosedResourceError):
                await reader.receive()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(read)
            await wait_all_tasks_blocked()
            reader.close()


async def test_two_tasks_may_not_read_one_subscription(autojump_clock):
    reader = Log().hub.subscribe()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(reader.receive)
        await wait_all_tasks_blocked()
        with pytest.raises(trio.BusyResourceError):
            await reader.receive()
        nursery.cancel_scope.cancel()
    reader = Log(9, pause=True).hub.subscribe(-1)
    with pytest.RaisesGroup(trio.BusyResourceError):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(reader.receive)
            nursery.start_soon(reader.receive)
    assert reader.after == 0


async def test_a_hole_in_the_store_detaches_instead_of_spinning():
    log = Log(5)
    log.items = [0, 1]
    with log.hub.subscribe(-1) as reader:
        assert [await reader.receive() for _ in range(2)] == [0, 1]
        with pytest.raises(FeedDetachedError, match="nothing is stored at 2"):
            await reader.receive()


async def test_what_reading_raises_reaches_only_this_reader_which_may_try_again():
    log = Log(5)
    healthy = log.read
    with log.hub.subscribe(-1) as reader:

        async def broken(start, stop):
            raise StoreUnavailableError("disk", "gone")

        log.hub.read = broken
        with pytest.raises(StoreUnavailableError):
            await reader.receive()
        log.hub.read = healthy
        assert await reader.receive() == 0


STEPS = st.lists(st.sampled_from(["append", "live", "receive", "reconnect", "cancel"]), max_size=80)


@given(steps=STEPS, start=st.integers(-1, 4))
async def test_any_mix_of_steps_delivers_exactly_once_and_in_order(steps, start):
    log = Log(5, live_limit=3)
    reader = log.hub.subscribe(start)
    pushed, got = [], []
    for step in steps:
        if step == "append":
            log.append()
        elif step == "live":
            pushed.append(f"{len(log.items)}.{len(pushed)}")
            log.hub.push_live(pushed[-1])
        elif step == "reconnect":
            reader.close()
            reader = log.hub.subscribe(reader.after)
        else:
            with trio.move_on_after(0) as scope:
                if step == "cancel":
                    scope.cancel()
                got.append(await reader.receive())
    log.hub.close()
    await drain_into(got, reader)
    assert [item for item in got if isinstance(item, int)] == [*range(start + 1, len(log.items))]
    live = [item for item in got if isinstance(item, str)]
    assert live == [item for item in pushed if item in set(live)]
    durable = start + 1
    for item in got:
        if isinstance(item, int):
            durable = item + 1
        else:
            assert durable == int(item.split(".")[0])  # between the right two
