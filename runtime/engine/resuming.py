"""Bringing the sessions back to life whose turns a crash cut off.

Source: K-19: they are found by the store's index, without loading logs.
"""

from actors.errors import GreenroomError
from actors.ids import SessionId
from actors.session.messages import ReadInspection
from actors.session.stage import Stage
from runtime.engine.answering import Report

PAGE = 100


async def resume_unsettled(stage: Stage, report: Report) -> None:
    """Activate every session with an open turn; one that cannot be activated is reported, the others go on."""
    after: tuple[SessionId, int] | None = None
    while True:
        page = await stage.services.store.unsettled(after=after, limit=PAGE)
        for session_id in dict.fromkeys(item.session_id for item in page):
            try:
                await stage.send(session_id, ReadInspection())
            except GreenroomError as refused:
                report(session_id, refused)
        if len(page) < PAGE:
            return
        after = (page[-1].session_id, page[-1].seq)
