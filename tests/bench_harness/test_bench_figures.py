"""Figures, their verdicts, and the forms in which they are shown."""

import re
from xml.etree import ElementTree

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.cli.bench import table
from runtime.cli.bench.figure import Figure, Outcome, Peer, Series, Target
from runtime.cli.bench.page import page
from runtime.cli.bench.reading import read_outcome
from runtime.cli.bench.sampling import Rounds, distribution, quantile
from runtime.cli.bench.svg import plot

NUMBERS = st.floats(min_value=-1e12, max_value=1e12, allow_nan=False)


def figure(**fields: object) -> Figure:
    return Figure(**({"id": "B2", "title": "turns", "value": 10.0, "unit": "turns/s"} | fields))


def outcome(*figures: Figure, **fields: object) -> Outcome:
    return Outcome(**({"id": "B2", "title": "append", "figures": figures} | fields))


@pytest.mark.parametrize(
    ("target", "ratio", "ok"),
    [
        (Target("at least", 0.5), 0.5, True),
        (Target("at least", 0.5), 0.49, False),
        (Target("at most", 2), 2.0, True),
        (Target("at most", 2), 2.1, False),
        (Target("at most", 2), None, None),
        (None, 0.1, None),
        (Target("at most", 9, "value"), 0.1, False),
        (Target("at most", 10, "value"), None, True),
    ],
)
def test_a_target_bounds_the_ratio_or_the_value_itself(
    target: Target | None, ratio: float | None, ok: bool | None
) -> None:
    assert figure(target=target, ratio=ratio).ok is ok


def test_a_scenario_is_ok_when_every_target_is_met_and_not_when_it_failed() -> None:
    met = figure(target=Target("at least", 1, "value"))
    missed = figure(target=Target("at least", 100, "value"))

    assert outcome(met, figure()).ok is True
    assert outcome(met, missed).ok is False
    assert outcome(figure()).ok is None
    assert outcome(met, failure="it broke").ok is False


def test_a_json_line_holds_the_leading_figure_and_gives_the_same_outcome_back() -> None:
    lead = figure(
        limit=20.0,
        limit_name="dicts",
        ratio=0.5,
        target=Target("at least", 0.13),
        peers=(Peer(name="other", value=3.0, note="less work"), Peer(name="none", note="missing")),
        notes=("a note",),
    )
    series = Series(title="t", x="x", y="y", curves={"a": [(1.0, 2.0)]}, log_y=True)
    made = outcome(lead, figure(id="B2.x", target=Target("at most", 3, "value")), series=(series,))

    line = made.to_line(machine={"cores": "2"})

    shown = orjson.loads(line)
    assert (shown["id"], shown["value"], shown["limit"], shown["ratio"]) == ("B2", 10.0, 20.0, 0.5)
    assert (shown["target"], shown["ok"], shown["machine"]) == (">= 0.13x", False, {"cores": "2"})
    assert [peer["name"] for peer in shown["peers"]] == ["other", "none"]
    assert read_outcome(line).to_json() == made.to_json()


def test_the_table_names_target_verdict_peers_and_what_was_missed() -> None:
    missed = figure(
        ratio=0.1, target=Target("at least", 0.13), peers=(Peer(name="pykka", value=2_000.0),)
    )
    failed = outcome(failure="it broke")

    text = "\n".join([*table.lines(outcome(missed)), *table.lines(failed)])

    assert re.search(r"^B2 .*0\.1 +>= 0\.13x MISSED$", text, re.MULTILINE)
    assert re.search(r"pykka +2,000 turns/s", text)
    assert "FAILED: it broke" in text
    assert table.verdict([outcome(missed, figure())]) == "0 of 1 targets met; missed: B2"


def test_the_ratio_is_the_median_of_single_rounds() -> None:
    rounds = Rounds([(1.0, 2.0), (10.0, 10.0), (300.0, 100.0)])

    assert (rounds.ours, rounds.theirs, rounds.ratio) == (10.0, 10.0, 1.0)
    assert rounds.spread == "3 rounds, ratio 0.5 to 3"


@given(st.lists(NUMBERS, min_size=1), st.floats(min_value=0, max_value=1))
def test_a_quantile_is_one_of_the_samples_and_does_not_fall(
    samples: list[float], share: float
) -> None:
    assert quantile(samples, share) in samples
    values = [value for _, value in distribution(samples)]
    assert values == sorted(values)
    assert (values[0], values[-1]) == (min(samples), max(samples))


@given(
    st.dictionaries(
        st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=8),
        st.lists(st.tuples(NUMBERS, NUMBERS), max_size=8),
        max_size=4,
    ),
    st.booleans(),
    st.booleans(),
)
def test_any_series_becomes_a_well_formed_plot_within_its_frame(
    curves: dict[str, list[tuple[float, float]]], log_x: bool, log_y: bool
) -> None:
    series = Series(title='a "<b>"', x="x", y="y", curves=curves, log_x=log_x, log_y=log_y)

    svg = plot(series).partition('<p class="legend">')[0]

    root = ElementTree.fromstring(svg)
    circles = root.findall("circle")
    assert len(circles) == sum(map(len, curves.values()))
    for circle in circles:
        assert -1 <= float(circle.attrib["cx"]) <= 461
        assert -1 <= float(circle.attrib["cy"]) <= 261


def test_the_page_escapes_what_it_shows_and_loads_nothing() -> None:
    evil = '<script>alert("x")</script>'
    made = outcome(
        figure(title=evil, notes=(evil,), limit_name=evil, peers=(Peer(name=evil, note=evil),)),
        title=evil,
        method=evil,
        series=(Series(title=evil, x=evil, y=evil, curves={evil: [(1.0, 1.0)]}),),
    )

    text = page(evil, {evil: evil}, [made, outcome(failure=evil)], evil)

    assert "<script" not in text
    assert not re.search(r"(?:src|href)=\"(?!data:)", text)
    assert text.count("<svg") == 1
