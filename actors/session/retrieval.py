"""The model's way back to what it does not see: ``ccr_retrieve``, offered once there is something to read.

It reads what compactions hid, and the blobs that the log names: whole outputs and attached files.

Source: S-165..S-168, K-15 (it reads the nodes that the replacement shadows), K-4.
"""

from typing import Final

import attrs
import trio

from actors.errors.rules import SettingError
from actors.ids import SessionId
from actors.json import JsonObject, JsonValue
from actors.log.blobs import is_digest
from actors.log.events import Event
from actors.log.log import Log
from actors.log.overflow import READER
from actors.log.project import event_message, message_to_wire
from actors.log.projection import (
    AssistantMessage,
    ProjectedCall,
    ProjectedMessage,
    ToolResultMessage,
)
from actors.ports.model import ToolSchema
from actors.ports.store import EventStore
from actors.ports.tool import ToolContext, ToolOutput
from actors.rules.ccr import Archive, directory, page, render
from actors.rules.policy import Effect
from actors.session.blob_pages import BlobPages

NAME: Final = READER
MOST_CALLS: Final = 1024
"""Calls of one reply that are looked for."""
_SCHEMA: Final = ToolSchema(
    NAME,
    "Read what is not shown: messages that a summary stands for, the whole of a long output, an attached"
    " file. Without a hash: list what can be read.",
    {
        "type": "object",
        "properties": {
            "hash": {
                "type": "string",
                "description": "the hash behind <<ccr: in the summary, or sha256:... of an output or file",
            },
            "fromMessage": {"type": "integer", "description": "go on from this message"},
            "fromByte": {
                "type": "integer",
                "description": "go on from this byte of an output or file",
            },
        },
        "additionalProperties": False,
    },
)


def has_archives(log: Log, start: int) -> bool:
    """Whether an event from ``start`` on put something away, or names what is kept outside the log."""
    return log.fold.put_away >= start


class RetrieveTool:
    """Reads the archives and the blobs of one session.

    Of a log that began with a snapshot it needs all that is hidden: the first call fetches it.
    """

    def __init__(self, log: Log, store: EventStore, session_id: SessionId) -> None:
        self._log, self._store, self._session_id = log, store, session_id
        self._blobs = BlobPages(log, store, session_id)

    @property
    def schema(self) -> ToolSchema:
        """Name, description and parameters for the model."""
        return _SCHEMA

    @property
    def effect(self) -> Effect:
        """It only reads."""
        return "read"

    @property
    def timeout_s(self) -> float | None:
        """It waits for the store alone."""
        return None

    async def call(self, arguments: JsonValue, context: ToolContext) -> ToolOutput:  # noqa: ARG002 - the port
        """Return a page of an archive, or the list of them; an unknown hash is explained, no error."""
        await self._fetch()
        given = arguments if isinstance(arguments, dict) else {}
        ends = self._ends()
        wanted = given.get("hash")
        if wanted is None:
            return ToolOutput(content=_listed(directory(ends), self._blobs.listed()))
        if isinstance(wanted, str) and is_digest(wanted):
            return await self._blobs.read(wanted, given.get("fromByte", 0))
        end = next((end for end in ends if end.get("ccrHash") == wanted), None)
        if end is None:
            return ToolOutput(
                content=f"nothing is stored under {wanted!r}; leave the hash out for a list"
            )
        try:
            found = page(self._rendered(end), given.get("fromMessage", 0))
        except SettingError as refused:
            return ToolOutput(content=str(refused), is_error=True, code="TOOL_INVALID_ARGS")
        return ToolOutput(content=found.reply())

    async def _fetch(self) -> None:
        absent = self._log.absent(0, len(self._log))
        if absent:
            self._log.recall(await self._store.read(self._session_id, absent.start, absent.stop))
        await trio.lowlevel.checkpoint()

    def _ends(self) -> list[JsonObject]:
        data = [event.data() for event in self._log.events_of_type("compaction/end")]
        return [end for end in data if isinstance(end, dict) and end.get("ccrHash")]

    def _rendered(self, end: JsonObject) -> list[str]:
        seq = end.get("summarySeq")
        summary = self._log.event(seq) if isinstance(seq, int) else None
        sources = summary.sources or () if summary is not None else ()
        messages = [self._message(source) for source in sources]
        names = {c.tool_call_id: c.tool_name for m in messages for c in _calls(m)}
        return [render(message_to_wire(_named(m, names))) for m in messages if m is not None]

    def _message(self, seq: int) -> ProjectedMessage | None:
        """Return the message of an event, a reply with the calls that were logged behind it."""
        message = event_message(self._log.event(seq))
        if not isinstance(message, AssistantMessage):
            return message
        calls = list(message.tool_calls)
        for event in self._log.events(seq + 1, seq + 1 + MOST_CALLS):
            if event.type != "tool/call":
                break
            calls.append(_call(event))
        return attrs.evolve(message, tool_calls=tuple(calls))


def _call(event: Event) -> ProjectedCall:
    data = event.data()
    made = data if isinstance(data, dict) else {}
    return ProjectedCall(str(made.get("toolCallId")), str(made.get("name")), made.get("arguments"))


def _calls(message: ProjectedMessage | None) -> tuple[ProjectedCall, ...]:
    return message.tool_calls if isinstance(message, AssistantMessage) else ()


def _named(message: ProjectedMessage, names: dict[str, str]) -> ProjectedMessage:
    if not isinstance(message, ToolResultMessage):
        return message
    return attrs.evolve(message, tool_name=names.get(message.tool_call_id, ""))


def _listed(archives: list[Archive], blobs: list[str]) -> str:
    lines = [f"{a.hash}: {a.messages} messages, {a.chars} characters" for a in archives]
    return "\n".join([*lines, *blobs]) or "nothing was put away"
