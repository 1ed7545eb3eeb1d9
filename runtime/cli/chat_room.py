"""One conversation: lines come in, the session answers, asks are put; all of it at the same time."""

from collections import deque
from typing import Final

import trio

from actors.errors import GreenroomError
from actors.log.events import Event
from actors.log.projection import SystemMessage
from actors.session.ask import Ask
from actors.session.asks import AskWatch
from actors.session.live import LiveItem
from runtime.cli import chat_verbs
from runtime.cli.chat_commands import HELP, Command, Say, Unknown, answer, meaning
from runtime.cli.chat_view import View
from runtime.cli.terminal import Terminal
from runtime.engine.engine import Engine
from runtime.engine.session import Session

HISTORY: Final = 6
"""Messages that are shown of a session that is taken up again."""


class Room:
    """Where one person talks with one session at a time."""

    def __init__(self, engine: Engine, terminal: Terminal) -> None:
        self._engine, self._terminal = engine, terminal
        self._view = View(coloured=terminal.coloured)
        self._asks: deque[Ask] = deque()
        self._session: Session | None = None
        self._following: trio.CancelScope | None = None
        self._nursery: trio.Nursery | None = None
        self._running = False
        self._settling = trio.Event()
        """Set when a turn has ended or an ask has come: what a piped line waits for."""
        self._ended = False
        self._left = False

    @property
    def session(self) -> Session:
        """The session that is talked with."""
        assert self._session is not None
        return self._session

    async def talk(self, session: Session, about: str) -> None:
        """Talk until the input ends or ``/quit``.

        Cancellation:
            Leaves at once; the engine ends what runs.
        """
        async with trio.open_nursery() as nursery, self._engine.asks() as asks:
            self._nursery = nursery
            await self._write(self._view.note(f"{about}; /help lists the commands"))
            await self._enter(session)
            nursery.start_soon(self._watch_asks, asks)
            while not self._left:
                await self._sign()
                line = await self._line()
                if line is None:
                    await self._end(asks)
                else:
                    await self._obey(line)
            nursery.cancel_scope.cancel()

    async def interrupt(self) -> None:
        """End what runs in the session; the conversation goes on."""
        if self._session is not None and not self.session.interrupt("session").found:
            self._view.broken()
            await self._write(self._view.note("nothing runs; /quit or Ctrl-D leaves"))
            await self._sign()

    async def _end(self, asks: AskWatch) -> None:
        """The input has ended: a piped conversation waits for its answer, and nobody answers asks."""
        self._ended = True
        asks.decline()
        while self._running and not self._terminal.interactive:
            await self._settled()
        self._left = True

    async def _line(self) -> str | None:
        """Return the next line; one that ends with a backslash goes on in the next."""
        line = await self._terminal.line()
        while line is not None and line.endswith("\\"):
            more = await self._terminal.line()
            line = f"{line[:-1]}\n{more}" if more is not None else line[:-1]
            if more is None:
                break
        if self._terminal.interactive:
            self._view.typed()
        return line

    async def _obey(self, line: str) -> None:
        if not line.strip():
            return
        try:
            if self._asks and not line.startswith("/"):
                await self._answer(line)
            else:
                await self._do(line)
        except GreenroomError as error:
            await self._fail(error)

    async def _do(self, line: str) -> None:
        match meaning(line):
            case Say(text):
                await self._prompt(text)
            case Command() as command:
                await self._command(command)
            case Unknown(word):
                await self._write(self._view.error(f"no command {word}: /help lists them"))

    async def _prompt(self, text: str) -> None:
        was_running, self._running = self._running, True
        try:
            turn = await self.session.prompt(text)
        except GreenroomError:
            self._running = was_running
            raise
        if turn.queued:
            await self._tell("joins the running turn at its next step" if was_running else "waits")
            self._running = was_running
        if not self._terminal.interactive:
            # Whoever pipes lines in wants them one after the other.
            while self._running and not self._asks:
                await self._settled()

    async def _command(self, command: Command) -> None:
        session, words = self.session, command.words
        match command.name:
            case "fork":
                await self._enter(await chat_verbs.fork(session, words))
            case "resume" if words:
                await self._enter(await chat_verbs.resume(self._engine, words[0]))
            case "resume":
                await self._tell(await chat_verbs.sessions(self._engine, session.id))
            case "compact":
                assert self._nursery is not None
                self._nursery.start_soon(self._compact, session)
            case "queue":
                await self._tell(await chat_verbs.queue(session, words))
            case "cost":
                await self._tell(await chat_verbs.cost(session))
            case "help":
                await self._tell(HELP)
            case "quit":
                self._left = True

    async def _compact(self, session: Session) -> None:
        try:
            await self._tell(await chat_verbs.compact(session))
        except GreenroomError as error:
            await self._fail(error)
        await self._sign()

    async def _answer(self, line: str) -> None:
        word = answer(line)
        if word is None:
            await self._write(self._view.ask(self._asks[0]))
            return
        ask = self._asks.popleft()
        outcome = await self._engine.answer(ask.id, word, by="chat")
        if outcome.outcome == "superseded":
            await self._tell(f"it was answered before: {outcome.settlement.decision}")
        if self._asks:
            await self._write(self._view.ask(self._asks[0]))

    async def _enter(self, session: Session) -> None:
        """Talk with another session from now on; what runs in the old one goes on."""
        if self._following is not None:
            self._following.cancel()
        self._session, self._running = session, False
        seen = (await session.projection()).messages
        past = [message for message in seen if not isinstance(message, SystemMessage)]
        await self._write(self._view.note(f"session {session.id}"))
        await self._write(self._view.history(past[-HISTORY:]))
        assert self._nursery is not None
        await self._nursery.start(self._follow, session)

    async def _follow(
        self, session: Session, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        with trio.CancelScope() as self._following:
            async with session.events() as feed:
                task_status.started()
                async for item in feed:
                    await self._write(self._view.item(item))
                    await self._note(item)

    async def _note(self, item: Event | LiveItem) -> None:
        """Keep in mind what an event says about the turn and the asks."""
        if not isinstance(item, Event):
            return
        if item.type == "turn/start":
            self._running = True
        elif item.type == "turn/end":
            self._running = False
            self._wake()
            await self._sign()
        elif item.type == "approval/decided":
            data = item.data()
            known = data.get("approvalId") if isinstance(data, dict) else None
            self._asks = deque(ask for ask in self._asks if ask.id != known)

    async def _watch_asks(self, asks: AskWatch) -> None:
        async for ask in asks:
            if self._ended:
                asks.decline()
                continue
            self._asks.append(ask)
            self._wake()
            if len(self._asks) == 1:
                await self._write(self._view.ask(ask))

    async def _settled(self) -> None:
        await self._settling.wait()

    def _wake(self) -> None:
        self._settling.set()
        self._settling = trio.Event()

    async def _sign(self) -> None:
        """Show that a line is waited for, when nothing runs and nothing is asked."""
        if self._terminal.interactive and not (self._running or self._asks or self._left):
            await self._write(self._view.prompt())

    async def _tell(self, text: str) -> None:
        await self._write(self._view.note(text) if text else "")

    async def _fail(self, error: GreenroomError) -> None:
        await self._write(self._view.error(f"{error} [{error.code}]"))

    async def _write(self, text: str) -> None:
        await self._terminal.write(text)
