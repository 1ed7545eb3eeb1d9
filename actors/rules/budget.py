"""What a session and its tree may spend, and when they must ask for more.

A budget that is spent pauses and asks; it never kills: what was extended is spent again in steps of the
same size.
"""

from collections.abc import Callable
from typing import Final, TypeAlias

import attrs

from actors.json import JsonObject, JsonValue

Price: TypeAlias = Callable[[str, JsonObject], float | None]
"""What a reply of the model ``provider/model`` with this usage costs; None when that is not known."""

_COUNTS: Final = ("input", "cacheRead", "cacheWrite", "output")


@attrs.frozen
class Spent:
    """Tokens of all kinds, and money."""

    tokens: int = 0
    cost: float = 0.0

    def plus(self, other: "Spent") -> "Spent":
        """Return both together."""
        return Spent(self.tokens + other.tokens, self.cost + other.cost)


def spent_by(usage: JsonValue, price: Price | None = None, model: str = "") -> Spent:
    """Return what one reply of ``model`` spent; without a report nothing is known, and nothing is counted."""
    if not isinstance(usage, dict):
        return Spent()
    counts = (usage.get(key) for key in _COUNTS)
    tokens = sum(c for c in counts if isinstance(c, int) and not isinstance(c, bool))
    cost = price(model, usage) if price is not None else None
    return Spent(tokens, cost or 0.0)


@attrs.frozen(kw_only=True)
class Budget:
    """The bounds of one session and of the tree it is in; None for none.

    Units: tokens of all kinds; ``cost`` in the currency of the prices; ``turn_s`` seconds of one turn.
    """

    tokens: int | None = None
    cost: float | None = None
    tree_tokens: int | None = None
    tree_cost: float | None = None
    turn_s: float | None = None

    def reached(self, mine: Spent, tree: Spent, extensions: int = 0) -> str | None:
        """Return which bound of tokens or money is reached, in words; None for none.

        Every extension allows the same amount once more.
        """
        bounds = (
            ("tokens", mine.tokens, self.tokens),
            ("cost", mine.cost, self.cost),
            ("tokens of the tree", tree.tokens, self.tree_tokens),
            ("cost of the tree", tree.cost, self.tree_cost),
        )
        texts = (_reached(name, spent, bound, extensions) for name, spent, bound in bounds)
        return next((text for text in texts if text), None)

    def overdue(self, turn_s: float, extensions: int = 0) -> str | None:
        """Return whether a turn has taken its time, in words; None when it has not."""
        return _reached("seconds of this turn", turn_s, self.turn_s, extensions)


def _reached(name: str, spent: float, bound: float | None, extensions: int) -> str | None:
    if bound is None or spent < bound * (extensions + 1):
        return None
    return f"{spent:g} of {bound * (extensions + 1):g} {name}"
