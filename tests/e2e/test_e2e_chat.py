"""``greenroom chat`` as a person would use it, in a pseudo-terminal and in a pipe."""

import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

from runtime.models.replay_samples import load_samples, recording_for
from runtime.models.replay_tools import effect_of
from tests.e2e.pseudo_terminal import CTRL_C, CTRL_D, Screen, on_screen, with_variables
from tests.fake_provider.answers import Answer, refused, silent_after, streamed
from tests.fake_provider.clients import need_sdk
from tests.fake_provider.server import FakeProvider, Seen, open_fake_provider
from tests.fake_provider.wire_forms import Called, Told, frames

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
GREENROOM = [sys.executable, "-c", "from runtime.cli.main import main; main()"]
PROMPT = r"\n> $"
NOTE = Told(text=("Let me.",), calls=(Called("call-a", "note_down", ('{"text": ', '"milk"}')),))


def environment(tmp_path: Path, **more: str) -> dict[str, str]:
    return {
        "PYTHONPATH": str(ROOT),
        "XDG_CONFIG_HOME": str(tmp_path),
        "XDG_DATA_HOME": str(tmp_path),
        "OPENAI_API_KEY": "",
        **more,
    }


@asynccontextmanager
async def talking(tmp_path: Path, *options: str, url: str | None = None) -> AsyncIterator[Screen]:
    """Open a conversation in a terminal; with an address, with the model behind it."""
    more = {"OPENAI_BASE_URL": f"{url}/v1"} if url else {}
    model = ["--model", "openai-chat/model-1"] if url else []
    store = ["--store", str(tmp_path / "chat.db")]
    command = [*GREENROOM, "chat", *model, *store, *options]
    async with on_screen(*command, env=environment(tmp_path, **more)) as screen:
        await screen.see(PROMPT)
        yield screen


@asynccontextmanager
async def provided(script) -> AsyncIterator[FakeProvider]:
    need_sdk("chat")
    async with open_fake_provider(script) as provider:
        yield provider


def saying(*texts: str) -> Answer:
    return streamed(frames("chat", Told(text=texts)))


def reading_session() -> str:
    """Return an id whose recording begins with calls that need no approval."""
    recordings = load_samples()
    for number in range(100):
        session_id = f"talk-{number}"
        first = recording_for(session_id, recordings).turns[0]
        names = [call.name for step in first.steps for call in step.calls]
        if names and all(effect_of(name) == "read" for name in names):
            return session_id
    raise AssertionError("no sample begins with reads")


async def test_a_recorded_conversation_answers_offline_and_shows_its_tools(tmp_path: Path) -> None:
    async with talking(tmp_path, "--session", reading_session()) as screen:
        await screen.enter("hello")
        await screen.see(r"-> \w+ \{")
        await screen.see(r"<- ")
        await screen.see(PROMPT)
        await screen.enter("/cost")
        await screen.see(r"[\d,]+ tokens, 0\.0000 USD")
        await screen.enter("/quit")
        assert await screen.gone() == 0
    assert "Traceback" not in screen.shown


async def test_text_streams_while_the_model_still_writes(tmp_path: Path) -> None:
    async with provided(lambda _: silent_after(frames("chat", Told(text=("One ", "two"))), 3)) as p:
        async with talking(tmp_path, url=p.url) as screen:
            await screen.enter("count")
            await screen.see("One two")
            assert not p.seen[0].left.is_set()


async def test_ctrl_c_ends_the_turn_and_not_the_program(tmp_path: Path) -> None:
    def answer(_: Seen) -> Answer:
        whole = frames("chat", Told(text=("One ", "two")))
        return silent_after(whole, 3) if len(p.seen) == 1 else saying("Gladly.")

    async with provided(answer) as p, talking(tmp_path, url=p.url) as screen:
        await screen.enter("count")
        await screen.see("One two")
        interrupted_s = trio.current_time()
        await screen.type(CTRL_C)
        await screen.see(r"\(turn ended: aborted, user\)")
        await p.seen[0].left.wait()
        assert p.seen[0].left_s - interrupted_s < 1
        await screen.see(PROMPT)
        await screen.enter("and now?")
        await screen.see("Gladly.")
        await screen.see(PROMPT)
        await screen.type(CTRL_C)
        await screen.see("nothing runs")
        await screen.see(PROMPT)
        await screen.type(CTRL_D)
        assert await screen.gone() == 0


