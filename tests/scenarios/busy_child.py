"""Another process with three sessions whose tools run until it is killed.

Run ``python -m tests.scenarios.busy_child PATH``; it says ``running ID`` for each tool.
"""

import sys

import trio

from actors.testing.model import ScriptedModel
from actors.testing.script import Call, CallTools
from runtime import ToolContext, open_engine, tool
from runtime.engine.opening import ASK

NAMES = ("s0", "s1", "s2")


@tool(effect="read")
async def wait(context: ToolContext) -> str:
    """Wait."""
    sys.stdout.write(f"running {context.session_id}\n")
    sys.stdout.flush()
    await trio.sleep_forever()
    return "never"


async def main(path: str) -> None:
    """Prompt each session once."""
    model = ScriptedModel(lambda _request: CallTools(Call("wait")))
    async with open_engine(path, model=model, tools=[wait], policy=ASK) as engine:
        async with trio.open_nursery() as nursery:
            for name in NAMES:
                session = await engine.create(id=name)
                nursery.start_soon(session.run, "wait")


if __name__ == "__main__":
    trio.run(main, sys.argv[1])
