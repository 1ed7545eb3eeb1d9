"""What the end check of a log finds."""

import attrs
import pytest

from actors.log.events import Draft, Event
from actors.log.log import Log
from runtime.cli.acks import parse_ack
from runtime.cli.verify import check_log, differs


def events_of(*drafts: Draft) -> tuple[Event, ...]:
    return Log().append(*drafts, time_ms=1)


HELLO = Draft("user/message", {"content": "hello"})
BEGIN = Draft("turn/start", {"turn": 1})
END = Draft("turn/end", {"turn": 1, "reason": "completed"})


def test_a_closed_log_is_right_and_needs_no_closers() -> None:
    check = check_log("s", events_of(HELLO, BEGIN, END))

    assert (check.events, check.closers, check.fault) == (3, 0, None)


def test_an_open_turn_is_no_fault_but_needs_its_end() -> None:
    check = check_log("s", events_of(HELLO, BEGIN))

    assert (check.closers, check.fault) == (1, None)


def test_a_gap_is_a_fault() -> None:
    first, _, last = events_of(HELLO, BEGIN, END)

    assert check_log("s", [first, last]).fault == "seq 2 stands where 1 is due"
    assert differs([first, last], Log().projection()) == "seq 2 stands where 1 is due"


def test_an_acknowledged_event_that_is_not_stored_is_a_fault() -> None:
    events = events_of(HELLO, BEGIN, END)

    assert check_log("s", events, acknowledged=3).fault is None
    assert (
        check_log("s", events, acknowledged=4).fault == "acknowledged up to seq 3, stored up to 2"
    )


def test_a_log_that_does_not_fold_is_a_fault_with_its_code() -> None:
    (event,) = events_of(HELLO)
    strange = attrs.evolve(event, type="never/heard")

    fault = check_log("s", [strange]).fault

    assert fault is not None
    assert fault.endswith("[SESSION_UNKNOWN_EVENT_TYPE]")


def test_what_the_actor_held_must_equal_the_fold_from_scratch() -> None:
    log = Log()
    events = log.append(HELLO, BEGIN, END, time_ms=1)
    held = log.projection()
    (other,) = Log().append(Draft("user/message", {"content": "hullo"}), time_ms=1)

    assert differs(events, held) is None
    assert differs(events[:2], held) == "2 events are stored, the actor held 3"
    assert differs([other, *events[1:]], held) == (
        "1 messages fold from the store, unlike the 1 held"
    )


@pytest.mark.parametrize(
    ("line", "ack"),
    [("run-1 12\n", ("run-1", 12)), ("run-1 12", None), ("run-1\n", None), ("", None)],
)
def test_an_acknowledgement_that_a_kill_cut_off_does_not_count(
    line: str, ack: tuple[str, int] | None
) -> None:
    assert parse_ack(line) == ack
