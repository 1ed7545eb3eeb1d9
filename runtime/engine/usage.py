"""What a session has used and what that cost: by turn, in all, and with everything below it.

Everything is read from the stored events, so it is the same in every process; prices are those of the catalogue.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

import attrs

from actors.ids import SessionId
from actors.log.events import Event
from actors.ports.store import EventStore
from actors.rules.usage import REPORTING, Used, used_in
from actors.session.stage import MANY
from runtime.models.catalogue import known_models
from runtime.models.catalogue_card import Card, Spent, spent

Find: TypeAlias = Callable[[str], Card | None]


@attrs.frozen(kw_only=True)
class SessionUsage:
    """What one session has used.

    ``total`` counts its own requests: replies, failed attempts and summaries; what a fork took over was paid
    for by its source (K-20). ``turns`` has the part of each turn that used something; summaries between turns
    belong to none. ``tree`` counts the sessions below, too.
    """

    total: Spent
    turns: Mapping[int, Spent]
    tree: Spent


async def session_usage(store: EventStore, session_id: SessionId) -> SessionUsage:
    """Return what a stored session has used; it and those below it are read, not woken.

    Raises:
        SessionNotFoundError: there is no such session.
    """
    find = known_models().find
    own = _own(await store.read(session_id))
    turns: defaultdict[int, list[Used]] = defaultdict(list)
    for turn, used in own:
        if turn is not None:
            turns[turn].append(used)
    mine = [used for _, used in own]
    below: list[Used] = []
    waiting = [session_id]
    while waiting:
        rows = await store.rows(parent=waiting.pop(), limit=MANY)
        for row in rows:
            waiting.append(row.record.id)
            below += [used for _, used in _own(await store.read(row.record.id))]
    return SessionUsage(
        total=_spent(mine, find),
        turns={turn: _spent(used, find) for turn, used in turns.items()},
        tree=_spent([*mine, *below], find),
    )


def _own(events: Iterable[Event]) -> list[tuple[int | None, Used]]:
    """Return what the session's own events say was used, each with its turn."""
    found: list[tuple[int | None, Used]] = []
    for event in events:
        if event.type == "session/end-seed":
            found.clear()
        elif event.type in REPORTING:
            data = event.data()
            used = used_in(event.type, data)
            turn = data.get("turn") if isinstance(data, dict) else None
            if used is not None:
                found.append((turn if isinstance(turn, int) else None, used))
    return found


def _spent(used: Iterable[Used], find: Find) -> Spent:
    return spent((find(one.model), one.usage) for one in used)
