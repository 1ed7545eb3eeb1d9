"""The compact record of a stream: which piece of which block came when, without saying its text twice.

Shape: ``{"runs": [{"block", "kind", "ms": [...], "chars": [...]}, ...], "endMs", "cut"?: true}``. A run is what
came of one block in a row. ``ms`` counts from the piece before it (the first from the request), ``chars`` how
much of the block came. The text stands in the message: the blocks of ``content`` in the order in which ``block``
is first named, then the calls in theirs. A block that the message does not hold brings its pieces as ``text``
(a call its ``id`` and ``name``, too). ``cut``: the stream was too large to be kept as it came.

Source: D-22, K-9, K-29.
"""

from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import Final, Literal, TypeAlias

import attrs

from actors.json import JsonObject, JsonValue

RunKind: TypeAlias = Literal["text", "thinking", "call", "other"]
Note: TypeAlias = tuple[float, int, RunKind, str, str | None, str | None]
"""When, block, kind, text, and the id and the name of a call. A piece costs one tuple while it streams."""

MOST_PIECES: Final = 1024
"""Above it the pieces of a run are joined two and two: the record becomes coarser, not longer."""
MOST_TEXT: Final = 8192
"""Characters that a record holds of blocks that the message does not."""


@attrs.define(eq=False)
class Run:
    """Pieces of one block that came in a row; the times count from the request."""

    block: int
    kind: RunKind
    call_id: str | None = None
    name: str | None = None
    at_s: list[float] = attrs.field(factory=list)
    pieces: list[str] = attrs.field(factory=list)

    @property
    def size(self) -> int:
        """Characters in all."""
        return sum(map(len, self.pieces)) + len(self.call_id or "") + len(self.name or "")

    def whole(self) -> JsonObject:
        """Return its text, for a message that does not hold it."""
        told: JsonObject = {"text": list(self.pieces)}
        return told | {k: v for k, v in (("id", self.call_id), ("name", self.name)) if v}

    def halved(self) -> None:
        """Join the pieces two and two; each pair keeps the time of its second."""
        pairs = range(0, len(self.pieces), 2)
        self.pieces = ["".join(self.pieces[at : at + 2]) for at in pairs]
        self.at_s = [self.at_s[at : at + 2][-1] for at in pairs]

    def notes(self) -> list[Note]:
        """Return it as notes."""
        named = (self.call_id, self.name)
        return [
            (at, self.block, self.kind, piece, *(named if not number else (None, None)))
            for number, (at, piece) in enumerate(zip(self.at_s, self.pieces, strict=True))
        ]


@attrs.define(eq=False)
class StreamRecord:
    """Notes the pieces of one stream as they come; what costs time is done when it is asked for.

    Units: seconds since the request; the record tells milliseconds.
    """

    _notes: list[Note] = attrs.field(factory=list, init=False)
    _end_s: float = attrs.field(default=0.0, init=False)
    _cut: bool = attrs.field(default=False, init=False)

    def __bool__(self) -> bool:
        return bool(self._notes)

    def note(
        self,
        at_s: float,
        block: int,
        kind: RunKind,
        text: str,
        call_id: str | None = None,
        name: str | None = None,
    ) -> None:
        """Note a piece of a block, or with ``other`` its end; that is kept when it brought no piece.

        The id and the name of a call come with its first piece.
        """
        if self._cut:
            return
        self._notes.append((at_s, block, kind, text, call_id, name))
        if len(self._notes) > 2 * MOST_PIECES:
            self._shorten()

    def ended(self, at_s: float) -> None:
        """Note when the stream ended."""
        self._end_s = at_s

    def data(self, held: Collection[int] | None = None) -> JsonObject:
        """Return the record beside a message that holds the blocks ``held``; None for all of them."""
        room, before_ms, cut = MOST_TEXT, 0, self._cut
        runs: list[JsonValue] = []
        for run in _bounded(_runs(self._notes)):
            told: JsonObject = {"block": run.block, "kind": run.kind}
            at_ms = [round(at_s * 1000) for at_s in run.at_s]
            told["ms"] = [at - before for before, at in pairwise([before_ms, *at_ms])]
            if held is None or run.block in held:
                told["chars"] = [len(piece) for piece in run.pieces]
            else:
                room -= run.size
                cut = cut or room < 0
                told |= run.whole()
            if room < 0:
                break
            before_ms = at_ms[-1]
            runs.append(told)
        end: JsonObject = {"endMs": max(round(self._end_s * 1000) - before_ms, 0)}
        return {"runs": runs, **end} | ({"cut": True} if cut else {})

    def _shorten(self) -> None:
        """Keep the record small while the stream goes on; runs that do not become fewer end it."""
        runs = _bounded(_runs(self._notes))
        self._cut = len(runs) > MOST_PIECES // 2
        self._notes = [note for run in runs for note in run.notes()]


def _runs(notes: Sequence[Note]) -> list[Run]:
    runs: list[Run] = []
    seen: set[int] = set()
    for at_s, block, kind, text, call_id, name in notes:
        if kind == "other" and block in seen:
            continue
        seen.add(block)
        run = runs[-1] if runs else None
        if run is None or run.block != block:
            run = Run(block, kind)
            runs.append(run)
        if kind == "call":
            run.call_id, run.name = call_id or run.call_id, name or run.name
        run.at_s.append(at_s)
        run.pieces.append(text)
    return runs


def _bounded(runs: list[Run]) -> list[Run]:
    """Return the runs with at most so many pieces, as far as they can be joined."""
    while sum(len(run.pieces) for run in runs) > max(MOST_PIECES, len(runs)):
        for run in runs:
            run.halved()
    return runs
