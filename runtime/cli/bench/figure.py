"""What a measurement came to: figures with their raw limit and target, and series for plots."""

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

import attrs
import orjson

from actors.json import JsonObject, JsonValue

Word: TypeAlias = Literal["at least", "at most"]


@attrs.frozen
class Target:
    """A bound on the ratio to the raw limit, or on the value itself."""

    word: Word
    bound: float
    of: Literal["ratio", "value"] = "ratio"

    def __str__(self) -> str:
        sign = ">=" if self.word == "at least" else "<="
        return f"{sign} {self.bound:g}" + ("x" if self.of == "ratio" else "")


@attrs.frozen(kw_only=True)
class Peer:
    """What another project does in the same run: its value in the unit of the figure, or why there is none.

    ``note`` says where its work is not the same as ours.
    """

    name: str
    value: float | None = None
    note: str = ""
    """Empty when the work is the same."""

    def to_json(self) -> JsonObject:
        """Shape: ``{name, value, note}``."""
        return {"name": self.name, "value": self.value, "note": self.note}


@attrs.frozen(kw_only=True)
class Figure:
    """One measured thing.

    ``ratio`` is the median of the ratios of single rounds, so it need not be ``value / limit``.
    ``id`` begins with the scenario: ``B2`` leads, ``B2.turns`` stands beside it.
    """

    id: str
    title: str
    value: float
    unit: str
    limit: float | None = None
    """The raw limit, measured in the same run, in the same unit."""
    limit_name: str = ""
    ratio: float | None = None
    target: Target | None = None
    notes: tuple[str, ...] = ()
    peers: tuple[Peer, ...] = ()

    @property
    def judged(self) -> float | None:
        """What the target is a bound of."""
        if self.target is None:
            return None
        return self.value if self.target.of == "value" else self.ratio

    @property
    def ok(self) -> bool | None:
        """Whether the target is met; None when there is none, or nothing to judge."""
        if self.target is None or self.judged is None:
            return None
        if self.target.word == "at least":
            return self.judged >= self.target.bound
        return self.judged <= self.target.bound

    def to_json(self) -> JsonObject:
        """Shape: ``{id, title, value, unit, limit, limit_name, ratio, target, ok, peers, notes}``."""
        return {
            "id": self.id,
            "title": self.title,
            "value": self.value,
            "unit": self.unit,
            "limit": self.limit,
            "limit_name": self.limit_name,
            "ratio": self.ratio,
            "target": None if self.target is None else str(self.target),
            "ok": self.ok,
            "peers": [peer.to_json() for peer in self.peers],
            "notes": list(self.notes),
        }


@attrs.frozen(kw_only=True)
class Series:
    """Points for a plot; each curve has a name."""

    title: str
    x: str
    y: str
    curves: Mapping[str, Sequence[tuple[float, float]]]
    log_x: bool = True
    log_y: bool = False

    def to_json(self) -> JsonObject:
        """Shape: ``{title, x, y, log_x, log_y, curves: {name: [[x, y]]}}``."""
        curves: dict[str, JsonValue] = {
            name: [[x, y] for x, y in points] for name, points in self.curves.items()
        }
        return {
            "title": self.title,
            "x": self.x,
            "y": self.y,
            "log_x": self.log_x,
            "log_y": self.log_y,
            "curves": curves,
        }


@attrs.frozen(kw_only=True)
class Outcome:
    """One scenario: its leading figure first, the others beside it, and its plots.

    ``failure`` says why it has no figures.
    """

    id: str
    title: str
    method: str = ""
    """What was timed, how, and in how many rounds."""
    figures: tuple[Figure, ...] = ()
    series: tuple[Series, ...] = ()
    duration_s: float = 0.0
    failure: str | None = None

    @property
    def ok(self) -> bool | None:
        """Whether every target is met; None when nothing could be judged."""
        if self.failure is not None:
            return False
        verdicts = [figure.ok for figure in self.figures if figure.ok is not None]
        return all(verdicts) if verdicts else None

    def to_json(self) -> JsonObject:
        """Return the object of one JSON line: the leading figure, then everything else.

        Shape: a figure's, then ``{method, duration_s, failure, figures, series}``; ``ok`` is that of the
        whole scenario.
        """
        lead = self.figures[0].to_json() if self.figures else {}
        return {
            **lead,
            "id": self.id,
            "title": self.title,
            "ok": self.ok,
            "method": self.method,
            "duration_s": round(self.duration_s, 2),
            "failure": self.failure,
            "figures": [figure.to_json() for figure in self.figures],
            "series": [series.to_json() for series in self.series],
        }

    def to_line(self, **further: JsonValue) -> bytes:
        """Return the JSON line, without its end; ``further`` says for example what it was measured on."""
        return orjson.dumps({**self.to_json(), **further})
