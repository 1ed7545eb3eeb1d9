"""What waits in a session, by the real engine."""

from collections.abc import Callable
from typing import Any

import attrs
import trio
import trio.testing

from actors.errors.input import InputTakenError, QueueFullError
from actors.errors.message import LimitError
from actors.ports.tool import ToolOutput
from actors.rules.policy import Effect
from actors.testing.model import ScriptedModel
from actors.testing.script import Call, CallTools
from actors.testing.tools import CountingTool, SeenCall
from runtime import Limits, open_engine
from tests.conformance.answers import Refused
from tests.conformance.live_world import run


@attrs.define(kw_only=True)
class Standstill(CountingTool):
    """Keeps the turn where it is until it is told to go on, or interrupted."""

    name: str = "stand"
    effect: Effect = "read"
    go_on: trio.Event = attrs.field(factory=trio.Event, init=False)

    async def _act(self, seen: SeenCall, /) -> ToolOutput:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_then, self.go_on, nursery.cancel_scope.cancel)
            nursery.start_soon(_then, seen.context.cancelled, nursery.cancel_scope.cancel)
        self.go_on = trio.Event()
        return ToolOutput(content="stood")


async def _then(event: trio.Event, act: Callable[[], None]) -> None:
    await event.wait()
    act()


class PendingQueue:
    """A session that stands in the middle of a turn, so that all input waits."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.given = given
        self.tool = Standstill()
        self.named = 0

    async def answer(self) -> list[Any]:
        model = ScriptedModel(lambda _request: CallTools(Call("stand")))
        limits = Limits(waiting_inputs=self.given["options"].get("capacity", 100))
        async with open_engine(model=model, tools=[self.tool], limits=limits) as engine:
            self.session = await engine.create()
            await self._stand()
            return [await getattr(self, f"_{verb}")(*args) for verb, *args in self.given["steps"]]

    async def _stand(self) -> None:
        """Go to where the session stands still, with a turn of its own when none runs."""
        await trio.testing.wait_all_tasks_blocked()
        if (await self.session.inspect()).state == "idle":
            await self.session.prompt("start")
        await trio.testing.wait_all_tasks_blocked()
        self.events = (await self.session.inspect()).events

    async def _taken(self) -> list[str]:
        """Return what the session took since it stood still, and let it stand again."""
        before = self.events
        await self._stand()
        texts = []
        async with self.session.events(before - 1, live=False) as feed:
            while feed.after < self.events - 1:
                event = await feed.receive()
                if event.type == "user/message":
                    texts.append(event.data()["content"])
        return [text for text in texts if text != "start"]

    async def _enqueue(self, name: str, options: dict[str, Any] | None = None) -> dict[str, Any]:
        options = options or {}
        self.named += 1
        message_id = options.get("id") or f"unnamed-{self.named}"
        when = "next" if options.get("waits") else "now"
        try:
            await self.session.prompt(name, message_id=message_id, when=when)
        except QueueFullError:
            return {"accepted": False, "dropped": name}
        return {"accepted": True, "dropped": None}

    async def _size(self) -> int:
        return len(await self._snapshot())

    async def _snapshot(self) -> list[str]:
        waiting = await self.session.queue.list()
        return [entry.content for entry in (*waiting.next_step, *waiting.next_turn)]

    async def _drain(self) -> list[str]:
        """What a turn takes when it starts."""
        await self.session.interrupt().settled()
        await self.session.queue.hold()
        await self.session.queue.release()
        return await self._taken()

    async def _drain_skip_waiting(self) -> list[str]:
        """What a step takes."""
        self.tool.go_on.set()
        return await self._taken()

    async def _take_waiting(self) -> list[str]:
        """What the turns take until none waits for a turn of its own."""
        taken: list[str] = []
        while (await self.session.queue.list()).next_turn:
            taken += await self._drain()
        return taken

    async def _set_mode(self, _mode: str) -> None:
        """There is one way of taking (K-8)."""

    async def _withdraw(self, message_id: str) -> str | None:
        waiting = await self.session.queue.list()
        names = {e.message_id: e.content for e in (*waiting.next_step, *waiting.next_turn)}
        try:
            await self.session.queue.withdraw(message_id)
        except InputTakenError:
            return None
        return names[message_id]

    async def _clear(self) -> list[str]:
        waiting = await self.session.queue.list()
        gone = [*waiting.next_step, *waiting.next_turn]
        for entry in gone:
            await self.session.queue.withdraw(entry.message_id)
        return [entry.content for entry in gone]


def pending_queue(given: dict[str, Any]) -> Any:
    try:
        return run(PendingQueue(given).answer)
    except LimitError as refused:
        raise Refused("RangeError") from refused


OPS = {"pending_queue": pending_queue}
