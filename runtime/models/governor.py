"""The one place where requests wait: what all sessions ask for with one key is kept within its limits.

A governor belongs to a key; each model that is asked with it has a lane of its own for what the provider says
about that model. What is decided is in :mod:`actors.rules.rates`, :mod:`actors.rules.circuit` and
:mod:`actors.rules.fair_line`; here it is waited for.
"""

import math
from typing import Final

import attrs
import trio

from actors.ports.model import Allotment, Failed, HoldReason, ModelRequest, RateReport
from actors.rules.circuit import DOWN, Circuit
from actors.rules.fair_line import SHARE
from actors.rules.rates import Left, Rates, Window, expected
from runtime.models.places import Lane, Place

RATE_LIMITED: Final = "LLM_RATE_LIMITED"
INFLIGHT_LIMIT: Final = "LLM_INFLIGHT_LIMIT"
CIRCUIT_OPEN: Final = "LLM_CIRCUIT_OPEN"
LONGEST_PAUSE_S: Final = 3600.0
"""A provider that asks for a longer pause is asked again after this."""


class Governor:
    """Lets requests go when they may; foreground before background, session by session.

    Units: tokens are those that a provider's usage report sums up; a request counts as many as the latest
    ones used until its own report says better.
    """

    def __init__(self, rates: Rates | None = None) -> None:
        self.rates = rates or Rates()
        requests, tokens = self.rates.requests_per_minute, self.rates.tokens_per_minute
        self._requests = Window(requests) if requests is not None else None
        self._tokens = Window(tokens) if tokens is not None else None
        self._circuit = Circuit(failures=self.rates.failures, open_s=self.rates.open_s)
        self._lanes: dict[str, Lane] = {}
        self._in_a_row = 0
        """How often people went first while another lane had only background work."""
        self.under_way = 0
        """Requests that have been sent and are not over."""
        self.waiting = 0
        """Requests that wait."""

    def place(self, request: ModelRequest) -> Place:
        """Let the request go, refuse it, or put it in the line; it must be given to :meth:`leave` in the end."""
        self._look()  # who waits and may go by now goes first
        now_s = trio.current_time()
        lane = self._lanes.setdefault(request.model, Lane(request.model))
        background = request.background or request.purpose == "summary"
        place = Place(lane, request.session_id, background, now_s + self.rates.wait_s)
        place.refused = self._refusal(lane, now_s)
        if place.refused is not None:
            return place
        if not lane.line and self._delay_s(lane, now_s) <= 0:
            self._go(place, now_s)
            return place
        place.waits_for = self._reason(now_s)
        lane.line.put(place.session_id, place, background=background)
        self.waiting += 1
        self._look()
        return place

    async def wait(self, place: Place) -> Failed | None:
        """Wait until the request may go; the failure when it may not.

        Cancellation:
            The place is given up by :meth:`leave`, at once.
        """
        while not place.decided:
            deadline = min(place.alarm_s, place.last_s)
            with trio.CancelScope(deadline=deadline) as place.scope:
                await place.told.wait()
            place.scope = None
            if not place.decided:
                place.alarm_s = math.inf
                if trio.current_time() >= place.last_s:
                    self._refuse(place, self._waited_too_long())
                self._look()
        return place.refused

    def report(self, place: Place, report: RateReport) -> None:
        """Note what the provider says is left."""
        now_s = trio.current_time()
        place.lane.requests = _left(report.requests, now_s) or place.lane.requests
        place.lane.tokens = _left(report.tokens, now_s) or place.lane.tokens

    def answered(self, place: Place) -> None:
        """The provider has begun to answer: it is up."""
        if not place.answered:
            place.answered = True
            place.lane.pause = attrs.evolve(place.lane.pause, refusals=0)
            self._up()

    def failed(self, place: Place, failed: Failed) -> None:
        """The provider refused the request, or did not answer it; what breaks later says nothing about it."""
        if place.answered:
            return
        place.answered = True
        now_s = trio.current_time()
        if failed.code == RATE_LIMITED or failed.retry_after_s is not None:
            pause = place.lane.pause.refused(now_s, failed.retry_after_s, LONGEST_PAUSE_S)
            place.lane.pause = pause
        if failed.code in DOWN:
            self._circuit = self._circuit.down(now_s)
            self._look()
        else:
            self._up()
        place.used = 0

    def leave(self, place: Place) -> None:
        """The request is over, or is not made any more: the next one may go."""
        if place.under_way:
            place.under_way = False
            self.under_way -= 1
            self._settle(place)
            if place.tries and not place.answered:
                self._circuit = self._circuit.unknown()
        elif place.refused is None:
            self._remove(place)
        self._look()

    def _settle(self, place: Place) -> None:
        if place.used is None:
            return
        if place.tokens is not None and self._tokens is not None:
            self._tokens.settle(place.tokens, place.used)
        if place.used:
            place.lane.usual = expected(place.lane.usual, place.used)

    def _up(self) -> None:
        if self._circuit.failed:
            self._circuit = self._circuit.answered()
            self._look()

    def _look(self) -> None:
        """Let everybody go who may, and see to it that somebody looks again in time."""
        if not self.waiting:
            return
        now_s = trio.current_time()
        if self._circuit.position(now_s) == "open":
            self._refuse_all(now_s)
            return
        while (ready := self._ready(now_s)) is not None:
            self.waiting -= 1
            place = ready.line.take()
            self._go(place, now_s)
            place.told.set()
        for lane in self._lanes.values():
            first = lane.line.first()
            if first is not None:
                first.wake_at(now_s + self._delay_s(lane, now_s))

    def _ready(self, now_s: float) -> Lane | None:
        """Return the lane whose first goes now: one with people, then the one served longest ago.

        After so many with people, one whose first is in the background goes all the same.
        """
        ready = [n for n in self._lanes.values() if n.line and self._delay_s(n, now_s) <= 0]
        people = next((lane for lane in ready if _has_people(lane)), None)
        others = next((lane for lane in ready if not _has_people(lane)), None)
        if people is not None and (others is None or self._in_a_row < SHARE):
            self._in_a_row = self._in_a_row + 1 if others is not None else 0
            return people
        if others is not None:
            self._in_a_row = 0
        return others

    def _go(self, place: Place, now_s: float) -> None:
        lane = self._lanes[place.lane.name] = self._lanes.pop(place.lane.name)
        place.under_way = True
        place.tries = self._circuit.position(now_s) == "half-open"
        self.under_way += 1
        self._circuit = self._circuit.asked(now_s)
        if self._requests is not None:
            self._requests.take(now_s, 1)
        if self._tokens is not None:
            place.tokens = self._tokens.take(now_s, lane.usual)
        lane.requests = lane.requests.take(1) if lane.requests is not None else None
        lane.tokens = lane.tokens.take(lane.usual) if lane.tokens is not None else None

    def _delay_s(self, lane: Lane, now_s: float) -> float:
        """Return how long the next request of a lane must wait; infinite when somebody must leave first."""
        if self._full() or self._circuit.trying:
            return math.inf
        waits_s = [lane.pause.wait_s(now_s)]
        for limit, amount in (
            (self._requests, 1),
            (lane.requests, 1),
            (self._tokens, lane.usual),
            (lane.tokens, lane.usual),
        ):
            if limit is not None:
                waits_s.append(limit.wait_s(now_s, amount))
        return max(waits_s)

    def _full(self) -> bool:
        concurrent = self.rates.concurrent
        return concurrent is not None and self.under_way >= concurrent

    def _reason(self, now_s: float) -> HoldReason:
        if self._circuit.position(now_s) == "half-open":
            return "provider-down"
        return "concurrency" if self._full() else "rate-limit"

    def _refusal(self, lane: Lane, now_s: float) -> Failed | None:
        if self._circuit.position(now_s) == "open":
            return self._down(now_s)
        pause_s = lane.pause.wait_s(now_s)
        if pause_s > self.rates.wait_s:
            text = f"{lane.name} asked for a pause, which lasts {pause_s:.0f} s more"
            return _failed(RATE_LIMITED, text, pause_s)
        if self.waiting >= self.rates.waiting:
            return _failed(INFLIGHT_LIMIT, f"{self.waiting} requests wait for {lane.name} already")
        return None

    def _down(self, now_s: float) -> Failed:
        rest_s = self._circuit.wait_s(now_s)
        text = f"the provider failed {self._circuit.failed} times in a row; nobody asks it for {rest_s:.1f} s"
        return _failed(CIRCUIT_OPEN, text, rest_s)

    def _waited_too_long(self) -> Failed:
        text = f"the limits of the key let no request go for {self.rates.wait_s:g} s"
        return _failed(INFLIGHT_LIMIT, text)

    def _refuse_all(self, now_s: float) -> None:
        for lane in self._lanes.values():
            while lane.line:
                self.waiting -= 1
                place = lane.line.take()
                place.refused = self._down(now_s)
                place.told.set()

    def _refuse(self, place: Place, failed: Failed) -> None:
        self._remove(place)
        place.refused = failed

    def _remove(self, place: Place) -> None:
        self.waiting -= 1
        place.lane.line.remove(place.session_id, place, background=place.background)


def _has_people(lane: Lane) -> bool:
    first = lane.line.first()
    return first is not None and not first.background


def _left(said: Allotment | None, now_s: float) -> Left | None:
    if said is None:
        return None
    return Left(limit=said.limit, left=said.left, reset_s=said.reset_s, at_s=now_s)


def _failed(code: str, text: str, retry_after_s: float | None = None) -> Failed:
    return Failed(bucket="transient", code=code, message=text, retry_after_s=retry_after_s)
