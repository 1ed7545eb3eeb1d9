"""Putting an ask: its question is written, somebody answers or nobody does, and its decision is written (P5, P6)."""

from collections.abc import Callable

import trio

from actors.json import JsonObject
from actors.log.events import Draft
from actors.rules.approval import Outcome, Settlement, outcome, withdrawn
from actors.session.ask import Ask
from actors.session.delegation import announce
from actors.session.drafts import decided_draft
from actors.session.state import SessionState


def _nothing(_: Outcome) -> list[Draft]:
    return []


async def put_ask(
    session: SessionState,
    ask: Ask,
    signal: trio.Event,
    *,
    again: bool = False,
    then: Callable[[Outcome], list[Draft]] = _nothing,
) -> Outcome:
    """Write the question, wait for its settlement, write the decision with what follows ``then``, and say what it means.

    Whoever answered is told after the decision is durable (P4). With the ``signal`` of its call set it is
    withdrawn before anybody sees it (N-6).

    Args:
        session: who asks.
        ask: the question.
        signal: set when its call is cancelled.
        again: a crash left it open: it is logged already, and waits for a watcher (K-18).
        then: what is written with the decision, in one batch.

    Cancellation:
        Withdraws the ask; the end of the turn writes its decision.
    """
    if not again:
        if signal.is_set():
            await trio.lowlevel.checkpoint()
            decided = outcome(withdrawn("interrupt"))
            await session.journal.commit(*then(decided))
            return decided
        await session.journal.commit(_asked_draft(ask))
    await announce(session, ask)
    settled = withdrawn("interrupt") if signal.is_set() else None
    entry = session.services.asks.put(ask, waits=again, settled=settled)
    recorded = False
    try:
        settlement = await entry.wait()
        remembered = await _remember(session, ask, settlement)
        decided = outcome(settlement, can_remember=remembered)
        record = decided_draft(ask.id, decided.decision, decided.source, settlement.by)
        is_open = ask.id in session.log.fold.open_asks
        await session.journal.commit(*([record] if is_open else []), *then(decided))
        recorded = is_open
    finally:
        entry.settle(withdrawn("interrupt"))
        session.services.asks.close(entry, recorded=recorded)
    return decided


def _asked_draft(ask: Ask) -> Draft:
    """Return the ``approval/asked`` of an ask (K-17)."""
    asked: JsonObject = {
        "approvalId": ask.id,
        "toolCallId": ask.tool_call_id,
        "toolName": ask.tool_name,
        "target": ask.target,
        "tier": ask.tier,
        "summary": ask.summary,
        "path": list(ask.path),
    }
    if ask.reason is not None:
        asked["reason"] = ask.reason
    if ask.suggested_entry is not None:
        asked["suggestedEntry"] = ask.suggested_entry
    return Draft("approval/asked", asked)


async def _remember(session: SessionState, ask: Ask, settlement: Settlement) -> bool:
    """Keep what was answered with ``always``; False when there is nothing to keep (A-4)."""
    if settlement.decision != "always" or ask.suggested_entry is None:
        return False
    await session.services.remembered.add(ask.suggested_entry, ask.target, ask.tier)
    return True
