"""Compressed logs: every frame is read, a torn one is not trusted, a damaged one is refused."""

import io
import sys

import pytest

from actors.errors.format import DamagedLogError, ExtraMissingError, LogTooLargeError
from runtime.formats.frames import FrameText, load_zstd, scan_frames, write_frame
from runtime.formats.lines import ReadLimits
from runtime.formats.reading import read_log
from tests.formats.dsh_samples import ended, log, turn, user
from tests.formats.test_formats_native import EVENTS, export

zstd = pytest.importorskip("backports.zstd")


def framed(text: bytes) -> bytes:
    """Return one frame for each line."""
    return b"".join(map(write_frame, text.splitlines(keepends=True)))


DSH = log(4, turn(), user("hello"), ended())


def test_every_frame_is_read() -> None:
    assert read_log(framed(DSH)).events == read_log(DSH).events


def test_a_frame_has_a_checksum() -> None:
    frame = write_frame(b"some text\n")
    broken = frame[:-1] + bytes([frame[-1] ^ 1])
    with pytest.raises(DamagedLogError, match="zstd-decode"):
        FrameText(io.BytesIO(broken)).read()


def test_a_torn_dsh_log_gives_what_it_still_has() -> None:
    whole = framed(DSH)
    starts = [frame.start for frame in scan_frames(io.BytesIO(whole)).frames]
    for cut in range(starts[1], len(whole)):
        read = read_log(whole[:cut])
        assert read.events == read_log(DSH).events[: len(read.events)]
        torn = any(start == cut for start in starts)
        assert ("torn-frame" in [note.rule for note in read.notes]) != torn


def test_a_cut_before_the_header_is_complete_is_damage() -> None:
    whole = framed(DSH)
    end = scan_frames(io.BytesIO(whole)).frames[0].end
    for cut in range(5, end):
        with pytest.raises(DamagedLogError, match="zstd-empty"):
            read_log(whole[:cut])


def test_a_torn_native_export_is_refused() -> None:
    text = export(zstd=True)
    with pytest.raises(DamagedLogError, match=r"zstd-torn|length"):
        read_log(text[:-3])


def test_lines_of_a_torn_frame_are_used_and_its_last_piece_is_not() -> None:
    first, rest = DSH.split(b"\n", 1)
    filler = b"".join(
        b'{"type":"step/start","seq":%d,"time":1,"data":{}}\n' % n for n in range(3, 20_000)
    )
    torn = write_frame(first + b"\n") + write_frame(rest + filler)[:-2000]
    read = read_log(torn)
    assert 3 <= len(read.events) < 20_000
    assert "torn-frame" in [note.rule for note in read.notes]


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("frame-header", write_frame(DSH)),
        ("frame-header", write_frame(b'{"type":"session"') + write_frame(b"}\n")),
        ("frame-line", write_frame(DSH.split(b"\n", 1)[0] + b"\n") + write_frame(b'{"a"') * 2),
        ("zstd-magic", framed(DSH) + b"junk, longer than a magic number"),
        ("zstd-reserved-bit", b"\x28\xb5\x2f\xfd\x08" + b"\x00" * 20),
        ("zstd-block", b"\x28\xb5\x2f\xfd\x20\x00\x07\x00\x00"),
    ],
)
def test_a_damaged_chain_is_refused(rule: str, text: bytes) -> None:
    with pytest.raises(DamagedLogError) as caught:
        read_log(text)
    assert caught.value.rule == rule


def test_a_bomb_is_stopped_at_the_limit() -> None:
    header = export(events=()).replace(b'"length":0,', b"")
    bomb = write_frame(header) + write_frame(b" " * 50_000_000 + b"\n")
    assert len(bomb) < 10_000
    with pytest.raises(LogTooLargeError):
        read_log(bomb, ReadLimits(line_bytes=1_000_000))


def test_exports_of_many_events_are_many_frames() -> None:
    events = tuple(EVENTS[0].__class__(i, 1, "todo/write", b"{}") for i in range(2500))
    text = export(events=events, zstd=True)
    assert len(scan_frames(io.BytesIO(text)).frames) == 4
    assert read_log(text).events == events


def test_a_missing_module_is_named_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("compression", "compression.zstd", "backports", "backports.zstd"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ExtraMissingError, match=r"pip install 'greenroom\[zstd\]'"):
        load_zstd()
    with pytest.raises(ExtraMissingError):
        read_log(framed_before)
    assert read_log(DSH).format == "dsh"


framed_before = framed(DSH)
