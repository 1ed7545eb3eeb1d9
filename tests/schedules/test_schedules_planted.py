"""Races that are planted on purpose: the explorer finds each of them within a few hundred schedules."""

from collections.abc import Callable

import pytest
import trio
from schedule_programs import PROGRAMS
from schedule_runner import Schedule, run_schedule, told

from actors.kernel.feed import FeedHub
from actors.rules.approval import Settlement
from actors.session.ask import OpenAsk, Verdict
from actors.session.asks import AskTable
from actors.session.exchange import Exchange
from actors.session.inputs import Inputs
from actors.session.journal import Journal

WITHIN = 300


def found(name: str, within: int = WITHIN) -> Schedule:
    """Return the first schedule that breaks a promise."""
    for seed in range(within):
        schedule = run_schedule(name, PROGRAMS[name], seed)
        if schedule.error is not None:
            again = run_schedule(name, PROGRAMS[name], seed)
            assert (again.switches, again.digest) == (schedule.switches, schedule.digest)
            return schedule
    raise AssertionError(f"the planted race was not found within {within} schedules of {name}")


def plant_an_ask_that_settles_twice(patch: pytest.MonkeyPatch) -> None:
    def settle(entry: OpenAsk, settlement: Settlement) -> Verdict:
        entry._state = type(entry._state)()  # forgets who was first
        entry._state, verdict = entry._state.settle(settlement)
        entry.settled.set(settlement)
        return verdict

    patch.setattr(OpenAsk, "settle", settle)


def plant_an_acknowledgement_before_the_write(patch: pytest.MonkeyPatch) -> None:
    def acknowledge(journal: Journal, reply, value) -> None:
        reply.set(value)

    patch.setattr(Journal, "acknowledge", acknowledge)


def plant_a_feed_that_shows_what_is_not_written(patch: pytest.MonkeyPatch) -> None:
    post = Journal.post

    def early(journal: Journal, *drafts):
        events = post(journal, *drafts)
        journal._hub.advance(len(journal.log))
        return events

    patch.setattr(Journal, "post", early)


def plant_a_wait_that_misses_the_write_under_way(patch: pytest.MonkeyPatch) -> None:
    async def durable(journal: Journal) -> None:
        if journal.pending or journal.committed < len(journal.log):
            await journal._flushed.wait()

    patch.setattr(Journal, "durable", durable)


def plant_an_interrupt_that_leaves_asks_open(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(AskTable, "withdraw", lambda *_: None)


def plant_two_writers(patch: pytest.MonkeyPatch) -> None:
    post = Journal.post

    def impatient(journal: Journal, *drafts):
        events = post(journal, *drafts)
        trio.lowlevel.spawn_system_task(_flush, journal)
        return events

    async def _flush(journal: Journal) -> None:
        if journal.pending:
            await journal.flush()

    patch.setattr(Journal, "post", impatient)


def plant_a_turn_that_forgets_what_waits(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Inputs, "wake", lambda _: None)


def plant_a_reader_that_is_not_woken(patch: pytest.MonkeyPatch) -> None:
    def advance(hub: FeedHub, end: int) -> None:
        hub._end = max(hub._end, end)

    patch.setattr(FeedHub, "close", advance_and_close)
    patch.setattr(FeedHub, "advance", advance)


def advance_and_close(hub: FeedHub, reason=None) -> None:
    hub.closed, hub.reason = True, reason


def plant_a_late_reader_that_misses_the_beginning(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Exchange, "shown", lambda _: [])


PLANTED: dict[str, tuple[Callable[[pytest.MonkeyPatch], None], str, str]] = {
    "ask": (plant_an_ask_that_settles_twice, "two_answers", ""),
    "ack": (plant_an_acknowledgement_before_the_write, "submit_at_run_end", "P4"),
    "feed": (plant_a_feed_that_shows_what_is_not_written, "submit_at_run_end", "P4"),
    "wait": (plant_a_wait_that_misses_the_write_under_way, "submit_at_run_end", "not taken"),
    "asks": (plant_an_interrupt_that_leaves_asks_open, "interrupt_against_answer", ""),
    "writers": (plant_two_writers, "submit_at_run_end", ""),
    "queue": (plant_a_turn_that_forgets_what_waits, "submit_at_run_end", "not taken"),
    "head": (
        plant_a_late_reader_that_misses_the_beginning,
        "readers_come_in_mid_reply",
        "S-26",
    ),
    "reader": (plant_a_reader_that_is_not_woken, "submit_at_run_end", "hung"),
}


@pytest.mark.parametrize("race", PLANTED)
def test_a_planted_race_is_found_and_its_seed_reproduces_it(race, monkeypatch):
    plant, program, word = PLANTED[race]
    plant(monkeypatch)
    schedule = found(program)
    assert schedule.error is not None
    assert word in told(schedule.error)
