"""The door: recognising a format, and staying within bounds whatever the file is."""

import io
import json
import pickle
from pathlib import Path

import pytest

from actors.errors.format import DamagedLogError, LogTooLargeError, UnknownFormatError
from runtime.formats.lines import ReadLimits, is_blank, lines, parse
from runtime.formats.reading import read_log
from tests.formats.dsh_samples import SAMPLES, log, turn, user

NATIVE = b'{"format":"greenroom/session","version":1}\n'


class Endless(io.RawIOBase):
    """A file of one line that never ends; it counts what was read of it."""

    def __init__(self, start: bytes = b"") -> None:
        self.given = 0
        self._start = start

    def readable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        self.given = 0
        return 0

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: "memoryview[int]") -> int:  # type: ignore[override] # any buffer
        data = self._start[self.given : self.given + len(buffer)] or b"x" * len(buffer)
        buffer[: len(data)] = data
        self.given += len(data)
        return len(data)


@pytest.mark.parametrize("start", [b"", NATIVE])
def test_a_line_without_end_is_refused_and_not_read_whole(start: bytes) -> None:
    endless = Endless(start)
    limits = ReadLimits(line_bytes=100_000)
    with pytest.raises(LogTooLargeError, match="a line is over 100000"):
        read_log(io.BufferedReader(endless), limits)  # type: ignore[arg-type] # a binary file
    assert endless.given < 300_000


def test_more_text_or_more_events_than_allowed_are_refused() -> None:
    text = log(4, turn(), user("hello"))
    with pytest.raises(LogTooLargeError, match="the text"):
        read_log(text, ReadLimits(file_bytes=200))
    with pytest.raises(LogTooLargeError, match=r"number of events is over 1 \(line 3\)"):
        read_log(text, ReadLimits(events=1))


@pytest.mark.parametrize(
    "text",
    [
        b"hello",
        b"{}",
        b"[]",
        b"7",
        b'{"format":"other/thing","version":1}',
        b'{"format":["greenroom/session"]}',
        b'{"type":["session"]}',
        b"\x00\x01\x02",
        b"SQLite format 3\x00",
        b'{"type":"user"}',
    ],
)
def test_an_unknown_file_is_called_unknown(text: bytes) -> None:
    with pytest.raises(UnknownFormatError, match="not a session log of a known format"):
        read_log(text)


@pytest.mark.parametrize("text", [b"", b"\n\n \n"])
def test_an_empty_file_is_damaged(text: bytes) -> None:
    with pytest.raises(DamagedLogError, match="empty"):
        read_log(text)


def test_a_byte_order_mark_is_refused() -> None:
    with pytest.raises(DamagedLogError, match="bom"):
        read_log(b"\xef\xbb\xbf" + NATIVE)


def test_a_path_the_bytes_and_a_file_read_the_same(tmp_path: Path) -> None:
    text = log(4, turn())
    path = tmp_path / "session.jsonl"
    path.write_bytes(text)
    with path.open("rb") as file:
        assert read_log(path) == read_log(text) == read_log(file)


def test_of_a_key_that_stands_twice_the_last_counts() -> None:
    text = NATIVE + b'{"seq":0,"time":1,"time":2,"type":"todo/write","data":{"a":1,"a":2}}\n'
    event = read_log(text).events[0]
    assert (event.time_ms, event.data()) == (2, {"a": 2})


def test_an_unpaired_surrogate_is_replaced_and_noted() -> None:
    text = NATIVE + b'{"seq":0,"time":1,"type":"todo/write","data":"a\\ud800b\\ud83d\\ude00"}\n'
    read = read_log(text)
    assert read.events[0].data() == "a\ufffdb\U0001f600"
    assert [(note.rule, note.line) for note in read.notes] == [("surrogate-replaced", 2)]


@pytest.mark.parametrize(
    "data",
    [b"NaN", b"1e400", b'"\\ud800" NaN', b"[" * 5000 + b"]" * 5000, b'"\xed\xa0\x80"', b'"\\u12"'],
    ids=["nan", "infinite", "nan-after-surrogate", "deep", "bad-utf8", "bad-escape"],
)
def test_what_is_not_json_is_refused_with_its_line(data: bytes) -> None:
    with pytest.raises(DamagedLogError) as caught:
        read_log(NATIVE + b'{"seq":0,"time":1,"type":"todo/write","data":' + data + b"}\n")
    assert (caught.value.rule, caught.value.line) == ("line-json", 2)


def test_nesting_over_the_limit_of_the_log_is_refused() -> None:
    data = b"[" * 300 + b"]" * 300
    with pytest.raises(DamagedLogError, match="event-data"):
        read_log(NATIVE + b'{"seq":0,"time":1,"type":"todo/write","data":' + data + b"}\n")


def test_blank_means_blank_in_ecmascript() -> None:
    assert all(is_blank(text.encode()) for text in ("", " \t\r\v\f", "\u00a0\u3000\ufeff\u2028"))
    assert not any(is_blank(text.encode()) for text in ("\u0085", "\x1c", " x", "{}", "\u200b"))


def test_lines_are_split_at_line_feeds_only() -> None:
    found = list(lines(io.BytesIO("a\r\u2028b\n\nc".encode())))
    assert [(line.number, line.ended, line.end) for line in found] == [(1, True, 7), (3, False, 9)]
    assert parse(next(lines(io.BytesIO(b"7\n")))) == (7, False)


def test_errors_survive_pickling() -> None:
    errors = [DamagedLogError("rule", 3, "why"), LogTooLargeError("a line", 2, 7)]
    for error in errors:
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.jsonl")), ids=lambda p: p.stem)
def test_a_shipped_sample_is_whole_and_folds(path: Path) -> None:
    from runtime.formats.figures import figures  # the fold is not needed elsewhere here

    found = figures(read_log(path))
    assert found["closersNeeded"] == 0
    assert found["unknownTypes"] == []
    assert set(found["turnEnds"]) == {"completed"}  # type: ignore[arg-type] # words
    assert json.loads(path.read_bytes().splitlines()[0])["id"] == path.stem
