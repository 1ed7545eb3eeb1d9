"""What a conversation shows: items of a feed become text. No waiting here: the chat writes it.

Live pieces may be missing, durable events never are: a message shows what its pieces did not.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from actors.json import JsonObject, JsonValue
from actors.log.events import Event
from actors.log.projection import (
    AssistantMessage,
    ProjectedMessage,
    ToolResultMessage,
    UserMessage,
)
from actors.log.request import content_text
from actors.session.ask import Ask
from actors.session.live import LiveItem, RequestHeld, StreamDelta
from runtime.cli.terminal import plain

SHOWN_CHARS: Final = 400
"""Of a call's arguments or its result."""
SHOWN_LINES: Final = 6

_DIM: Final = "2"
_BOLD: Final = "1"
_RED: Final = "31"
_YELLOW: Final = "33"
_CYAN: Final = "36"
_MS: Final = 1000
_QUIET: Final = frozenset(("completed",))
"""Ends of turns that need no word."""


_HELD: Final = {
    "rate-limit": "as much as the key may ask for has been asked",
    "concurrency": "as many requests as may be are under way",
    "provider-down": "another one finds out whether the provider is back",
}


class View:
    """Turns what happens in one session into text for a terminal."""

    def __init__(self, *, coloured: bool) -> None:
        self._coloured = coloured
        self._said: dict[tuple[int, int], str] = {}
        """The visible text that was shown of a step's reply."""
        self._at_start = True
        self._thinking = False
        self._handlers: dict[str, Callable[[JsonObject], Iterator[str]]] = {
            "assistant/message": self._message,
            "tool/call": self._call,
            "tool/result": self._result,
            "llm/retry": self._retry,
            "turn/end": self._turn_end,
            "approval/decided": self._decided,
            "compaction/end": self._compacted,
        }

    def item(self, item: Event | LiveItem) -> str:
        """Return what to write for an item; nothing for most."""
        if isinstance(item, StreamDelta):
            return self._delta(item)
        if isinstance(item, RequestHeld):
            return self._row(_YELLOW, f"(the request waits: {_HELD[item.reason]})")
        handler = self._handlers.get(item.type) if isinstance(item, Event) else None
        data = item.data() if handler is not None and isinstance(item, Event) else None
        return "".join(handler(data)) if handler is not None and isinstance(data, dict) else ""

    def ask(self, ask: Ask) -> str:
        """Return the question."""
        what = self._row(_YELLOW, f"? may it run: {_short(ask.summary)}")
        return what + self._keep("  y(es), n(o), a(lways), c(ancel the turn): ")

    def history(self, messages: Sequence[ProjectedMessage]) -> str:
        """Return the last messages of a session that is taken up again."""
        return self._keep("".join(map(self._past, messages)))

    def note(self, text: str) -> str:
        """Return a line of the chat itself."""
        return self._row(_DIM, plain(text))

    def error(self, text: str) -> str:
        """Return a line that says what failed."""
        return self._row(_RED, plain(text))

    def prompt(self) -> str:
        """Return the sign that a line is waited for."""
        return self._keep(f"{self._line()}{self.styled(_BOLD, '> ')}")

    def broken(self) -> None:
        """Note that the terminal has shown something by itself, such as ^C."""
        self._at_start = False

    def typed(self) -> None:
        """Note that the terminal has shown a line, and its end, by itself."""
        self._at_start = True

    def styled(self, code: str, text: str) -> str:
        """Return the text in a style, where the terminal shows styles."""
        return f"\x1b[{code}m{text}\x1b[0m" if self._coloured and text else text

    def _keep(self, text: str) -> str:
        """Return the text, and remember whether it leaves the cursor at the start of a line."""
        if text:
            self._at_start = text.endswith("\n")
        return text

    def _row(self, style: str, text: str) -> str:
        """Return the text on lines of its own."""
        return self._keep(f"{self._line()}{self.styled(style, text)}\n")

    def _line(self) -> str:
        """Return what brings the cursor to the start of a line."""
        return "" if self._at_start else "\n"

    def _delta(self, delta: StreamDelta) -> str:
        if delta.kind == "arguments":
            return ""
        text, thinking = plain(delta.text), delta.kind == "thinking"
        border = self._keep(self._line() if self._thinking is not thinking else "")
        self._thinking = thinking
        if not thinking:
            key = delta.turn, delta.step
            self._said[key] = self._said.get(key, "") + text
        shown = self.styled(_DIM, text) if thinking else text
        self._keep(text)
        return border + shown

    def _message(self, data: JsonObject) -> Iterator[str]:
        whole = plain(content_text(data.get("content")))
        said = self._said.pop((_number(data, "turn"), _number(data, "step")), "")
        self._thinking = False
        rest = whole[len(said) :] if whole.startswith(said) else self._line() + whole
        yield self._keep(rest)
        error = data.get("errorMessage")
        if isinstance(error, str):
            yield self._row(_RED, plain(error))

    def _call(self, data: JsonObject) -> Iterator[str]:
        name, arguments = plain(_text(data, "name")), _short(_text(data, "arguments"))
        yield self._row(_CYAN, f"-> {name} {arguments}")

    def _result(self, data: JsonObject) -> Iterator[str]:
        failed = bool(data.get("error"))
        sign = "<- failed: " if failed else "<- "
        text = _short(content_text(data.get("content")))
        yield self._row(_RED if failed else _DIM, sign + text)

    def _retry(self, data: JsonObject) -> Iterator[str]:
        if data.get("phase") == "scheduled":
            self._said.clear()
            seconds, model = _number(data, "delayMs") / _MS, plain(_text(data, "model"))
            when = f"now with {model}" if model else f"again in {seconds:.1f} s"
            yield self._row(_YELLOW, f"({when}: {plain(_text(data, 'errorMessage'))})")

    def _decided(self, data: JsonObject) -> Iterator[str]:
        yield self._row(_DIM, f"({_text(data, 'decision')}, by {_text(data, 'source')})")

    def _compacted(self, data: JsonObject) -> Iterator[str]:
        hidden = data.get("occludedMessages")
        more = f": {hidden} messages are summarised" if hidden else ""
        yield self._row(_DIM, f"(compaction {_text(data, 'reason')}{more})")

    def _turn_end(self, data: JsonObject) -> Iterator[str]:
        reason, cause = _text(data, "reason"), _text(data, "cause")
        self._said.clear()
        yield self._keep(self._line())
        if reason not in _QUIET:
            yield self._row(_YELLOW, f"(turn ended: {reason}{f', {cause}' if cause else ''})")

    def _past(self, message: ProjectedMessage) -> str:
        match message:
            case UserMessage():
                return f"{self.styled(_BOLD, '> ')}{plain(content_text(message.content))}\n"
            case AssistantMessage():
                text = plain(content_text(message.content))
                calls = (f"-> {plain(call.tool_name)}\n" for call in message.tool_calls)
                return (f"{text}\n" if text else "") + self.styled(_CYAN, "".join(calls))
            case ToolResultMessage():
                return self.styled(_DIM, f"<- {_short(content_text(message.output))}") + "\n"
            case _:
                return ""


def _short(text: str) -> str:
    """Return the first lines of a text; three points stand for the rest."""
    lines = plain(text).split("\n")
    cut = "\n   ".join(lines[:SHOWN_LINES])
    whole = len(lines) <= SHOWN_LINES and len(cut) <= SHOWN_CHARS
    return cut if whole else f"{cut[:SHOWN_CHARS]} ..."


def _text(data: JsonObject, key: str) -> str:
    value = data.get(key)
    return value if isinstance(value, str) else ""


def _number(data: JsonObject, key: str) -> int:
    value: JsonValue = data.get(key)
    return value if isinstance(value, int) else 0