@pytest.mark.parametrize(
    ("typed", "shown"),
    [("y", r"<- noted: milk"), ("n", r"<- failed: "), ("a", r"<- noted: milk")],
)
async def test_an_ask_is_answered_at_the_prompt(tmp_path: Path, typed: str, shown: str) -> None:
    def answer(seen: Seen) -> Answer:
        return saying("Done.") if b"call-a" in seen.body else streamed(frames("chat", NOTE))

    options = ("--tool", "tests.e2e.chat_tools:note_down")
    async with provided(answer) as p, talking(tmp_path, *options, url=p.url) as screen:
        await screen.enter("note milk")
        await screen.see(r'-> note_down \{"text": "milk"\}')
        await screen.see(r"\? may it run: .*note_down")
        await screen.enter("perhaps")
        await screen.see(r"y\(es\), n\(o\), a\(lways\)")
        await screen.see(r"y\(es\), n\(o\), a\(lways\)")
        await screen.enter(typed)
        await screen.see(shown)
        await screen.see("Done.")
        await screen.see(PROMPT)
        await screen.enter("/quit")
        assert await screen.gone() == 0


async def test_ctrl_c_at_an_ask_means_no_and_ends_the_turn(tmp_path: Path) -> None:
    options = ("--tool", "tests.e2e.chat_tools:note_down")
    async with (
        provided(lambda _: streamed(frames("chat", NOTE))) as p,
        talking(tmp_path, *options, url=p.url) as screen,
    ):
        await screen.enter("note milk")
        await screen.see("may it run")
        await screen.type(CTRL_C)
        await screen.see(r"turn ended: aborted")
        await screen.see(PROMPT)
        assert "noted: milk" not in screen.shown


async def test_a_line_during_a_turn_joins_it(tmp_path: Path) -> None:
    gate = trio.Event()

    def answer(seen: Seen) -> Answer:
        if len(p.seen) == 1:
            first, *rest = frames("chat", Told(text=("Wait. ",)))
            return Answer(beats=[first, rest[0], gate, *rest[1:]])
        return saying("Both." if b"and tea" in seen.body else "Lost.")

    async with provided(answer) as p, talking(tmp_path, url=p.url) as screen:
        await screen.enter("note milk")
        await screen.see("Wait. ")
        await screen.enter("and tea")
        await screen.see("joins the running turn")
        await screen.enter("/queue")
        await screen.see("1  and tea")
        gate.set()
        await screen.see("Both.")
        await screen.see(PROMPT)


async def test_a_retry_and_a_final_failure_are_told_and_the_conversation_goes_on(
    tmp_path: Path,
) -> None:
    answers = [
        refused(529, "overloaded_error", "busy"),
        saying("Here."),
        refused(401, "authentication_error", "no"),
        saying("Again here."),
    ]
    async with provided(answers) as p, talking(tmp_path, url=p.url) as screen:
        await screen.enter("hello")
        await screen.see(r"again in \d\.\d s: .*busy")
        await screen.see(r"Here\.")
        await screen.see(PROMPT)
        await screen.enter("hello?")
        await screen.see("LLM_NOT_AUTHORIZED")
        await screen.see("turn ended: error")
        await screen.see(PROMPT)
        await screen.enter("hello!")
        await screen.see(r"Again here\.")


async def test_what_a_terminal_would_obey_is_not_let_through(tmp_path: Path) -> None:
    told = saying("red \x1b[31m", "title \x1b]0;x\x07", "\u202eback \ud83d end")
    async with provided(lambda _: told) as p, talking(tmp_path, url=p.url) as screen:
        await screen.enter("hello")
        await screen.see("end")
        await screen.see(PROMPT)
    assert "\x1b]" not in screen.shown
    assert "\x07" not in screen.shown
    assert "\u202e" not in screen.shown


async def test_forks_and_other_sessions_are_entered_by_command(tmp_path: Path) -> None:
    async with provided(lambda s: saying(f"I saw {s.body.count(b'role')}.")) as p:
        async with talking(tmp_path, "--session", "first", url=p.url) as screen:
            await screen.enter("one")
            await screen.see(r"I saw 1\.")
            await screen.see(PROMPT)
            await screen.enter("/fork")
            fork = (await screen.see(r"session s-\w+")).removeprefix("session ")
            await screen.see(r"> one\nI saw 1\.")
            await screen.see(PROMPT)
            await screen.enter("/cost")
            await screen.see(r"\n0 tokens")
            await screen.enter("two")
            await screen.see(r"I saw 3\.")
            await screen.see(PROMPT)
            await screen.enter("/resume")
            await screen.see(rf"\* {fork}")
            await screen.enter("/resume first")
            await screen.see("session first")
            await screen.see(PROMPT)
            await screen.enter("three")
            await screen.see(r"I saw 3\.")
            await screen.see(PROMPT)
            await screen.enter("/cost")
            await screen.see(r"42 tokens, no known price, without 2 replies")
            await screen.enter("/compact")
            await screen.see("compaction")
            await screen.enter("/quit")
            assert await screen.gone() == 0

        async with talking(tmp_path, "--session", "first", url=p.url) as screen:
            assert "I saw 3." in screen.shown


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("/nope", "no command /nope"),
        ("/resume nobody", "SESSION_NOT_FOUND"),
        ("/fork x", "CHAT_WORD_INVALID"),
        ("/fork 99", "SESSION_BOUNDARY_INVALID"),
        ("/queue drop 3", "CHAT_WORD_INVALID"),
        ("/help", "/compact"),
    ],
)
async def test_a_command_that_cannot_be_is_told_and_changes_nothing(
    tmp_path: Path, line: str, told: str
) -> None:
    async with talking(tmp_path) as screen:
        await screen.enter(line)
        await screen.see(told)
        await screen.see(PROMPT)


