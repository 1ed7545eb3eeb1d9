"""Figures and plots as one HTML page that needs nothing beside it. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Final

from runtime.cli.bench.figure import Figure, Outcome, Series
from runtime.cli.bench.svg import plot
from runtime.cli.bench.table import VERDICTS, number, verdict

STYLE: Final = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 64rem; margin: 2rem auto; padding: 0 1rem; color: #1f2937; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; } h3 { font-size: 1rem; margin: 0; }
table { border-collapse: collapse; width: 100%; font-size: 14px; }
th, td { text-align: left; padding: .25rem .5rem; border-bottom: 1px solid #e5e7eb; vertical-align: top; }
td.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
tr.peer td, p.method, td small { color: #6b7280; }
.ok { color: #047857; font-weight: 600; } .missed { color: #b91c1c; font-weight: 600; }
.plots { display: grid; grid-template-columns: repeat(auto-fill, minmax(24rem, 1fr)); gap: 1.2rem; margin-top: 1rem; }
figure { margin: 0; } svg { width: 100%; height: auto; } .legend { font-size: 13px; margin: 0; }
.grid { stroke: #e5e7eb; fill: none; } .curve { fill: none; stroke-width: 2; }
.tick { font-size: 11px; fill: #6b7280; } .axis { font-size: 12px; fill: #374151; }
"""
HEADS: Final = ("", "", "value", "unit", "raw limit", "ratio", "target", "")


def page(title: str, facts: Mapping[str, str], outcomes: Sequence[Outcome], command: str) -> str:
    """Return the whole page; ``command`` is what makes it again."""
    body = [
        f"<h1>{escape(title)}</h1>",
        f"<p><strong>{escape(verdict(outcomes))}</strong>. Made with <code>{escape(command)}</code>.</p>",
        *(part for outcome in outcomes for part in _scenario(outcome)),
        "<h2>Measured on</h2>",
        _facts(facts),
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="icon" href="data:,">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>\n"
        f"<body>{chr(10).join(body)}</body></html>\n"
    )


def _scenario(outcome: Outcome) -> Iterator[str]:
    yield f'<h2 id="{escape(outcome.id, quote=True)}">{escape(outcome.id)} {escape(outcome.title)}</h2>'
    if outcome.failure is not None:
        yield f'<p class="missed">It failed: {escape(outcome.failure)}</p>'
    if outcome.method:
        yield f'<p class="method">{escape(outcome.method)}</p>'
    if outcome.figures:
        heads = "".join(f"<th>{name}</th>" for name in HEADS)
        rows = "".join(row for figure in outcome.figures for row in _rows(figure))
        yield f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
    if outcome.series:
        yield f'<div class="plots">{"".join(map(_plot, outcome.series))}</div>'


def _rows(figure: Figure) -> Iterator[str]:
    notes = "".join(f"<br><small>{escape(note)}</small>" for note in figure.notes)
    target = "" if figure.target is None else escape(str(figure.target))
    yield (
        f"<tr><td>{escape(figure.id)}</td><td>{escape(figure.title)}{notes}</td>"
        f'<td class="n">{number(figure.value)}</td><td>{escape(figure.unit)}</td>'
        f'<td class="n" title="{escape(figure.limit_name, quote=True)}">{number(figure.limit)}</td>'
        f'<td class="n">{number(figure.ratio)}</td><td class="n">{target}</td>{_verdict(figure)}</tr>'
    )
    for peer in figure.peers:
        value, unit = (number(peer.value), figure.unit) if peer.value is not None else ("-", "")
        yield (
            f'<tr class="peer"><td></td><td>{escape(peer.name)} <small>{escape(peer.note)}</small></td>'
            f'<td class="n">{value}</td><td>{escape(unit)}</td><td colspan="4"></td></tr>'
        )


def _verdict(figure: Figure) -> str:
    kind = "missed" if figure.ok is False else "ok"
    return f'<td class="{kind}">{VERDICTS[figure.ok]}</td>'


def _plot(series: Series) -> str:
    return f"<figure><h3>{escape(series.title)}</h3>{plot(series)}</figure>"


def _facts(facts: Mapping[str, str]) -> str:
    rows: Iterable[str] = (
        f"<tr><td>{escape(name)}</td><td>{escape(value)}</td></tr>"
        for name, value in facts.items()
        if value
    )
    return f"<table><tbody>{''.join(rows)}</tbody></table>"
