"""Whatever a file holds, it is read or refused with an error of the tree; nothing else gets out."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from actors.errors import GreenroomError
from actors.log.events import Event
from runtime.formats.figures import figures
from runtime.formats.reading import read_log
from runtime.formats.readlog import ReadLog
from runtime.formats.writing import write_log
from runtime.models.replay_reading import record
from tests.formats import test_formats_berry as berry
from tests.formats import test_formats_claude as claude
from tests.formats import test_formats_codex as codex
from tests.formats import test_formats_dsh as dsh
from tests.formats import test_formats_native as native

FILES = {
    "native": native.export(),
    "dsh-0": dsh.WHOLE_V0,
    "dsh-4": dsh.WHOLE_V4,
    "berry": berry.COMPACTED,
    "claude": claude.file(*claude.REWOUND, *claude.SIDE, *claude.PARALLEL[1:]),
    "codex": codex.file(*codex.ROLLOUT),
}
FINE = {"read", "refused"}


def outcome(text: bytes) -> str:
    """Read, fold, record and write; anything but an error of the tree fails the test."""
    try:
        read = read_log(text)
    except GreenroomError as error:
        return "refused" if str(error) else "refused without a word"
    for use in (figures, lambda log: record("x", log.events), written_again):
        with suppress(GreenroomError):
            use(read)
    return "read"


def written_again(read: ReadLog) -> None:
    """Write what was read; where seqs are the file's own, reading that must give the same."""
    text = b"".join(write_log(read))
    if read.format in ("claude-code", "codex"):
        return
    again = read_log(text)
    assert [shown(event) for event in again.events] == [shown(event) for event in read.events]


def shown(event: Event) -> Any:
    return (event.time_ms, event.type, event.op, event.sources, event.ignorable, event.data())


@pytest.mark.parametrize("name", FILES)
def test_a_file_truncated_at_every_byte_is_read_or_refused(name: str) -> None:
    text = FILES[name]
    assert {outcome(text[:cut]) for cut in range(0, len(text), 3)} <= FINE


@pytest.mark.parametrize("name", ["native", "berry"])
def test_an_export_cut_inside_a_line_is_always_refused(name: str) -> None:
    text = FILES[name]
    last = text.rstrip(b"\n").rfind(b"\n") + 1
    assert {outcome(text[:cut]) for cut in range(last + 1, len(text) - 1)} == {"refused"}


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "seq", "data", "content", "id", "source", "message", "kind", "op"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=6,
)


def places(value: Any) -> list[tuple[Any, Any]]:
    """Return every (container, key) in a JSON value."""
    found: list[tuple[Any, Any]] = []
    todo = [value]
    while todo:
        container = todo.pop()
        pairs = container.items() if isinstance(container, dict) else enumerate(container)
        for key, child in pairs:
            found.append((container, key))
            if isinstance(child, dict | list):
                todo.append(child)
    return found


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(sorted(FILES)), st.data())
def test_any_value_in_any_place_is_read_or_refused(name: str, data: st.DataObject) -> None:
    lines = [json.loads(line) for line in FILES[name].splitlines()]
    for _ in range(data.draw(st.integers(1, 2))):
        container, key = data.draw(st.sampled_from(places(lines)))
        container[key] = data.draw(values)
    text = "\n".join(json.dumps(line) for line in lines) + "\n"
    assert outcome(text.encode("utf-8", "surrogatepass")) in FINE


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(sorted(FILES)),
    st.integers(0, 10_000),
    st.integers(0, 40),
    st.binary(max_size=6) | st.sampled_from([b"NaN", b"\xef\xbb\xbf", b"\\ud800", b"1e999", b"\n"]),
)
@example("dsh-4", 0, 0, b"\xef\xbb\xbf")
def test_damaged_bytes_are_read_or_refused(name: str, at: int, cut: int, put: bytes) -> None:
    text = FILES[name]
    at %= len(text)
    assert outcome(text[:at] + put + text[at + cut :]) in FINE


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_random_frames_are_refused(noise: bytes) -> None:
    assert outcome(b"\x28\xb5\x2f\xfd" + noise) in FINE


@pytest.mark.parametrize("name", FILES)
def test_a_million_levels_of_nesting_are_refused_at_once(name: str) -> None:
    head = FILES[name].splitlines()[0]
    assert outcome(head + b"\n" + b'{"a":' * 1_000_000) == (
        "read" if name in {"claude", "codex", "dsh-0", "dsh-4"} else "refused"
    )
