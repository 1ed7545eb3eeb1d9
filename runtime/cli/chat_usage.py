"""What a session has used, as lines. Pure."""

from runtime.engine.usage import SessionUsage
from runtime.models.catalogue_card import Spent


def report(usage: SessionUsage) -> str:
    """Return what the session has used, and beside it the last turn and the tree where they say more."""
    lines = [told(usage.total)]
    if len(usage.turns) > 1:
        last = max(usage.turns)
        lines.append(f"turn {last}: {told(usage.turns[last])}")
    if usage.tree.tokens > usage.total.tokens:
        lines.append(f"with the sessions below: {told(usage.tree)}")
    return "\n".join(lines)


def told(total: Spent) -> str:
    """Return it as one line."""
    cost = f"{total.cost:.4f} {total.currency}" if total.currency is not None else "no known price"
    more = f", without {total.unpriced} replies of unknown price" if total.unpriced else ""
    return f"{total.tokens:,} tokens, {cost}{more}"
