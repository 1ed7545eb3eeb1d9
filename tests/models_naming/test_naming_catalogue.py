"""The catalogue of models, and what their use costs."""

from pathlib import Path

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.models import catalogue
from runtime.models.catalogue import catalogue_of, known_models
from runtime.models.catalogue_card import Card, Price, cost_of, spent

GOOD = '["x/good"]\nwindow = 1000\nabilities = ["tools"]\nprice = { input = 1.0, output = 4 }\n'


@pytest.fixture(autouse=True)
def _fresh():
    known_models.cache_clear()
    yield
    known_models.cache_clear()


def test_the_file_that_comes_along_has_no_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GREENROOM_MODELS", "/nowhere")
    known = known_models()

    assert known.problems == ()
    assert len(known.cards) > 10
    assert all(name == card.name for name, card in known.cards.items())


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ('["x/bad"]\nwindow = 0', "above 0"),
        ('["x/bad"]\nwindow = "many"', "window"),
        ('["x/bad"]\nwindow = true', "window"),
        ('["x/bad"]\nwin = 5', "win"),
        ('["x/bad"]\nabilities = ["flies"]', "abilities are"),
        ('["x/bad"]\nprice = { input = 1.0 }', "output"),
        ('["x/bad"]\nprice = { input = -1.0, output = 1.0 }', "from 0"),
        ('["x/bad"]\nprice = { input = nan, output = 1.0 }', "from 0"),
        ('["x/bad"]\nprice = { input = "1", output = 1.0 }', "price.input"),
    ],
)
def test_a_bad_entry_is_told_and_hides_no_other(entry: str, why: str) -> None:
    known = catalogue_of(("a.toml", GOOD), ("b.toml", entry))

    assert set(known.cards) == {"x/good"}
    (problem,) = known.problems
    assert "x/bad" in problem
    assert why in problem


@pytest.mark.parametrize("text", ["oops", "a = 1", "[[x]]"])
def test_a_file_that_is_no_catalogue_is_told_and_hides_no_other(text: str) -> None:
    known = catalogue_of(("a.toml", GOOD), ("b.toml", text))

    assert set(known.cards) == {"x/good"}
    assert "b.toml" in known.problems[0]


def test_the_users_file_overrides_single_values_and_adds_models(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    own = tmp_path / "own.toml"
    own.write_text(
        '["anthropic/claude-opus-5"]\nprice = { output = 99.0 }\n["mine/small"]\nwindow = 4096\n'
    )
    monkeypatch.setenv("GREENROOM_MODELS", str(own))
    known = known_models()

    changed = known.find("anthropic/claude-opus-5")
    assert (changed.price.input, changed.price.output, changed.window) == (5.0, 99.0, 1_000_000)
    assert known.find("mine/small").window == 4096


def test_the_users_file_stands_in_the_config_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("GREENROOM_MODELS", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "greenroom").mkdir()
    (tmp_path / "greenroom/models.toml").write_bytes(b"\xff")

    known = known_models()

    assert known.cards
    assert "models.toml" in known.problems[0]


@pytest.mark.parametrize(
    "name",
    ["x/good", "x/good-20261001", "x/good-2026-10-01", "x/good-latest"],
)
def test_a_dated_release_is_found_by_its_plain_name(name: str) -> None:
    assert catalogue_of(("a", GOOD)).find(name).name == "x/good"


def test_another_door_to_a_provider_finds_its_models() -> None:
    assert known_models().find("openai-chat/gpt-4o").name == "openai/gpt-4o"
    assert known_models().find("nobody/gpt-4o") is None


FULL = Price(input=2.0, output=10.0, cache_read=0.2, cache_write=2.5, cache_write_1h=4.0)
USAGE = {
    "input": 1_000_000,
    "output": 100_000,
    "cacheRead": 2_000_000,
    "cacheWrite": 500_000,
    "cacheWrite1h": 100_000,
    "reasoning": 50_000,
}


def test_each_kind_of_token_costs_its_own_price() -> None:
    assert cost_of(USAGE, FULL) == pytest.approx(2.0 + 1.0 + 0.4 + 1.0 + 0.4)


def test_a_price_that_is_not_said_is_that_of_plain_input() -> None:
    assert cost_of(USAGE, Price(input=2.0, output=10.0)) == pytest.approx(2.0 + 1.0 + 4.0 + 1.0)


counts = st.dictionaries(
    st.sampled_from(["input", "output", "cacheRead", "cacheWrite", "cacheWrite1h", "x"]),
    st.integers(-5, 10**9) | st.none() | st.booleans() | st.text(max_size=2),
)


@given(st.lists(counts, max_size=6))
def test_the_cost_of_a_session_is_that_of_its_replies_and_never_below_zero(replies: list) -> None:
    card = Card(name="x/y", price=FULL)
    total = spent((card, usage) for usage in replies)

    assert total.cost == pytest.approx(sum(cost_of(usage, FULL) for usage in replies))
    assert total.cost >= 0
    assert total.tokens >= 0
    assert total.unpriced == 0


def test_replies_without_a_price_or_in_another_currency_are_counted_apart() -> None:
    euro = Card(name="x/e", price=attrs.evolve(FULL, currency="EUR"))
    total = spent([(Card(name="x/y", price=FULL), USAGE), (None, USAGE), (euro, USAGE)])

    assert total.cost == pytest.approx(cost_of(USAGE, FULL))
    assert (total.currency, total.unpriced) == ("USD", 2)
    assert total.tokens == 3 * 3_600_000


def test_the_catalogue_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first = known_models()
    monkeypatch.setattr(catalogue, "catalogue_of", None)

    assert known_models() is first
