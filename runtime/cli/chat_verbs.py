"""The commands of a conversation: each asks the engine, and returns what to show."""

from collections.abc import Sequence
from typing import Final

from actors.errors import UsageError
from actors.ids import SessionId
from actors.log.request import content_text
from actors.ports.store import SessionRow
from actors.session.answers import WaitingInput
from runtime.cli.chat_usage import report
from runtime.engine.engine import Engine
from runtime.engine.session import Session

LISTED: Final = 20
"""Sessions that /resume lists."""
SHOWN_CHARS: Final = 60


class ChatWordError(UsageError):
    """A command was given a word that it cannot use."""

    code = "CHAT_WORD_INVALID"

    def __init__(self, command: str, word: str, wanted: str) -> None:
        super().__init__(command, word, wanted)
        self.command, self.word, self.wanted = command, word, wanted

    def __str__(self) -> str:
        return f"/{self.command} cannot use {self.word!r}: give {self.wanted}"


async def fork(session: Session, words: Sequence[str]) -> Session:
    """Return a copy of the session, up to its last closed turn or to a seq."""
    at = _number("fork", words[0], "the seq of an event") if words else None
    return await session.fork(at)


async def compact(session: Session) -> str:
    """Compact the session; what it hid is shown by the feed."""
    outcome = await session.compact()
    return "" if outcome.outcome == "compacted" else f"compaction: {outcome.outcome}"


async def cost(session: Session) -> str:
    """Return what the session has used."""
    return report(await session.usage())


async def queue(session: Session, words: Sequence[str]) -> str:
    """Show what waits, or change it: ``drop N``, ``hold``, ``release``."""
    match words:
        case []:
            return _listed(await _waiting(session), held=(await session.queue.list()).held)
        case ["hold"]:
            await session.queue.hold()
            return "the queue is held: nothing is taken until /queue release"
        case ["release"]:
            await session.queue.release()
            return "the queue is released"
        case ["drop", place]:
            return await _drop(session, place)
        case _:
            raise ChatWordError("queue", " ".join(words), "drop N, hold or release")


async def _drop(session: Session, place: str) -> str:
    entries = await _waiting(session)
    number = _number("queue", place, "the number of what waits")
    if not 1 <= number <= len(entries):
        raise ChatWordError("queue", place, f"a number from 1 to {len(entries)}")
    entry = entries[number - 1]
    await session.queue.withdraw(entry.message_id)
    return f"withdrawn: {_start(entry)}"


async def _waiting(session: Session) -> list[WaitingInput]:
    waiting = await session.queue.list()
    return [*waiting.next_step, *waiting.next_turn]


def _listed(entries: Sequence[WaitingInput], *, held: bool) -> str:
    lines = [f"{number}  {_start(entry)}" for number, entry in enumerate(entries, 1)]
    return "\n".join([*(["(held)"] if held else []), *lines]) or "nothing waits"


def _start(entry: WaitingInput) -> str:
    return content_text(entry.content).replace("\n", " ")[:SHOWN_CHARS]


async def sessions(engine: Engine, current: SessionId) -> str:
    """Return the latest sessions of the store, one a line."""
    rows: list[SessionRow] = []
    after: SessionId | None = None
    while True:
        page = await engine.sessions(after=after)
        rows += page.sessions
        after = page.next
        if after is None:
            break
    rows.sort(key=lambda row: row.record.created_ms)
    lines = (
        f"{'*' if row.record.id == current else ' '} {row.record.id}  {row.record.title or ''}".rstrip()
        for row in rows[-LISTED:]
    )
    return "\n".join(lines)


async def resume(engine: Engine, name: str) -> Session:
    """Return the session of that name.

    Raises:
        SessionNotFoundError: there is none.
    """
    session = engine.session(name)
    await session.inspect()
    return session


def _number(command: str, word: str, wanted: str) -> int:
    try:
        return int(word)
    except ValueError:
        raise ChatWordError(command, word, wanted) from None
