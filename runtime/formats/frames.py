"""Chains of Zstandard frames: their structure, and their text as one stream in bounded memory.

Every durable batch is one frame, so a reader must read all frames. A file that ends inside a frame was
torn by a crash: what the decoder can still give of it is given, and its start is reported.

Source: D-224..D-227.
"""

import io
from typing import Any, BinaryIO, Final

import attrs

from actors.errors.format import DamagedLogError, ExtraMissingError

MAGIC: Final = b"\x28\xb5\x2f\xfd"
_CHUNK: Final = 64 * 1024
_RESERVED_BITS: Final = 0b0001_1000
"""Bit 3 is reserved; bit 4 is unused, and a frame of ours has it clear."""
_CHECKSUM: Final = 0b0000_0100
_SINGLE_SEGMENT: Final = 0b0010_0000
_RLE, _RESERVED_BLOCK = 1, 3


@attrs.frozen
class Frame:
    """Where a frame lies; ``end`` is behind its last byte."""

    start: int
    end: int


@attrs.frozen
class FrameScan:
    """The whole frames of a file, and where a torn last one starts."""

    frames: tuple[Frame, ...]
    torn_start: int | None = None


class _Torn(Exception):  # noqa: N818 - a signal inside this file
    """The data ends inside the frame."""


def scan_frames(file: BinaryIO) -> FrameScan:
    """Find the frames; only the headers of frames and blocks are read.

    Raises:
        DamagedLogError: ``zstd-magic`` where a frame should start, ``zstd-reserved-bit``, ``zstd-block``.
    """
    size = file.seek(0, io.SEEK_END)
    frames: list[Frame] = []
    start = 0
    while start < size:
        try:
            end = _frame_end(file, start, size)
        except _Torn:
            return FrameScan(tuple(frames), start)
        frames.append(Frame(start, end))
        start = end
    return FrameScan(tuple(frames))


def _frame_end(file: BinaryIO, start: int, size: int) -> int:
    file.seek(start)
    magic = file.read(4)
    if magic != MAGIC[: len(magic)] and len(magic) == len(MAGIC):
        raise DamagedLogError("zstd-magic", 0, f"no frame starts at byte {start}")
    descriptor = _exactly(file, 5 - len(MAGIC)) if len(magic) == len(MAGIC) else _tear()
    flags = descriptor[0]
    if flags & _RESERVED_BITS:
        raise DamagedLogError("zstd-reserved-bit", 0, f"in the frame at byte {start}")
    place = file.tell() + _header_rest(flags)
    last = False
    while not last:
        last, place = _block_end(file, place, start)
    place += 4 if flags & _CHECKSUM else 0
    return place if place <= size else _tear()


def _header_rest(flags: int) -> int:
    """Return the bytes of the frame header behind its descriptor."""
    single = bool(flags & _SINGLE_SEGMENT)
    content_size = (int(single), 2, 4, 8)[flags >> 6]
    dictionary_id = (0, 1, 2, 4)[flags & 0b11]
    return (0 if single else 1) + dictionary_id + content_size


def _block_end(file: BinaryIO, place: int, start: int) -> tuple[bool, int]:
    file.seek(place)
    header = int.from_bytes(_exactly(file, 3), "little")
    kind, size = header >> 1 & 0b11, header >> 3
    if kind == _RESERVED_BLOCK:
        raise DamagedLogError("zstd-block", 0, f"reserved block type in the frame at byte {start}")
    return bool(header & 1), place + 3 + (1 if kind == _RLE else size)


def _exactly(file: BinaryIO, size: int) -> bytes:
    data = file.read(size)
    return data if len(data) == size else _tear()


def _tear() -> Any:  # noqa: ANN401 - never returns, but stands in expressions
    raise _Torn


