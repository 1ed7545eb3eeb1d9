"""What a session has used, as a fold of its events.

Source: L-154, K-20.
"""

from typing import Final

import attrs

from actors.json import JsonObject, JsonValue

REPORTING: Final = frozenset({"assistant/message", "assistant/attempt", "llm/usage"})
"""The words of events that may say what was used."""


@attrs.frozen(kw_only=True)
class Usage:
    """Sums over the replies of one session. ``currency`` is the first one seen; costs are not converted."""

    turns: int = 0
    input: float = 0
    output: float = 0
    cache_read: float = 0
    cache_write: float = 0
    total_tokens: float = 0
    cost: float = 0
    currency: str | None = None

    def after(self, event_type: str, data: JsonValue) -> "Usage":
        """Return the usage after one more event: ``turn/end`` and replies with counts change it."""
        if event_type == "turn/end":
            return attrs.evolve(self, turns=self.turns + 1)
        usage = data.get("usage") if isinstance(data, dict) else None
        if event_type != "assistant/message" or not isinstance(usage, dict):
            return self
        return self._with_reply(usage) if _is_counted(usage) else self

    def _with_reply(self, usage: JsonObject) -> "Usage":
        cost = usage.get("cost")
        priced = cost if isinstance(cost, dict) else {}
        currency = priced.get("currency")
        return Usage(
            turns=self.turns,
            input=self.input + _number(usage.get("input")),
            output=self.output + _number(usage.get("output")),
            cache_read=self.cache_read + _number(usage.get("cacheRead")),
            cache_write=self.cache_write + _number(usage.get("cacheWrite")),
            total_tokens=self.total_tokens + _number(usage.get("totalTokens")),
            cost=self.cost + _number(priced.get("total")),
            currency=self.currency or (currency if isinstance(currency, str) else None),
        )


@attrs.frozen
class Used:
    """Token counts that an event brings, and the model ``provider/model`` that they are of."""

    model: str
    usage: JsonObject


def used_in(event_type: str, data: JsonValue) -> Used | None:
    """Return what an event says was used: a reply, an attempt that failed, or a summary (``llm/usage``).

    None when it says nothing. Every request is in one event, so that sums count it once.

    Source: S section 5 (``llm/usage``), K-10.
    """
    usage = data.get("usage") if isinstance(data, dict) else None
    if not isinstance(data, dict) or not isinstance(usage, dict):
        return None
    model = data.get("model")
    named = model if isinstance(model, str) else ""
    if event_type == "assistant/message":
        return Used(f"{data.get('provider')}/{named}", usage)
    return Used(named, usage) if event_type in REPORTING else None


def _is_counted(usage: JsonObject) -> bool:
    """Whether the report is complete: input, output and total are numbers."""
    return all(_is_number(usage.get(key)) for key in ("input", "output", "totalTokens"))


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(value: JsonValue) -> float:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else 0
