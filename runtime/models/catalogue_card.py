"""One model's card, and what its use costs. Pure."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

import attrs
import cattrs

from actors.errors.model import CatalogueError
from actors.json import JsonObject, JsonValue

ABILITIES: Final = frozenset(("tools", "images", "reasoning"))
MILLION: Final = 1_000_000

_CAPITAL: Final = re.compile("[A-Z]|1")
"""Where a word of the file has a border: cacheWrite1h is cache_write_1h."""


@attrs.frozen(kw_only=True)
class Price:
    """What a million tokens cost; what is not said costs as much as the plainer kind."""

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None
    cache_write_1h: float | None = None
    currency: str = "USD"


@attrs.frozen(kw_only=True)
class Card:
    """What is known of a model.

    Units: ``window`` and ``max_output`` in tokens.
    """

    name: str
    window: int | None = None
    max_output: int | None = None
    abilities: frozenset[str] = frozenset()
    price: Price | None = None


@attrs.frozen(kw_only=True)
class Spent:
    """What replies cost. ``unpriced`` counts those of models whose price is not known."""

    cost: float = 0.0
    currency: str | None = None
    tokens: int = 0
    unpriced: int = 0


def card_of(name: str, values: Mapping[str, object]) -> Card:
    """Return the card that a table of a catalogue says.

    Raises:
        CatalogueError: a value is missing, unknown or cannot be meant.
    """
    try:
        card = _converter().structure({**_snake(values), "name": name}, Card)
    except (
        cattrs.BaseValidationError,
        cattrs.ForbiddenExtraKeysError,
        TypeError,
        ValueError,
    ) as error:
        raise CatalogueError(name, "; ".join(cattrs.transform_error(error))) from None
    wrong = _wrong(card)
    if wrong is not None:
        raise CatalogueError(name, wrong)
    return card


def _wrong(card: Card) -> str | None:
    """Return what cannot be meant."""
    if card.abilities - ABILITIES:
        return f"abilities are {', '.join(sorted(ABILITIES))}"
    if any(count is not None and count <= 0 for count in (card.window, card.max_output)):
        return "window and maxOutput must be above 0"
    price = card.price
    rates = (
        (price.input, price.output, price.cache_read, price.cache_write, price.cache_write_1h)
        if price
        else ()
    )
    if not all(rate is None or 0 <= rate < float("inf") for rate in rates):
        return "prices must be numbers from 0"
    return None


def _converter() -> cattrs.Converter:
    converter = cattrs.Converter(forbid_extra_keys=True)
    converter.register_structure_hook(int, _whole)
    converter.register_structure_hook(float, _number)
    return converter


def _snake(values: Mapping[str, object]) -> dict[str, object]:
    """Return a table with the names of fields as its keys, tables inside it too."""
    return {
        _CAPITAL.sub(lambda found: f"_{found[0].lower()}", word): _snake(value)
        if isinstance(value, dict)
        else value
        for word, value in values.items()
    }


def _whole(value: object, _: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{value!r} is no whole number")
    return value


def _number(value: object, _: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{value!r} is no number")
    return float(value)


def cost_of(usage: JsonObject, price: Price) -> float:
    """Return what one reply cost, by the token counts that the log holds."""
    read = _or(price.cache_read, price.input)
    write = _or(price.cache_write, price.input)
    hour = _tokens(usage, "cacheWrite1h")
    millions = (
        _tokens(usage, "input") * price.input
        + _tokens(usage, "output") * price.output
        + _tokens(usage, "cacheRead") * read
        + max(_tokens(usage, "cacheWrite") - hour, 0) * write
        + hour * _or(price.cache_write_1h, write)
    )
    return millions / MILLION


def spent(replies: Iterable[tuple[Card | None, JsonObject]]) -> Spent:
    """Return what replies cost together; each comes with the card of the model that made it.

    Costs in another currency than the first are counted as unpriced: nothing is converted.
    """
    total = Spent()
    for card, usage in replies:
        total = _plus(total, card.price if card is not None else None, usage)
    return total


def _plus(total: Spent, price: Price | None, usage: JsonObject) -> Spent:
    words = ("input", "output", "cacheRead", "cacheWrite")
    tokens = total.tokens + sum(_tokens(usage, word) for word in words)
    if price is None or total.currency not in {None, price.currency}:
        return attrs.evolve(total, tokens=tokens, unpriced=total.unpriced + 1)
    cost = total.cost + cost_of(usage, price)
    return attrs.evolve(total, tokens=tokens, cost=cost, currency=price.currency)


def _or(value: float | None, otherwise: float) -> float:
    return otherwise if value is None else value


def _tokens(usage: JsonObject, word: str) -> int:
    value: JsonValue = usage.get(word)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
