"""Plots as inline SVG, without any dependency. Pure."""

import math
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Final

import attrs

from runtime.cli.bench.figure import Series
from runtime.cli.bench.table import number

WIDTH: Final = 460
HEIGHT: Final = 260
LEFT: Final = 62
RIGHT: Final = 14
TOP: Final = 12
BOTTOM: Final = 42
COLOURS: Final = ("#2563eb", "#dc2626", "#059669", "#d97706", "#7c3aed", "#0891b2", "#4b5563")
STEPS: Final = (1.0, 2.0, 5.0, 10.0)


@attrs.frozen
class Scale:
    """Maps values on an axis to its pixels."""

    low: float
    high: float
    start: float
    stop: float
    log: bool

    def at(self, value: float) -> float:
        """Return the pixel of ``value``."""
        low, high, value = self._on_axis(self.low), self._on_axis(self.high), self._on_axis(value)
        share = (value - low) / (high - low) if high > low else 0.5
        return self.start + share * (self.stop - self.start)

    def ticks(self) -> Sequence[float]:
        """Return round values to name."""
        return _powers(self.low, self.high) if self.log else _steps(self.low, self.high)

    def _on_axis(self, value: float) -> float:
        return math.log10(value) if self.log else value


def plot(series: Series) -> str:
    """Return one ``<svg>`` of the curves, with a legend below it."""
    points = [point for curve in series.curves.values() for point in curve]
    xs, ys = [x for x, _ in points], [y for _, y in points]
    log_x = series.log_x and min(xs, default=0) > 0
    log_y = series.log_y and min(ys, default=0) > 0
    across = _scale(xs, LEFT, WIDTH - RIGHT, log=log_x)
    up = _scale(ys if log_y else [0.0, *ys], HEIGHT - BOTTOM, TOP, log=log_y)
    body = "".join([*_grid(across, up), *_names(series), *_curves(series, across, up)])
    label = escape(series.title, quote=True)
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">{body}</svg>'
        f'<p class="legend">{_legend(series)}</p>'
    )


def _scale(values: Sequence[float], start: float, stop: float, *, log: bool) -> Scale:
    low, high = min(values, default=0.0), max(values, default=1.0)
    if low == high:
        high = low * 2 if low > 0 else low + 1
    return Scale(low, high if log else high + (high - low) * 0.05, start, stop, log)


def _powers(low: float, high: float) -> list[float]:
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    powers = [10.0**power for power in range(first, last + 1)]
    inside = [value for value in powers if low <= value <= high]
    return inside if len(inside) > 1 else [low, high]


def _steps(low: float, high: float) -> list[float]:
    rough = (high - low) / 4
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * step for step in STEPS if power * step >= rough)
    first, last = math.ceil(low / step), math.floor(high / step)
    return [step * count for count in range(first, last + 1)]


def _grid(across: Scale, up: Scale) -> Iterator[str]:
    for value in up.ticks():
        y = up.at(value)
        yield f'<path class="grid" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>'
        yield f'<text class="tick" x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{number(value)}</text>'
    for value in across.ticks():
        x = across.at(value)
        yield f'<path class="grid" d="M{x:.1f} {TOP}V{HEIGHT - BOTTOM}"/>'
        yield f'<text class="tick" x="{x:.1f}" y="{HEIGHT - BOTTOM + 15}" text-anchor="middle">{number(value)}</text>'


def _names(series: Series) -> Iterator[str]:
    middle = (TOP + HEIGHT - BOTTOM) / 2
    yield f'<text class="axis" x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 6}" text-anchor="middle">{escape(series.x)}</text>'
    yield f'<text class="axis" transform="rotate(-90 12 {middle})" x="12" y="{middle}" text-anchor="middle">{escape(series.y)}</text>'


def _curves(series: Series, across: Scale, up: Scale) -> Iterator[str]:
    for colour, curve in zip(_colours(series), series.curves.values(), strict=True):
        pixels = [(across.at(x), up.at(y)) for x, y in curve]
        yield f'<polyline class="curve" stroke="{colour}" points="{_joined(pixels)}"/>'
        for (x, y), (left, right) in zip(pixels, curve, strict=True):
            yield (
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}">'
                f"<title>{number(left)}: {number(right)}</title></circle>"
            )


def _joined(pixels: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in pixels)


def _legend(series: Series) -> str:
    return " ".join(
        f'<span style="color:{colour}">&#9632;</span> {escape(name)}'
        for colour, name in zip(_colours(series), series.curves, strict=True)
    )


def _colours(series: Series) -> list[str]:
    return [COLOURS[index % len(COLOURS)] for index in range(len(series.curves))]
