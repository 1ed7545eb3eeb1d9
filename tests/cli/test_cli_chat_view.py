"""What a conversation shows, and what a typed line means."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.log.codec import encode
from actors.log.events import Event
from actors.session.live import StreamDelta
from runtime.cli.chat_commands import Command, Say, Unknown, answer, meaning
from runtime.cli.chat_view import View
from runtime.cli.terminal import plain


def delta(text: str, kind: str = "text", offset: int = 0) -> StreamDelta:
    return StreamDelta(turn=1, step=1, attempt=1, index=0, kind=kind, offset=offset, text=text)


def event(word: str, data: dict, seq: int = 0) -> Event:
    return Event(seq=seq, time_ms=0, type=word, body=encode(data))


def reply(text: str, **more: object) -> Event:
    content = [{"type": "text", "text": text}]
    return event("assistant/message", {"content": content, "turn": 1, "step": 1, **more})


def shown(*items: object) -> str:
    view = View(coloured=False)
    return "".join(view.item(item) for item in items)


@pytest.mark.parametrize(
    "pieces",
    [["One two"], ["One ", "two"], [], ["One "], ["Two lost "], ["One two"[:3]]],
)
def test_a_message_shows_whatever_its_pieces_did_not(pieces: list[str]) -> None:
    assert "One two" in shown(*map(delta, pieces), reply("One two"))


def test_a_message_that_was_streamed_is_shown_once() -> None:
    text = shown(
        delta("One "),
        delta("two"),
        reply("One two"),
        event("turn/end", {"turn": 1, "reason": "completed"}),
    )

    assert text == "One two\n"


def test_reasoning_and_text_stand_on_lines_of_their_own_and_arguments_are_not_streamed() -> None:
    assert shown(delta("Hm.", "thinking"), delta("{}", "arguments"), delta("Five.")) == "Hm.\nFive."


def test_a_retry_forgets_what_the_failed_attempt_showed() -> None:
    scheduled = event("llm/retry", {"phase": "scheduled", "delayMs": 1500, "errorMessage": "busy"})
    text = shown(delta("One "), scheduled, delta("One "), reply("One two"))

    assert text == "One \n(again in 1.5 s: busy)\nOne two"


@pytest.mark.parametrize(
    ("item", "text"),
    [
        (event("tool/call", {"name": "add", "arguments": '{"a": 2}'}), '-> add {"a": 2}\n'),
        (event("tool/result", {"content": "5"}), "<- 5\n"),
        (event("tool/result", {"content": "no", "error": True}), "<- failed: no\n"),
        (event("turn/end", {"reason": "aborted", "cause": "user"}), "(turn ended: aborted, user)\n"),
        (event("turn/end", {"reason": "error"}), "(turn ended: error)\n"),
        (event("compaction/end", {"reason": "completed", "occludedMessages": 4}),
         "(compaction completed: 4 messages are summarised)\n"),
        (event("custom/word", {"x": 1}), ""),
        (event("tool/call", {}), "->  \n"),
    ],
)  # fmt: skip
def test_an_event_is_one_line(item: Event, text: str) -> None:
    assert shown(item) == text


def test_a_long_result_is_cut() -> None:
    text = shown(event("tool/result", {"content": "x" * 9_000 + "\ny" * 90}))

    assert len(text) < 600
    assert text.endswith(" ...\n")


def test_styles_are_for_terminals_only() -> None:
    call = event("tool/call", {"name": "add", "arguments": "{}"})

    assert "\x1b[" in View(coloured=True).item(call)
    assert "\x1b" not in View(coloured=False).item(call)


@given(st.text())
def test_nothing_that_a_terminal_obeys_is_let_through(text: str) -> None:
    kept = plain(text)

    assert not any(char < " " and char not in "\n\t" for char in kept)
    assert not any("\x7f" <= char <= "\x9f" or "\u202a" <= char <= "\u202e" for char in kept)


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("hello", Say("hello")),
        ("//etc", Say("/etc")),
        ("/fork 3", Command("fork", ("3",))),
        ("/exit", Command("quit")),
        ("/nope x", Unknown("/nope")),
        ("/", Unknown("/")),
        (" /fork", Say(" /fork")),
    ],
)
def test_a_line_means_input_or_a_command(line: str, meant: object) -> None:
    assert meaning(line) == meant


@given(st.text(max_size=20))
def test_every_line_means_something_and_only_clear_words_answer(line: str) -> None:
    meaning(line)
    assert answer(line) in {None, "approve", "reject", "always", "cancel"}
    assert answer("") is None
