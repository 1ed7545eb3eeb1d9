"""Keeps virtual actors alive by key."""

import contextvars
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from operator import attrgetter
from typing import Generic, TypeVar

import attrs
import trio

from actors.errors.actor import (
    ActorCrashedError,
    ActorQuarantinedError,
    ActorStoppedError,
    KernelLimitError,
)
from actors.kernel.actor import Actor
from actors.kernel.casualties import Casualties
from actors.kernel.crash import answer_of, describe, split
from actors.kernel.entry import Entry
from actors.kernel.ref import Ref
from actors.rules.restart import RestartWindow

M = TypeVar("M")

TRIM_PAUSE_S = 0.05
"""How long the supervisor waits, while too many actors are live, before it asks the next ones to leave."""


def _ignore(key: str, error: Exception) -> None:
    del key, error


class Supervisor(Generic[M]):
    """Starts an actor on its first message, again when it crashed, and forgets it when it returned.

    - The mailbox belongs to the address: it survives a crash. What the actor had taken and not
      answered gets ActorCrashedError.
    - More crashes than the window allows put the address into quarantine until :meth:`release`.
    - A failed start that says the address is wrong (a UsageError that is not retryable), or that the
      same call may succeed later (a retryable GreenroomError), is no crash: it answers what waits,
      and the next message tries again. So does a store that cannot serve now, at any moment: to start
      the actor again would not mend the disk.
    - Above ``max_active`` live actors, the least recently used idle ones get an empty batch from
      their mailbox. The limit is soft: who is busy stays.

    Open it with :func:`open_supervisor`.

    Source: design 5.
    """

    def __init__(
        self,
        nursery: trio.Nursery,
        start: Callable[[str], Actor[M]],
        report: Callable[[str, Exception], None],
        limits: "SupervisorLimits",
    ) -> None:
        self._nursery = nursery
        self._start = start
        self._report = report
        self._limits = limits
        self._entries: dict[str, Entry[M]] = {}
        self._casualties = Casualties(limits.window)
        self._closed = False
        self._crowded = trio.Event()
        self._emptied = trio.Event()
        # An actor must not inherit (and keep alive) the context of whoever happened to ask first.
        self._context = contextvars.copy_context()

    def ref(self, key: str) -> Ref[M]:
        """Return the address ``key``; no I/O, nothing is started."""
        return Ref(key, self._entries, self._admit)

    def active(self) -> int:
        """Count the actors that run or are being started or stopped."""
        return len(self._entries)

    def states(self) -> Mapping[str, str]:
        """Return starting, active, stopping or quarantined for every address that is not at rest."""
        states = {key: entry.state for key, entry in self._entries.items()}
        return {**states, **dict.fromkeys(self._casualties.quarantined, "quarantined")}

    def release(self, key: str) -> bool:
        """Lift the quarantine, with no crash on record; False when there was none."""
        return self._casualties.release(key)

    async def stop(self, key: str) -> None:
        """Cancel the actor, wait until it has ended, and answer everyone with ActorStoppedError.

        The address stays valid: a later message starts the actor again.

        Cancellation:
            Always a checkpoint; a cancelled wait does not undo the stop.
        """
        entry = self._entries.get(key)
        if entry is None:
            await trio.lowlevel.checkpoint()
            return
        self._refuse(entry)
        _cancel(entry)
        await entry.ended.wait()

    async def ended(self, key: str) -> bool:
        """Wait until a life that takes no more messages has ended; False when none follows.

        Cancellation:
            Always a checkpoint.
        """
        entry = self._entries.get(key)
        if entry is not None and entry.refusal is not None:
            await entry.ended.wait()
        else:
            await trio.lowlevel.checkpoint()
        return not self._closed

    async def drain(self, deadline_s: float) -> None:
        """Take no more messages, let the actors finish, cancel those that have not by the deadline.

        On return no actor runs and everyone is answered; for good.

        Cancellation:
            Always a checkpoint; cancelled, the actors are cancelled at once.
        """
        self._closed = True
        for entry in self._entries.values():
            self._refuse(entry)
            entry.mailbox.stop()
        if not self._entries:
            self._emptied.set()
        try:
            with trio.move_on_after(deadline_s):
                await self._emptied.wait()
        finally:
            for entry in self._entries.values():
                _cancel(entry)
        await self._emptied.wait()

    def _admit(self, key: str) -> Entry[M]:
        entry = self._entries.get(key)
        if entry is None:
            return self._activate(key)
        if entry.refusal is not None:
            raise ActorStoppedError(key)
        return entry

    def _activate(self, key: str) -> Entry[M]:
        if self._closed:
            raise ActorStoppedError(key)
        reason = self._casualties.quarantined.get(key)
        if reason is not None:
            raise ActorQuarantinedError(key, reason)
        entry: Entry[M] = Entry(key, self._limits.capacity)
        self._entries[key] = entry
        spawn = partial(self._nursery.start_soon, self._keep, entry, name=f"actor {key}")
        self._context.run(spawn)
        if len(self._entries) > self._limits.max_active:
            self._crowded.set()
        return entry

    async def _keep(self, entry: Entry[M]) -> None:
        """Live one life after the other, until the address is at rest, refused or cancelled."""
        again = True
        try:
            while again and entry.refusal is None:
                taken, entry.ready = entry.mailbox.taken, False
                try:
                    with trio.CancelScope() as entry.scope:
                        await self._start(entry.key).run(entry.mailbox, task_status=entry)
                except (Exception, BaseExceptionGroup) as error:  # noqa: BLE001 - faults stay here (P8)
                    again = self._after_raise(entry, error, idle=entry.mailbox.taken == taken)
                else:
                    again = self._after_return(entry, idle=entry.mailbox.taken == taken)
                if again:
                    await trio.lowlevel.checkpoint()
        finally:
            self._forget(entry)

    def _after_return(self, entry: Entry[M], *, idle: bool) -> bool:
        entry.answer_taken(ActorStoppedError(entry.key))
        if entry.refusal is not None or not len(entry.mailbox):
            return False
        if idle:
            return self._count(entry, "it returned without taking the messages that wait")
        return True

    def _after_raise(self, entry: Entry[M], error: BaseException, *, idle: bool) -> bool:
        """Judge what came out of an actor; raises what is not the actor's own."""
        crash, rest = split(error)
        answer = None if crash is None else answer_of(crash, started=entry.ready)
        if answer is not None and (idle or not entry.ready):
            entry.refusal = entry.refusal or answer
        if crash is not None and (entry.ready or answer is None):
            self._report(entry.key, crash)
        if rest is not None:
            raise rest from None
        assert crash is not None
        if answer is None:
            return entry.refusal is None and self._after_crash(entry, crash)
        # What came later is for the next life, which finds out for itself.
        entry.answer_taken(answer)
        return entry.refusal is None and bool(len(entry.mailbox))

    def _after_crash(self, entry: Entry[M], crash: Exception) -> bool:
        why = describe(crash)
        error = ActorCrashedError(entry.key, why)
        error.__cause__ = crash
        entry.answer_taken(error)
        return self._count(entry, why)

    def _count(self, entry: Entry[M], why: str) -> bool:
        """Note a crash; False when it was one too many."""
        reason = self._casualties.crashed(entry.key, why, trio.current_time())
        if reason is not None:
            entry.refusal = ActorQuarantinedError(entry.key, reason)
        return reason is None

    def _refuse(self, entry: Entry[M]) -> None:
        if entry.refusal is None:
            entry.refusal = ActorStoppedError(entry.key)

    def _forget(self, entry: Entry[M]) -> None:
        """Drop the entry in the same step in which its mailbox was seen empty, so nothing is lost."""
        self._refuse(entry)
        del self._entries[entry.key]
        entry.end()
        if self._closed and not self._entries:
            self._emptied.set()

    async def _trim(self) -> None:
        """Ask idle actors to leave while too many are live."""
        while True:
            await self._crowded.wait()
            self._crowded = trio.Event()
            while (excess := len(self._entries) - self._limits.max_active) > 0:
                idle = [entry.mailbox for entry in self._entries.values() if entry.mailbox.idle]
                for mailbox in sorted(idle, key=attrgetter("idle_since"))[:excess]:
                    mailbox.nudge()
                await trio.sleep(TRIM_PAUSE_S)


