"""Going back behind later events from a state that was kept: the same as folding from the first event."""

import time
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.errors import GreenroomError
from actors.errors.log import SurfaceOpError
from actors.log.events import Draft, Hide
from tests.log_fold.histories import Player, numbers, picture, plays, reload
from tests.log_fold.test_fold_requests import long_log

MANY = settings(max_examples=500, deadline=None)
REFUSED = (
    Draft("user/message", {"content": "x"}),
    Draft("compaction/surface", {}, Hide(0, 10**12)),
)


@MANY
@given(plays, st.lists(numbers, max_size=3), plays, st.integers(1, 9))
def test_forks_and_refused_batches_go_back_to_exactly_what_was(moves, cuts, later, stride):
    with mock.patch("actors.log.fold.STRIDE", stride):
        player = Player()
        for move in moves:
            player.play(move)
        log = player.log
        children = []
        for cut in cuts:
            child = log.fork(cut % (len(log) + 1))
            assert picture(child) == picture(reload(child, log.events(0, len(child))))
            children.append(Player(child))
        for child in (*children, player):
            for move in later:
                child.play(move)
        for child in (*children, player):
            assert_goes_back(child.log)


def assert_goes_back(log):
    whole = picture(reload(log, log.events()))
    assert picture(log) == whole
    with pytest.raises(GreenroomError):
        log.append(*REFUSED, time_ms=5)
    assert picture(log) == whole
    for cut in {len(log) // 2, max(len(log) - 1, 0)}:
        assert picture(log.fork(cut)) == picture(reload(log, log.events(0, cut)))


def refused_s(log):
    best = 10.0
    for _ in range(5):
        start = time.process_time()
        with pytest.raises(SurfaceOpError):
            log.append(*REFUSED, time_ms=1)
        best = min(best, time.process_time() - start)
    return best


def test_a_refused_batch_costs_no_more_in_a_long_session_than_in_a_short_one():
    short, long = long_log(700), long_log(10_000)
    assert refused_s(long) < 5 * refused_s(short) + 0.02
