"""Where input goes, what a turn takes, and what starts the next turn.

Two durable lists: ``next-step`` holds what joins the running turn, ``next-turn`` what gets a turn of
its own. The lists themselves are a fold of the log; here are the decisions about them.

Source: L-60..L-67, D-211, D-255..D-269, K-8, K-9.
"""

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias, TypeVar

import attrs

from actors.json import JsonObject

CAPACITY: Final = 100
"""Entries that may wait, both lists together (L-50)."""

Delivery: TypeAlias = Literal["steer", "followup", "inject"]
ListName: TypeAlias = Literal["next-step", "next-turn"]
Place: TypeAlias = Literal["start", "next-step", "next-turn", "append", "refuse"]
Channel: TypeAlias = Literal["steer", "followUp", "inject"]
T = TypeVar("T")


@attrs.frozen(kw_only=True)
class Standing:
    """How a session stands when input arrives."""

    running: bool = False
    """A turn is open, or a start is under way."""
    interrupted: bool = False
    """The running turn was told to stop and has not written its end yet."""
    disposed: bool = False
    """The interrupt came from a shutdown."""
    torn_down: bool = False
    """No turn will ever run here again (L-81)."""
    maintenance: bool = False
    """A compaction or the like holds the idle session (D-259)."""
    held: bool = False
    """Nothing is taken until it is released (K-8)."""
    next_step: int = 0
    next_turn: int = 0
    capacity: int = CAPACITY

    @property
    def full(self) -> bool:
        """Whether no entry fits any more."""
        return self.next_step + self.next_turn >= self.capacity


@attrs.frozen(kw_only=True)
class Route:
    """Where a message goes.

    ``start`` opens a turn with it at once (it never waits, so it needs no queue record); ``append``
    writes it as a user message and starts nothing (L-61); ``refuse`` is a full queue.
    """

    place: Place
    wakes: bool = False
    """A turn must start as soon as it can, when something is still pending then."""
    channel: Channel | None = None
    """What live events report (L-5); None for direct input."""


def route(standing: Standing, delivery: Delivery) -> Route:
    """Return where a message goes; its sender never picks (L-60).

    Args:
        standing: the session at this moment.
        delivery: what the sender means: ``steer`` joins a running turn, ``followup`` waits for a turn of
            its own, ``inject`` joins but never wakes (D-255).
    """
    if standing.torn_down:
        return Route(place="append", channel="inject")
    if _starts_now(standing, delivery):
        return Route(place="start", wakes=True)
    if standing.full:
        return Route(place="refuse")
    if delivery == "inject":
        return Route(place="next-step", channel="inject")
    wakes = not standing.held and not standing.disposed
    if standing.running and not standing.interrupted and delivery == "steer":
        return Route(place="next-step", wakes=wakes, channel="steer")
    return Route(place="next-turn", wakes=wakes, channel="followUp")


def _starts_now(standing: Standing, delivery: Delivery) -> bool:
    """Whether nothing stands before the message; one that waits for a turn goes first (D-258)."""
    free = not (standing.running or standing.maintenance or standing.held or standing.disposed)
    return free and delivery != "inject" and standing.next_turn == 0


def take(
    next_step: Sequence[T], next_turn: Sequence[T], *, at_start: bool, held: bool = False
) -> tuple[tuple[T, ...], tuple[T, ...]]:
    """Return what a step claims of each list: all steers and, at a turn's start, one followup after them.

    Source: D-211.
    """
    if held:
        return (), ()
    return tuple(next_step), tuple(next_turn[:1]) if at_start else ()


def in_background(messages: Sequence[JsonObject]) -> bool:
    """Whether the messages that open a turn were all sent with nobody waiting (L-71)."""
    return bool(messages) and all(message.get("background") is True for message in messages)


@attrs.frozen
class Latch:
    """Whether a wake waits for the driver to become idle (D-259, D-268)."""

    waiting: bool = False

    def noted(self, route: Route, standing: Standing) -> "Latch":
        """Return the latch after a delivery; one that found the session busy is remembered."""
        busy = standing.interrupted or standing.maintenance
        return Latch(self.waiting or (route.wakes and busy and not standing.disposed))


def starts_next(*, may_continue: bool, latch: Latch, pending: int, held: bool) -> bool:
    """Whether another turn starts when one has ended or maintenance is over.

    Args:
        may_continue: the turn completed, so what waits leads on by itself (L-67).
        latch: a wake that arrived after the interrupt (D-268).
        pending: entries in both lists. With none the latch is forgotten.
        held: the queue is held.
    """
    return pending > 0 and not held and (may_continue or latch.waiting)


@attrs.frozen(kw_only=True)
class WakeBudget:
    """At most ``limit`` background-woken turns in a row; a person's start resets the count.

    Source: L-70.
    """

    limit: int = 3
    used: int = 0

    def woken(self) -> tuple["WakeBudget", bool]:
        """Return the budget after a background wake, and whether that wake may start a turn."""
        if self.used >= self.limit:
            return self, False
        return attrs.evolve(self, used=self.used + 1), True

    def foreground(self) -> "WakeBudget":
        """Return the budget after an idle start in the foreground."""
        return attrs.evolve(self, used=0)
