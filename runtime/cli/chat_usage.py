"""What a session has used, read from its own events. Pure."""

from collections.abc import Callable, Iterable

from actors.json import JsonObject
from actors.log.events import Event
from runtime.models.catalogue_card import Card, Spent, spent


def session_spent(events: Iterable[Event], find: Callable[[str], Card | None]) -> Spent:
    """Return what the replies of a session cost; what a fork took over was paid for by its parent (K-20)."""
    replies: list[tuple[Card | None, JsonObject]] = []
    for event in events:
        if event.type == "session/end-seed":
            replies.clear()
        elif event.type == "assistant/message":
            data = event.data()
            usage = data.get("usage") if isinstance(data, dict) else None
            if isinstance(data, dict) and isinstance(usage, dict):
                replies.append((find(f"{data.get('provider')}/{data.get('model')}"), usage))
    return spent(replies)


def told(total: Spent) -> str:
    """Return it as one line."""
    cost = f"{total.cost:.4f} {total.currency}" if total.currency is not None else "no known price"
    more = f", without {total.unpriced} replies of unknown price" if total.unpriced else ""
    return f"{total.tokens:,} tokens, {cost}{more}"
