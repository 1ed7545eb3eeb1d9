"""The settings of compaction, their domain, and who may set them.

Source: S section 12 (defaults), S-155.
"""

from collections.abc import Mapping
from math import isfinite
from typing import Any, Final

import attrs

from actors.errors.rules import (
    CompactionConfigError,
    CompactionSeatError,
    CompactionSummarizerError,
)
from actors.json import JsonValue


@attrs.frozen(kw_only=True)
class CompactionSettings:
    """Wire names are the same in camelCase.

    Units: ``*_chars`` are UTF-16 code units, ``*_tokens`` tokens of the model.
    """

    threshold_ratio: float = 0.5
    tail_keep: int = 6
    cooldown_ms: float = 600_000
    summary_ratio: float = 0.2
    summary_min_chars: float = 2000
    summary_max_chars: float = 12_000
    fallback_window_tokens: float = 200_000
    material_budget_chars: float = 200_000


_WIRE: Final[dict[str, str]] = {
    "thresholdRatio": "threshold_ratio",
    "tailKeep": "tail_keep",
    "cooldownMs": "cooldown_ms",
    "summaryRatio": "summary_ratio",
    "summaryMinChars": "summary_min_chars",
    "summaryMaxChars": "summary_max_chars",
    "fallbackWindowTokens": "fallback_window_tokens",
    "materialBudgetChars": "material_budget_chars",
}
_MAY_BE_ZERO: Final = frozenset({"cooldownMs", "summaryMinChars", "summaryMaxChars"})


def read_settings(config: Mapping[str, JsonValue]) -> CompactionSettings:
    """Return the settings of a wire object over the defaults; unknown keys pass.

    Raises:
        CompactionConfigError: a value is outside its domain.
    """
    values: dict[str, Any] = {
        _WIRE[key]: _checked(key, value) for key, value in config.items() if key in _WIRE
    }
    return CompactionSettings(**values)


def _checked(key: str, value: JsonValue) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise CompactionConfigError(key, value, "a finite number")
    if key == "tailKeep" and (value < 1 or value != int(value)):
        raise CompactionConfigError(key, value, "an integer of at least 1")
    if value < 0 or (value == 0 and key not in _MAY_BE_ZERO):
        wanted = "at least 0" if key in _MAY_BE_ZERO else "above 0"
        raise CompactionConfigError(key, value, wanted)
    return int(value) if key == "tailKeep" else value


@attrs.frozen(kw_only=True)
class CompactionSeats:
    """Two seats, one for the settings and one for the summariser; each has one owner, first come.

    The owner may set its settings again: they replace the earlier ones, they are not merged.
    """

    settings: CompactionSettings = CompactionSettings()
    settings_owner: str | None = None
    summarizer_owner: str | None = None

    def configured(self, owner: str, config: Mapping[str, JsonValue]) -> "CompactionSeats":
        """Return the seats after ``owner`` set its settings.

        Raises:
            CompactionConfigError: a value is outside its domain; checked before the owner is.
            CompactionSeatError: another owner sits there.
        """
        settings = read_settings(config)
        if self.settings_owner not in {None, owner}:
            raise CompactionSeatError("settings", str(self.settings_owner))
        return attrs.evolve(self, settings=settings, settings_owner=owner)

    def summarizing(self, owner: str) -> "CompactionSeats":
        """Return the seats after ``owner`` became the summariser.

        Raises:
            CompactionSummarizerError: another owner sits there.
        """
        if self.summarizer_owner not in {None, owner}:
            raise CompactionSummarizerError("summarizer", str(self.summarizer_owner))
        return attrs.evolve(self, summarizer_owner=owner)

    def released(self, owner: str) -> "CompactionSeats":
        """Return the seats after ``owner`` left both; without an owner the defaults hold."""
        seats = self
        if self.settings_owner == owner:
            seats = attrs.evolve(seats, settings=CompactionSettings(), settings_owner=None)
        if self.summarizer_owner == owner:
            seats = attrs.evolve(seats, summarizer_owner=None)
        return seats
