"""What a shell run is in text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.errors.rules import SettingError
from runtime.tools.shell_text import (
    OutputTail,
    ShellResult,
    StreamText,
    background_outcome,
    child_environment,
    clamp_timeout,
    is_scrubbed,
    join_delta,
    output_budget,
    parse_exit,
    render_read,
    render_result,
)


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf")])
def test_a_deadline_or_budget_that_is_not_positive_and_finite_is_refused(value):
    with pytest.raises(SettingError):
        clamp_timeout(value)
    with pytest.raises(SettingError):
        output_budget(value)


def test_a_deadline_is_at_most_the_maximum():
    assert clamp_timeout(None) == 120_000
    assert clamp_timeout(10**9) == 600_000
    assert clamp_timeout(None, 500, 200) == 200
    assert output_budget(None) == 64_000


@given(
    st.text(max_size=20),
    st.text(max_size=20),
    st.integers(1, 255) | st.sampled_from(["SIGTERM", "SIGKILL"]),
)
def test_how_a_run_ended_is_read_back_from_its_text(stdout, stderr, end):
    signal = end if isinstance(end, str) else None
    text = render_result(
        ShellResult(
            exit_code=None if signal else end,
            signal=signal,
            stdout=StreamText(text=stdout),
            stderr=StreamText(text=stderr),
        )
    )
    parsed = parse_exit(text)
    assert (parsed.exit_code, parsed.signal) == (None, signal) if signal else (end, None)
    assert text.startswith(parsed.body)


def test_a_clean_exit_leaves_no_marker():
    assert render_result(ShellResult(exit_code=0)) == "(no output)"


def test_everything_out_of_the_ordinary_has_its_line_in_order():
    result = ShellResult(
        exit_code=None,
        signal="SIGTERM",
        timed_out=True,
        timeout_ms=50,
        stdout=StreamText(text="out", truncated=True, spill_path="/s/o"),
        stderr=StreamText(text="err", truncated=True),
    )
    assert render_result(result).split("\n") == [
        "out",
        "[output truncated; full output: /s/o]",
        "[stderr]",
        "err",
        "[output truncated; full output: (unavailable)]",
        "[timed out after 50ms]",
        "[killed by signal: SIGTERM]",
    ]


def test_an_expiry_before_the_process_existed_has_no_exit_marker():
    assert render_result(ShellResult(exit_code=None, timed_out=True, timeout_ms=50)).endswith(
        "50ms]"
    )


@pytest.mark.parametrize(
    "text", ["x[exit code: 2]", "x\n[exit code: 2]\n", "x\n[exit code: -2]", "[exit code: 2]"]
)
def test_only_a_marker_on_the_last_line_counts(text):
    assert parse_exit(text).exit_code == 0
    assert parse_exit(text).body == text


@given(st.lists(st.binary(max_size=12), max_size=12), st.integers(1, 16))
def test_a_tail_is_the_last_bytes_however_they_came(chunks, max_bytes):
    tail = OutputTail(max_bytes=max_bytes)
    for chunk in chunks:
        tail = tail.pushed(chunk)
    whole = b"".join(chunks)
    assert tail.data == whole[-max_bytes:]
    assert tail.truncated == (len(whole) > max_bytes)


@given(st.lists(st.tuples(st.binary(max_size=8), st.booleans()), max_size=12))
def test_a_reader_that_keeps_up_gets_every_byte_once_and_learns_when_it_does_not(moves):
    tail, offset, seen, lost = OutputTail(max_bytes=10), 0, b"", False
    for chunk, reads in moves:
        tail = tail.pushed(chunk)
        if reads:
            read = tail.read(offset)
            seen, offset, lost = seen + read.data, read.next_offset, lost or read.lossy
    read = tail.read(offset)
    if not (lost or read.lossy):
        assert seen + read.data == b"".join(chunk for chunk, _ in moves)


def test_a_lossy_read_says_where_the_rest_is():
    assert render_read("a", lossy=False) == "a"
    assert render_read("a", lossy=True, spill_paths=["/o", "/e"]).endswith("full output: /o, /e]")
    assert render_read("", lossy=True).endswith("(unavailable)]")
    assert join_delta("out", "err") == "out\n[stderr]\nerr"


def test_a_background_process_is_killed_by_us_or_by_any_signal():
    assert background_outcome(3, None, killed=False) == ("completed", "exit code: 3")
    assert background_outcome(None, "SIGSEGV", killed=False) == ("killed", "signal: SIGSEGV")
    assert background_outcome(None, None, killed=True) == ("killed", "killed before exit")


def test_no_secret_reaches_a_child_unless_it_is_handed_over():
    host = {"PATH": "/bin", "API_KEY": "s", "GREENROOM_STORE": "x", "FOO": "1", "TERM": "xterm"}
    assert child_environment(host) == {
        "PATH": "/bin",
        "TERM": "dumb",
        "NO_COLOR": "1",
        "PAGER": "cat",
        "GIT_PAGER": "cat",
    }
    assert child_environment(host, allowed=["API_KEY"])["API_KEY"] == "s"
    assert "API_KEY" not in child_environment(host, inherit=True)
    inherited = child_environment(host, {"API_KEY": "given"}, inherit=True)
    assert inherited["FOO"] == "1"
    assert inherited["API_KEY"] == "given"
    assert "GREENROOM_STORE" not in inherited


@pytest.mark.parametrize(
    "name", ["api_key", "MONKEY", "My_Token_2", "DB_PASSWORD", "aSECRETb", "greenroom_x"]
)
def test_names_that_may_hold_secrets_are_scrubbed(name):
    assert is_scrubbed(name)
