"""What is looked after from time to time, over all live sessions: who has nothing to do, and who gets nowhere.

Source: L-24, design 5 (passivation).
"""

from collections.abc import Collection
from typing import Final

import trio

from actors.session.desk import Desk

STALLED: Final = "stalled"
"""The cause that the log keeps for a turn that got nowhere."""
LOOKS: Final = 10
"""How often a turn is looked at before it counts as stalled."""


async def rest_idle(desks: Collection[Desk], idle_s: float) -> None:
    """Put sessions to rest that have had nothing to do for a while."""
    while True:
        await trio.sleep(idle_s / 2)
        since_s = trio.current_time() - idle_s
        for desk in list(desks):
            if desk.touched_s < since_s and desk.idle:
                desk.rest()


async def end_stalled(desks: Collection[Desk], stall_s: float) -> None:
    """Interrupt turns in which nothing has happened for ``stall_s``, at most a tenth of that later."""
    while True:
        await trio.sleep(stall_s / LOOKS)
        now_s = trio.current_time()
        for desk in list(desks):
            if now_s - desk.stirred_s(now_s) >= stall_s:
                desk.interrupt(STALLED, turn_only=True)
