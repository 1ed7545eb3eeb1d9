"""``greenroom search``: where something was said."""

from collections.abc import Iterator

import orjson
import trio

from actors.ids import SessionId
from runtime.cli.stored import existing_store
from runtime.engine.finding import Hits
from runtime.engine.opening import open_engine


def search_store(
    spec: str, text: str, session: SessionId | None, limit: int, *, as_json: bool
) -> Iterator[str]:
    """Yield one line for each hit, the last written first."""
    found = trio.run(_search, spec, text, session, limit)
    for hit in found.hits:
        # Shape: {session, seq, excerpt}.
        line = {"session": hit.session_id, "seq": hit.seq, "excerpt": hit.excerpt}
        yield (
            orjson.dumps(line).decode()
            if as_json
            else f"{hit.session_id}  {hit.seq:>6}  {hit.excerpt}"
        )
    for session_id in () if as_json else found.unreadable:
        yield f"{session_id}  cannot be read: greenroom check says why"


async def _search(spec: str, text: str, session: SessionId | None, limit: int) -> Hits:
    async with existing_store(spec) as store, open_engine(store) as engine:
        return await engine.search(text, session=session, limit=limit)
