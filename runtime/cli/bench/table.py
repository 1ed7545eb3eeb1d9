"""Figures as lines for a terminal."""

from collections.abc import Iterable, Iterator, Mapping

from runtime.cli.bench.figure import Figure, Outcome

PLAIN_FROM = 1000
"""From here on numbers are written without decimals."""
VERDICTS = {True: "ok", False: "MISSED", None: ""}


def number(value: float | None) -> str:
    """Return a number as people read it."""
    if value is None:
        return ""
    if value == 0:
        return "0"
    if abs(value) >= PLAIN_FROM:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def fact_lines(facts: Mapping[str, str]) -> Iterator[str]:
    """Yield the machine on one line for each fact."""
    yield from (f"{name:>10}  {value}" for name, value in facts.items() if value)


def head() -> str:
    """Return the line above the figures."""
    return (
        f"{'':8} {'':52} {'value':>10} {'unit':8} {'limit':>10} {'ratio':>7} {'target':>9} verdict"
    )


def lines(outcome: Outcome, *, notes: bool = True) -> Iterator[str]:
    """Yield one scenario: a line for each figure, its peers and its notes."""
    if outcome.failure is not None:
        yield f"{outcome.id:8} {outcome.title}: FAILED: {outcome.failure}"
    for figure in outcome.figures:
        yield _line(figure)
        for peer in figure.peers:
            value = number(peer.value) if peer.value is not None else "-"
            yield f"{'':8}   {peer.name:50} {value:>10} {figure.unit if peer.value is not None else '':8} {peer.note}".rstrip()
        if notes:
            yield from (f"{'':8}   ({note})" for note in figure.notes)


def verdict(outcomes: Iterable[Outcome]) -> str:
    """Return the last line: how many targets are met."""
    figures = [figure for outcome in outcomes for figure in outcome.figures]
    judged = [figure for figure in figures if figure.ok is not None]
    missed = [figure.id for figure in judged if not figure.ok]
    text = f"{len(judged) - len(missed)} of {len(judged)} targets met"
    return text + (f"; missed: {', '.join(missed)}" if missed else "")


def _line(figure: Figure) -> str:
    target = "" if figure.target is None else str(figure.target)
    return (
        f"{figure.id:8} {figure.title:52} {number(figure.value):>10} {figure.unit:8} "
        f"{number(figure.limit):>10} {number(figure.ratio):>7} {target:>9} {VERDICTS[figure.ok]}"
    ).rstrip()
