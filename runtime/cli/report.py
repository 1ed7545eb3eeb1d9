"""What a drive came to: for people as lines, for programs as one JSON object."""

from collections.abc import Iterator, Mapping

import attrs
import orjson


@attrs.frozen
class Verdict:
    """The end check of one session: its stored log, folded from scratch, against what the actor held."""

    session_id: str
    fault: str | None
    """What differs; None when nothing does."""


@attrs.frozen(kw_only=True)
class Report:
    """The figures of one drive.

    Units: ``events_per_s`` counts durable events; ``memory_per_session_bytes`` is what the process grew
    by, divided by the sessions that lived at the end, None where it cannot be read.
    """

    store: str
    sessions: int
    forks: int
    turns: Mapping[str, int]
    """Ended turns by their reason."""
    events: int
    asks: int
    commits: int
    acts: Mapping[str, int]
    duration_s: float
    memory_per_session_bytes: int | None
    verdicts: tuple[Verdict, ...]
    failures: Mapping[str, str]
    """Sessions whose conversation went wrong, with the reason."""
    unreadable: Mapping[str, str]
    """Files whose format cannot be read, with the reason."""
    interrupted: bool
    """Whether the drive was stopped before it was through."""

    @property
    def events_per_s(self) -> float:
        """Return durable events per second of the drive."""
        return self.events / self.duration_s if self.duration_s else 0.0

    @property
    def faults(self) -> tuple[Verdict, ...]:
        """Return the sessions whose log and actor disagree."""
        return tuple(verdict for verdict in self.verdicts if verdict.fault is not None)

    @property
    def passed(self) -> int:
        """Return how many sessions were checked and found right."""
        return len(self.verdicts) - len(self.faults)

    def to_json(self) -> bytes:
        """Return the report as JSON text.

        Shape: ``{store, sessions, forks, turns, turnsByReason, events, eventsPerS, asks, commits,
        acts, durationS, memoryPerSessionBytes, checks: {passed, failed: [{session, fault}]},
        failures: {session: reason}, unreadable: {file: reason}, interrupted}``.
        """
        failed = [{"session": one.session_id, "fault": one.fault} for one in self.faults]
        return orjson.dumps(
            {
                "store": self.store,
                "sessions": self.sessions,
                "forks": self.forks,
                "turns": sum(self.turns.values()),
                "turnsByReason": dict(self.turns),
                "events": self.events,
                "eventsPerS": round(self.events_per_s, 1),
                "asks": self.asks,
                "commits": self.commits,
                "acts": dict(self.acts),
                "durationS": round(self.duration_s, 3),
                "memoryPerSessionBytes": self.memory_per_session_bytes,
                "checks": {"passed": self.passed, "failed": failed},
                "failures": dict(self.failures),
                "unreadable": dict(self.unreadable),
                "interrupted": self.interrupted,
            },
            option=orjson.OPT_INDENT_2,
        )

    def lines(self) -> Iterator[str]:
        """Yield the summary for people."""
        yield (
            f"{counted(self.sessions, 'session')} and {counted(self.forks, 'fork')}: "
            f"{counted(sum(self.turns.values()), 'turn')} ({_counts(self.turns)}), "
            f"{counted(self.events, 'event')}, {counted(self.asks, 'ask')}"
        )
        yield (
            f"{self.duration_s:.2f} s, {self.events_per_s:,.0f} events/s, {self.commits} commits, "
            f"memory per live session {_kib(self.memory_per_session_bytes)}"
        )
        if self.acts:
            yield f"by the seed: {_counts(self.acts)}"
        for name, why in self.unreadable.items():
            yield f"not read: {name}: {why}"
        for session_id, why in self.failures.items():
            yield f"FAILED {session_id}: {why}"
        for verdict in self.faults:
            yield f"WRONG {verdict.session_id}: {verdict.fault}"
        yield f"checked: {self.passed} of {len(self.verdicts)} stored logs fold to what their actor held"
        if self.interrupted:
            kept = "nothing, the store was in memory" if self.store == ":memory:" else self.store
            yield f"stopped before the end; every turn has settled; kept: {kept}"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items())) or "none"


def _kib(size_bytes: int | None) -> str:
    return "unknown" if size_bytes is None else f"{size_bytes / 1024:.1f} KiB"


def counted(number: int, thing: str) -> str:
    """Return how many of a thing there are, in words for people."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
