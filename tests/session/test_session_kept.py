"""What a tool leaves running ends with its session."""

import pytest
import trio
from promises import keeps_its_promises

from actors.testing.model import ScriptedModel
from actors.testing.script import Call, CallTools, Say
from runtime import Limits, ToolContext, open_engine, tool


class Keeping:
    """A tool that leaves a task behind, and what became of the task."""

    def __init__(self, error: Exception | None = None) -> None:
        self.started, self.ended = trio.Event(), trio.Event()
        self.error = error

    async def task(self) -> None:
        self.started.set()
        try:
            if self.error is not None:
                raise self.error
            await trio.sleep_forever()
        finally:
            self.ended.set()

    @property
    def tool(self):
        @tool(effect="read")
        async def leave(ctx: ToolContext) -> None:
            ctx.keep(self.task)
            await self.started.wait()

        return leave


def engine_with(keeping: Keeping, **limits):
    model = ScriptedModel(lambda r: Say("done") if r.step % 2 == 0 else CallTools(Call("leave")))
    return open_engine(model=model, tools=[keeping.tool], limits=Limits(**limits))


async def test_it_goes_on_after_the_turn_and_its_interrupt_and_ends_when_the_session_is_closed(
    autojump_clock,
):
    keeping = Keeping()
    async with engine_with(keeping) as engine:
        session = await engine.create()
        assert (await session.run("go")).completed
        await session.interrupt().settled()
        await trio.sleep(1)
        assert not keeping.ended.is_set()
        await session.close()
        with trio.fail_after(1):
            await keeping.ended.wait()
        await keeps_its_promises(engine, session)


async def test_the_session_is_not_put_to_rest_while_it_runs(autojump_clock):
    keeping = Keeping()
    async with engine_with(keeping, idle_s=1.0) as engine:
        session = await engine.create()
        await session.run("go")
        await trio.sleep(60)
        assert not keeping.ended.is_set()
    assert keeping.ended.is_set()


@pytest.mark.parametrize("error", [LookupError("broke"), ExceptionGroup("all", [OSError()])])
async def test_what_it_raises_ends_it_alone(autojump_clock, error):
    async with engine_with(Keeping(error)) as engine:
        session = await engine.create()
        assert (await session.run("go")).completed
        assert (await session.run("again")).completed
        assert engine.quarantined() == []