@attrs.frozen(kw_only=True)
class SupervisorLimits:
    """The bounds of a supervisor."""

    capacity: int
    max_active: int
    window: RestartWindow


def _cancel(entry: Entry[M]) -> None:
    if entry.scope is not None:
        entry.scope.cancel()


@asynccontextmanager
async def open_supervisor(
    start: Callable[[str], Actor[M]],
    *,
    capacity: int = 1024,
    max_active: int = 10_000,
    window: RestartWindow | None = None,
    drain_s: float = 5.0,
    report: Callable[[str, Exception], None] = _ignore,
) -> AsyncIterator[Supervisor[M]]:
    """Open a supervisor that owns the tasks of its actors.

    Leaving the block drains it with the deadline ``drain_s``; leaving it by an error or a
    cancellation cancels the actors at once. Either way everyone is answered.

    Args:
        start: makes the actor of a key; called before each of its lives, must not wait.
        capacity: how many messages may wait for one actor.
        max_active: above that many live actors, idle ones are asked to leave.
        window: how many crashes an actor may have.
        drain_s: the deadline on leaving.
        report: is told the key and the error of every crash; must not raise.

    Raises:
        KernelLimitError: ``capacity`` or ``max_active`` is below 1.
    """
    for name, value in (("capacity", capacity), ("max_active", max_active)):
        if value < 1:
            raise KernelLimitError(name, value, 1)
    limits = SupervisorLimits(
        capacity=capacity, max_active=max_active, window=window or RestartWindow()
    )
    async with trio.open_nursery() as actors:
        supervisor: Supervisor[M] = Supervisor(actors, start, report, limits)
        actors.start_soon(supervisor._trim)  # noqa: SLF001 - its own opener
        try:
            yield supervisor
            await supervisor.drain(drain_s)
        finally:
            supervisor._closed = True  # noqa: SLF001 - its own opener
            actors.cancel_scope.cancel()
