"""What is known of models: windows, prices and abilities, from a file that comes along and one of the user's.

A model that is not in it can be used all the same; only its window and its cost are unknown.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Final

import attrs

from actors.errors.model import CatalogueError
from actors.json import JsonObject
from runtime.config import catalogue_file
from runtime.models.catalogue_card import Card, card_of, cost_of

FILE: Final = "catalogue.toml"

_DATED: Final = re.compile(r"-(\d{8}|\d{4}-\d{2}-\d{2}|latest)$")
_OTHER_DOORS: Final = {"openai-chat": "openai"}
"""Providers whose models are those of another."""


@attrs.frozen
class Catalogue:
    """Cards by the name ``provider/model``; ``problems`` says which entries could not be read, and why."""

    cards: Mapping[str, Card]
    problems: tuple[str, ...] = ()

    def find(self, name: str) -> Card | None:
        """Return the card of a model, a dated release by its plain name; None when it is not known."""
        return next((self.cards[n] for n in _names(name) if n in self.cards), None)


def _names(name: str) -> Iterator[str]:
    provider, _, model = name.partition("/")
    same = f"{_OTHER_DOORS.get(provider, provider)}/{model}"
    yield name
    yield same
    yield _DATED.sub("", same)


def catalogue_of(*texts: tuple[str, str]) -> Catalogue:
    """Return the catalogue that files say together: a later one overrides single values of an earlier one.

    Args:
        texts: the name and the text of each file. One bad entry, or one bad file, hides no other.
    """
    entries: dict[str, dict[str, object]] = {}
    problems: list[str] = []
    for name, text in texts:
        try:
            said = _tables(name, text)
        except CatalogueError as error:
            problems.append(str(error))
            continue
        for model, values in said.items():
            entries[model] = _merged(entries.get(model, {}), values)
    cards: dict[str, Card] = {}
    for model, values in entries.items():
        try:
            cards[model] = card_of(model, values)
        except CatalogueError as error:
            problems.append(str(error))
    return Catalogue(cards, tuple(problems))


def _tables(name: str, text: str) -> dict[str, dict[str, object]]:
    try:
        said = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise CatalogueError(name, str(error)) from error
    wrong = next((model for model, values in said.items() if not isinstance(values, dict)), None)
    if wrong is not None:
        raise CatalogueError(name, f'{wrong} stands outside of a table like ["provider/model"]')
    return said


def _merged(old: dict[str, object], new: dict[str, object]) -> dict[str, object]:
    """Return ``old`` with what ``new`` says, single prices too."""
    both = {**old, **new}
    before, after = old.get("price"), new.get("price")
    if isinstance(before, dict) and isinstance(after, dict):
        both["price"] = {**before, **after}
    return both


@cache
def known_models() -> Catalogue:
    """Return the catalogue of this process; it reads two small files once."""
    texts = [(FILE, files("runtime.models").joinpath(FILE).read_text())]
    own, problems = catalogue_file(), tuple[str, ...]()
    if own.is_file():
        try:
            texts.append((str(own), own.read_text()))
        except (OSError, UnicodeDecodeError) as error:
            problems = (str(CatalogueError(str(own), str(error))),)
    known = catalogue_of(*texts)
    return attrs.evolve(known, problems=(*known.problems, *problems))


def price_of(model: str, usage: JsonObject) -> float | None:
    """Return what a reply of the model ``provider/model`` cost; None when its price is not known."""
    card = known_models().find(model)
    return cost_of(usage, card.price) if card is not None and card.price is not None else None