class FrameText(io.RawIOBase):
    """The text of a chain of frames, decompressed as it is read.

    Raises (while reading):
        DamagedLogError: a frame cannot be decoded or its checksum is wrong (``zstd-decode``), it ends
            inside a line (``frame-line``), the first one is not exactly one line (``frame-header``), or
            there is no whole frame (``zstd-empty``).
        ExtraMissingError: no Zstandard module is installed.
    """

    def __init__(self, file: BinaryIO) -> None:
        scan = scan_frames(file)
        if not scan.frames:
            raise DamagedLogError("zstd-empty", 0, "there is no whole frame")
        self.torn_start = scan.torn_start
        self._file = file
        self._frames = [*scan.frames]
        if scan.torn_start is not None:
            self._frames.append(Frame(scan.torn_start, file.seek(0, io.SEEK_END)))
        self._module = load_zstd()
        self._index = 0
        self._decoder: Any = None
        self._place = 0
        self._line_feeds = 0
        self._last = b"\n"

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def readinto(self, buffer: Any, /) -> int:  # noqa: ANN401 - any writable buffer
        """Fill ``buffer`` with some text; 0 at the end."""
        while self._index < len(self._frames):
            piece = self._piece(len(buffer))
            if piece:
                buffer[: len(piece)] = piece
                return len(piece)
        return 0

    @property
    def _torn(self) -> bool:
        return self.torn_start is not None and self._index == len(self._frames) - 1

    def _piece(self, size: int) -> bytes:
        """Return some text of the current frame; empty when it gave all it has, which also ends it."""
        frame = self._frames[self._index]
        if self._decoder is None:
            self._decoder = self._module.ZstdDecompressor()
            self._place = frame.start
        data = b""
        if self._decoder.needs_input and not self._decoder.eof:
            self._file.seek(self._place)
            data = self._file.read(min(_CHUNK, frame.end - self._place))
            self._place += len(data)
            if not data:
                return self._close(frame)
        elif self._decoder.eof:
            return self._close(frame)
        return self._checked(self._decode(data, size, frame))

    def _decode(self, data: bytes, size: int, frame: Frame) -> bytes:
        try:
            text: bytes = self._decoder.decompress(data, size)
        except self._module.ZstdError as error:
            if self._torn:
                return self._close(frame)
            raise DamagedLogError(
                "zstd-decode", 0, f"the frame at byte {frame.start}: {error}"
            ) from None
        return text

    def _checked(self, text: bytes) -> bytes:
        self._line_feeds += text.count(b"\n")
        self._last = text[-1:] or self._last
        if self._index == 0 and self._line_feeds > 1:
            raise DamagedLogError("frame-header", 1, "the first frame is exactly the header line")
        return text

    def _close(self, frame: Frame) -> bytes:
        if not self._torn:
            if not self._decoder.eof:
                raise DamagedLogError("zstd-decode", 0, f"the frame at byte {frame.start} is cut")
            if self._last != b"\n" or (self._index == 0 and self._line_feeds != 1):
                rule = "frame-line" if self._index else "frame-header"
                raise DamagedLogError(
                    rule, 0, f"the frame at byte {frame.start} ends inside a line"
                )
        self._index, self._decoder = self._index + 1, None
        return b""


def load_zstd() -> Any:  # noqa: ANN401 - one of two modules with the same face
    """Return the Zstandard module; imported only when a compressed file is met.

    Raises:
        ExtraMissingError: it is not installed.
    """
    try:
        from compression import zstd  # type: ignore[import-not-found,unused-ignore] # noqa: PLC0415 - Python 3.14
    except ImportError:
        try:
            from backports import zstd  # type: ignore[no-redef,unused-ignore] # noqa: PLC0415 - an extra
        except ImportError:
            raise ExtraMissingError("reading and writing compressed logs", "zstd") from None
    return zstd


def write_frame(text: bytes) -> bytes:
    """Return ``text`` as one frame with a checksum.

    Raises:
        ExtraMissingError: no Zstandard module is installed.
    """
    module = load_zstd()
    options = {module.CompressionParameter.checksum_flag: 1}
    frame: bytes = module.compress(text, options=options)
    return frame
