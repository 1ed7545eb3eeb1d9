"""Appends and loads with the aggregates of eventsourcing."""

from itertools import count
from uuid import UUID

from eventsourcing.application import Application
from eventsourcing.domain import Aggregate, event

from bench.peers.scripts.reporting import Job, main, rate

WORDS = (
    "user/message", "turn/start", "assistant/message", "tool/call", "tool/result", "turn/end",
)  # fmt: skip
TEXT = (
    "an answer of about a hundred characters, as in the events of the other side of this table " * 2
)
EVENTS = 60


class Conversation(Aggregate):
    """A session as an aggregate."""

    @event("Created")
    def __init__(self) -> None:
        self.length = 0

    @event("Said")
    def say(self, word: str, text: str) -> None:  # noqa: ARG002 - the decorator stores them
        """Note one event."""
        self.length += 1


class Conversations(Application):
    """Keeps the sessions."""


def append(job: Job) -> float:
    """Turns of six events in memory, one save for each turn."""
    return _turns(Conversations(), job, wall=False)


def durable_turn(job: Job) -> float:
    """Turns of six events on disk, one save for each turn."""
    return _turns(_on_disk(job), job, wall=True)


def durable_event(job: Job) -> float:
    """Events on disk, one save for each."""
    app, sessions = _on_disk(job), [Conversation() for _ in range(20)]
    app.save(*sessions)
    numbers = count()

    def work() -> None:
        for _ in range(job.count):
            number = next(numbers)
            session = sessions[number % len(sessions)]
            session.say(WORDS[number % len(WORDS)], TEXT)
            app.save(session)

    return rate(job, job.count, work, wall=True)


def load(job: Job) -> float:
    """Sessions of sixty events, read from disk and folded."""
    app = _on_disk(job)
    names: list[UUID] = []
    for _ in range(job.count):
        session = Conversation()
        for number in range(EVENTS):
            session.say(WORDS[number % len(WORDS)], TEXT)
        app.save(session)
        names.append(session.id)
    return rate(job, job.count, lambda: [app.repository.get(name) for name in names], wall=True)


def _turns(app: Conversations, job: Job, *, wall: bool) -> float:
    sessions = [Conversation() for _ in range(20)]
    app.save(*sessions)
    numbers = count()

    def work() -> None:
        for _ in range(job.count):
            session = sessions[next(numbers) % len(sessions)]
            for word in WORDS:
                session.say(word, TEXT)
            app.save(session)

    return rate(job, job.count, work, wall=wall)


def _on_disk(job: Job) -> Conversations:
    return Conversations(
        env={
            "PERSISTENCE_MODULE": "eventsourcing.sqlite",
            "SQLITE_DBNAME": str(job.folder / "eventsourcing.db"),
        }
    )


if __name__ == "__main__":
    main(
        {
            "append": append,
            "durable-turn": durable_turn,
            "durable-event": durable_event,
            "open": load,
        }
    )