def piped(tmp_path: Path, *options: str, **given: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            *with_variables(environment(tmp_path)),
            *GREENROOM,
            "chat",
            "--store",
            ":memory:",
            *options,
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        **given,
    )


def test_piped_lines_are_answered_one_after_the_other(tmp_path: Path) -> None:
    ended = piped(tmp_path, input="hello\n/queue\nand \\\nmore\n")

    assert ended.returncode == 0
    assert "joins the running turn" not in ended.stdout
    assert "\x1b" not in ended.stdout
    assert ended.stderr == ""


def test_input_from_a_file_and_an_end_without_a_line_feed_are_read(tmp_path: Path) -> None:
    lines = tmp_path / "lines"
    lines.write_text("/help")
    with lines.open() as given:
        ended = piped(tmp_path, stdin=given)
    assert ended.returncode == 0
    assert "/compact" in ended.stdout


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--model", "nobody/x"], "MODEL_NAME_UNKNOWN"),
        (["--model", "demo"], "MODEL_"),
        (["--tool", "nowhere"], "TOOL_NAME_UNKNOWN"),
        (["--tool", "nowhere:x"], "TOOL_NAME_UNKNOWN"),
        (["--tool", "os:getcwd"], "TOOL_NAME_UNKNOWN"),
        (["--session", "a b"], "SESSION_ID"),
    ],
)
def test_what_cannot_be_opened_is_one_plain_line(
    tmp_path: Path, options: list[str], told: str
) -> None:
    ended = piped(tmp_path, *options, input="hello\n")

    assert ended.returncode in {1, 2}
    assert told in ended.stderr
    assert ended.stderr.count("\n") == 1


async def test_what_waits_is_shown_dropped_held_and_released(tmp_path: Path) -> None:
    gate = trio.Event()

    def answer(seen: Seen) -> Answer:
        if len(p.seen) == 1:
            first, *rest = frames("chat", Told(text=("Wait. ",)))
            return Answer(beats=[first, rest[0], gate, *rest[1:]])
        return saying("Tea." if b"and tea" in seen.body and b"and salt" not in seen.body else "No.")

    async with provided(answer) as p, talking(tmp_path, url=p.url) as screen:
        await screen.enter("note milk")
        await screen.see("Wait. ")
        await screen.enter("and salt")
        await screen.see("joins the running turn")
        await screen.enter("and tea")
        await screen.see("joins the running turn")
        await screen.enter("/queue")
        await screen.see(r"1  and salt\n2  and tea")
        await screen.enter("/queue drop 1")
        await screen.see("withdrawn: and salt")
        await screen.enter("/queue hold")
        await screen.see("the queue is held")
        gate.set()
        await screen.see(PROMPT)
        await screen.enter("/queue")
        await screen.see(r"\(held\)\n1  and tea")
        await screen.enter("/queue release")
        await screen.see("Tea.")
        await screen.see(PROMPT)


async def test_a_compaction_is_made_and_its_tokens_are_in_the_cost(tmp_path: Path) -> None:
    words = "word " * 400

    def answer(_: Seen) -> Answer:
        return saying("Short: words were said.") if len(p.seen) == 9 else saying(words)

    async with provided(answer) as p, talking(tmp_path, url=p.url) as screen:
        for number in range(8):
            await screen.enter(f"say {number}")
            await screen.see(PROMPT)
        await screen.enter("/cost")
        await screen.see(r"168 tokens, no known price")
        await screen.see(r"turn 8: 21 tokens")
        await screen.enter("/compact")
        await screen.see(r"compaction completed: \d+ messages are summarised")
        await screen.enter("/cost")
        await screen.see(r"189 tokens, no known price")
        await screen.enter("and now?")
        await screen.see("word word")
        await screen.see(PROMPT)
    assert b"Short: words were said." in p.seen[-1].body


async def test_another_model_answers_when_the_first_cannot_and_it_is_told(tmp_path: Path) -> None:
    def answer(seen: Seen) -> Answer:
        first = b"model-1" in seen.body
        return refused(402, "billing_error", "no money") if first else saying("From the other.")

    async with provided(answer) as p:
        options = ("--fallback", "openai-chat/model-2")
        async with talking(tmp_path, *options, url=p.url) as screen:
            await screen.enter("hello")
            await screen.see(r"now with openai-chat/model-2: 402")
            await screen.see(r"From the other\.")
            await screen.see(PROMPT)
