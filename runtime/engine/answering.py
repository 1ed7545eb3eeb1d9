"""Asks answered by a function of the embedding program."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

import trio

from actors.errors import GreenroomError
from actors.session.ask import Ask, ClientWord
from actors.session.asks import AskTable, AskWatch

OnAsk: TypeAlias = Callable[[Ask], Awaitable[ClientWord | None]]
Report: TypeAlias = Callable[[str, Exception], None]


async def answer_asks(
    table: AskTable,
    on_ask: OnAsk,
    report: Report,
    *,
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Watch all asks and answer each in a task of its own; counts as watching from ``started()`` on.

    An answer of None leaves the ask to the other watchers. A function that raises is reported and drops
    out of the race; when nobody else watches, the ask is unavailable (N-24).
    """
    async with trio.open_nursery() as answers:
        with table.watch() as watch:
            task_status.started()
            async for ask in watch:
                answers.start_soon(_answer, table, watch, ask, on_ask, report)


async def _answer(
    table: AskTable, watch: AskWatch, ask: Ask, on_ask: OnAsk, report: Report
) -> None:
    try:
        word = await on_ask(ask)
    except Exception as raised:  # noqa: BLE001 - the embedder's function: it may raise anything
        report(f"on_ask for {ask.id}", raised)
        word = None
    if word is None:
        table.declined(ask.id, watch)
        return
    try:
        await table.answer(ask.id, word, by="on_ask")
    except GreenroomError as refused:
        report(f"on_ask for {ask.id}", refused)
        table.declined(ask.id, watch)
