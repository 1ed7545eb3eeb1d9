"""A tool context that remembers what a tool did with it."""

from collections.abc import Awaitable, Callable, Iterable, Iterator

import attrs
import trio

from actors.json import JsonObject, JsonValue
from actors.log.blobs import digest_of
from actors.ports.tool import ToolContext
from actors.rules.policy import Mode


@attrs.define
class RecordedContext:
    """Makes a :class:`~actors.ports.tool.ToolContext` and keeps what went through it.

    ``answers`` are given to the questions in order; when there are none left the answer is no (P6).
    """

    answers: Iterable[bool] = ()
    sandbox_mode: Mode | None = None
    nursery: trio.Nursery | None = None
    """Where what a tool keeps running runs; without one a tool may keep nothing."""
    shown: list[JsonValue] = attrs.field(factory=list, init=False)
    """The progress, in order."""
    attached: list[bytes] = attrs.field(factory=list, init=False)
    """What was kept, in order."""
    questions: list[str] = attrs.field(factory=list, init=False)
    cancelled: trio.Event = attrs.field(factory=trio.Event, init=False)
    _answers: Iterator[bool] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._answers = iter(self.answers)

    def context(self, call_id: str = "call-1", *, session_id: str = "session-1") -> ToolContext:
        """Return a context of the first step of the first turn."""
        return ToolContext(
            session_id=session_id,
            call_id=call_id,
            idempotency_key=f"{session_id}/{call_id}",
            turn=1,
            step=1,
            cancelled=self.cancelled,
            sandbox_mode=self.sandbox_mode,
            progress=self.shown.append,
            ask=self._ask,
            keep=self._keep,
            attach=self._attach,
        )

    async def _attach(
        self,
        content: bytes,
        *,
        media_type: str = "application/octet-stream",
        name: str | None = None,
    ) -> JsonObject:
        await trio.lowlevel.checkpoint()
        self.attached.append(content)
        kind = "image" if media_type.startswith("image/") else "file"
        block: JsonObject = {
            "type": kind,
            "blob": digest_of(content),
            "sizeBytes": len(content),
            "mediaType": media_type,
        }
        return block if name is None else block | {"name": name}

    def _keep(self, run: Callable[[], Awaitable[None]]) -> None:
        assert self.nursery is not None
        self.nursery.start_soon(run)

    async def _ask(self, question: str) -> bool:
        await trio.lowlevel.checkpoint()
        self.questions.append(question)
        return next(self._answers, False)
