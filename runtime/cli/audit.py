"""The end of a drive: every stored log is read back, counted, and compared with what its actor holds."""

from collections.abc import Iterable

import attrs

from actors.errors import GreenroomError
from actors.ids import SessionId
from actors.ports.store import EventStore
from runtime.cli.report import Verdict
from runtime.cli.tally import Tally
from runtime.cli.verify import differs
from runtime.engine.engine import Engine


@attrs.frozen
class Audit:
    """What the store holds of a drive: a verdict for each session, and the counts of all."""

    verdicts: tuple[Verdict, ...]
    stored: Tally
    forks: int


async def audit(engine: Engine, store: EventStore, ids: Iterable[SessionId]) -> Audit:
    """Read each session back; inherited events of a fork count for its source alone."""
    stored, verdicts, forks = Tally(), [], 0
    for session_id in ids:
        try:
            held = await engine.session(session_id).projection()
            events = await store.read(session_id)
            lineage = (await store.row(session_id)).record.lineage
        except GreenroomError as error:
            verdicts.append(Verdict(session_id, f"{error} [{error.code}]"))
            continue
        forks += lineage is not None
        for event in events[lineage.cut if lineage else 0 :]:
            stored.saw(session_id, event)
        verdicts.append(Verdict(session_id, differs(events, held)))
    return Audit(tuple(verdicts), stored, forks)
