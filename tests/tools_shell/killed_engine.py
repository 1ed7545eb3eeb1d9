"""An engine with a command in the foreground and one in the background, to be killed: ROOT WORD."""

import sys

import trio

from actors.testing.model import ScriptedModel
from actors.testing.script import Call, CallTools
from runtime import open_engine, workspace_tools


async def approve(_: object) -> str:
    return "approve"


async def main(root: str, word: str) -> None:
    calls = (
        CallTools(Call("shell_start", {"command": f"(sleep 600; : {word}) & sleep 600; : {word}"})),
        CallTools(Call("shell", {"command": f"trap '' TERM HUP; sleep 600; : {word}-last"})),
    )
    tools = workspace_tools(root, sandbox="danger")
    async with open_engine(model=ScriptedModel([*calls]), tools=tools, on_ask=approve) as engine:
        await (await engine.create()).run("go")


trio.run(main, *sys.argv[1:])
