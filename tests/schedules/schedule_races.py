"""Programs about one running session: interrupts, answers, batches, the queue."""

from functools import partial

import trio
from schedule_world import World, data_of

from actors.errors import GreenroomError
from actors.errors.input import InputTakenError
from runtime import Session, Turn

MIXED = ("look", "peek", "change", "look", "deaf", "curious", "broken")


async def interrupt_against_answer(world: World) -> None:
    """An ask is answered, and its turn interrupted, at about the same time; then life goes on."""
    session = await world.engine.create(id="s")
    world.readers.start_soon(world.follow, session)
    async with trio.open_nursery() as clients:
        slowest_s = world.chance.choice((0.2, 30.0))
        clients.start_soon(partial(world.answer_all, longest_s=slowest_s))
        turn = await world.prompt(session, "tools change look change", "m1")
        await world.pause(0.4)
        asked_s = trio.current_time()
        await session.interrupt().settled()
        assert trio.current_time() - asked_s < 3.0, "the interrupt waited for something"
        after = await world.prompt(session, "and now", "m2")
        results = [await world.result(t) for t in (turn, after) if isinstance(t, Turn)]
        assert [result.reason for result in results[1:]] == ["completed"]
        clients.cancel_scope.cancel()


async def two_answers(world: World) -> None:
    """Several clients answer one ask, some again after it was settled."""
    session = await world.engine.create(id="s")
    async with trio.open_nursery() as clients:
        async with world.engine.asks() as asks:
            turn = await world.prompt(session, "tools change", "m1")
            ask = await anext(asks)

            async def client(number: int) -> None:
                for word in world.chance.sample(("approve", "reject", "cancel", "always"), 2):
                    await world.pause(0.05)
                    await world.answer(ask.id, word, f"client {number}")

            for number in range(3):
                clients.start_soon(client, number)
            assert isinstance(turn, Turn)
            await world.result(turn)
    (winner,) = world.applied
    assert {s.by for _, s in world.superseded} == {winner[2].by}
    assert len(world.superseded) == 5
    assert bool(world.starts) == (winner[1] in {"approve", "always"})


async def interrupt_against_batch(world: World) -> None:
    """Reads, barriers, stragglers and tools that ask are interrupted at any moment."""
    session = await world.engine.create(id="s")
    world.readers.start_soon(world.follow, session)
    names = world.chance.choices((*MIXED, "mule", "late"), k=world.chance.randint(1, 6))
    async with trio.open_nursery() as clients:
        clients.start_soon(world.answer_all)
        turn = await world.prompt(session, "tools " + " ".join(names), "m1")
        await world.pause(1.0)
        asked_s = trio.current_time()
        await session.interrupt().settled()
        assert trio.current_time() - asked_s < 8.0, "the interrupt took longer than the grace"
        assert isinstance(turn, Turn)
        await world.result(turn)
        after = await world.prompt(session, "next", "m2")
        assert isinstance(after, Turn)
        assert (await world.result(after)).completed
        clients.cancel_scope.cancel()
    _results_in_call_order(world, "s")


def _results_in_call_order(world: World, session_id: str) -> None:
    """L-32: results come in the order of the calls."""
    events = world.store.durable(session_id)
    calls = [data_of(e)["toolCallId"] for e in events if e.type == "tool/call"]
    results = [data_of(e)["toolCallId"] for e in events if e.type == "tool/result"]
    assert calls == results, "L-32: results out of order"


async def submit_at_run_end(world: World) -> None:
    """Input that arrives just as a turn ends joins it or starts the next; never lost, never twice."""
    session = await world.engine.create(id="s")
    world.readers.start_soon(world.follow, session)
    results = []

    async def client(number: int) -> None:
        await world.pause(0.4)
        when = world.chance.choice(("now", "next"))
        text = world.chance.choice(("input", "twice look", "tools peek"))
        turn = await world.prompt(session, f"{text} {number}", f"m{number}", when)
        if isinstance(turn, Turn):
            results.append(await world.result(turn))

    async def note_taker() -> None:
        for _ in range(4):
            await world.pause(0.3)
            await session.append("todo/write", {"items": []})

    async with trio.open_nursery() as clients:
        clients.start_soon(note_taker)
        for number in range(5):
            clients.start_soon(client, number)
    refused = [str(result) for result in results if isinstance(result, GreenroomError)]
    assert not refused, f"K-8: accepted input was not taken: {refused}"
    assert [result.completed for result in results] == [True] * 5
    assert (await session.queue.list()).next_turn == ()


async def withdraw_against_consumption(world: World) -> None:
    """Entries are edited, moved, withdrawn and held while turns take them."""
    session = await world.engine.create(id="s")
    last: dict[str, str] = {}

    async def meddler(message_id: str) -> None:
        await world.pause(0.6)
        verb = world.chance.choice(("withdraw", "edit", "move", "hold"))
        queue = session.queue
        if verb == "withdraw":
            got = await world.attempt(partial(queue.withdraw, message_id))
            if got is None:
                world.accepted[message_id].withdrawn = True
        elif verb == "edit":
            got = await world.attempt(partial(queue.edit, message_id, f"edited {message_id}"))
            if got is None:
                last[message_id] = f"edited {message_id}"
        elif verb == "move":
            target = world.chance.choice(("next-step", "next-turn"))
            got = await world.attempt(partial(queue.move, message_id, target, 0))
        else:
            await queue.hold()
            await world.pause(0.3)
            await queue.release()
            got = None
        assert got is None or isinstance(got, InputTakenError), got

    async with trio.open_nursery() as clients:
        for number in range(5):
            message_id = f"m{number}"
            await world.prompt(session, f"input {number}", message_id, "next")
            last[message_id] = f"input {number}"
            clients.start_soon(meddler, message_id)
    await session.queue.release()
    await _until_taken(session)
    for event in world.store.durable("s"):
        if event.type == "user/message":
            message = data_of(event)
            assert message["content"] == last[message["id"]], "not run in its last accepted form"


async def _until_taken(session: Session) -> None:
    """Wait until nothing waits and nothing runs."""
    while True:
        queue = await session.queue.list()
        idle = (await session.inspect()).state == "idle"
        if idle and not queue.next_turn and not queue.next_step:
            return
        await trio.sleep(0.2)


async def callers_of_run_are_cancelled(world: World) -> None:
    """Whoever cancels ``run`` takes exactly the own turn or the own waiting input with it."""
    session = await world.engine.create(id="s")

    async def caller(number: int) -> None:
        await world.pause(0.3)
        text = world.chance.choice(("plain", "tools look peek", "hang", "fails"))
        with trio.move_on_after(world.chance.random()) as scope:
            run = partial(session.run, f"{text} {number}", message_id=f"m{number}")
            await world.attempt(run)  # it is told when a turn before it failed
        if scope.cancelled_caught:
            queue = await session.queue.list()
            waiting = {entry.message_id for entry in (*queue.next_step, *queue.next_turn)}
            assert f"m{number}" not in waiting, "a cancelled run still waits"

    async with trio.open_nursery() as callers:
        for number in range(4):
            callers.start_soon(caller, number)
    ends = [data_of(e) for e in world.store.durable("s") if e.type == "turn/end"]
    assert all(end.get("cause") in {None, "caller"} for end in ends), ends
