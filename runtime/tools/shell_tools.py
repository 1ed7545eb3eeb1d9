"""The shell as tools: one command, and commands in the background.

Source: D-280..D-299, K-14.
"""

from typing import Final

import trio

from actors.ports.shell import Shell, ShellProcess, ShellRequest
from actors.ports.tool import Tool, ToolContext, ToolOutput
from runtime.tools.background import BackgroundCommands
from runtime.tools.functions import tool
from runtime.tools.shell_report import report, report_read
from runtime.tools.waiting import first_of

LONGEST_WAIT_S: Final = 60.0
"""How long a read may wait for news."""
_SLACK_S: Final = 30.0
"""What ending and reading take at most beside what was asked for."""


def shell_tools(shell: Shell) -> tuple[Tool, ...]:
    """Return ``shell``, ``shell_start``, ``shell_read`` and ``shell_stop`` over one shell.

    A background command ends with the session that started it, and no other session can read it.
    """
    background = BackgroundCommands(shell)

    @tool(name="shell", effect="exec", timeout_s=shell.longest_s)
    async def run(
        command: str,
        ctx: ToolContext,
        workdir: str | None = None,
        timeout_s: float | None = None,
    ) -> ToolOutput:
        """Run a command line and wait for its end. Nothing that it starts goes on after it.

        Args:
            command: the command line, for bash. Its stdin is empty.
            workdir: the folder to run it in; relative ones start at the workspace.
            ctx: the call.
            timeout_s: seconds until it is ended, 120 when left out, at most 600.
        """
        mode = ctx.sandbox_mode
        request = ShellRequest(command=command, cwd=workdir, timeout_s=timeout_s, mode=mode)
        return report(await shell.run(shell.resolve(request), ctx.cancelled))

    @tool(effect="exec", timeout_s=_SLACK_S)
    async def shell_start(command: str, ctx: ToolContext, workdir: str | None = None) -> ToolOutput:
        """Start a command line in the background, such as a server; it ends with the session at the latest.

        Args:
            command: the command line, for bash. Its stdin is empty.
            ctx: the call.
            workdir: the folder to run it in; relative ones start at the workspace.
        """
        request = ShellRequest(command=command, cwd=workdir, mode=ctx.sandbox_mode)
        spec = shell.resolve(request)
        command_id = await background.start(spec, ctx)
        return ToolOutput(
            content=f"started in the background as {command_id}; read it with shell_read",
            meta={"id": command_id, "sandbox": {"mode": spec.mode}},
        )

    return (run, shell_start, *_readers(background))


def _readers(background: BackgroundCommands) -> tuple[Tool, Tool]:
    """Return the tools for what runs; they count as reads, since a session can end only what it started."""

    @tool(effect="read", timeout_s=LONGEST_WAIT_S + _SLACK_S)
    async def shell_read(command_id: str, ctx: ToolContext, wait_s: float = 0) -> ToolOutput:
        """Read what a background command wrote since it was read last, and whether it still runs.

        Args:
            command_id: what shell_start gave.
            ctx: the call.
            wait_s: seconds to wait at most for something new, up to 60.
        """
        process = background.find(ctx.session_id, command_id)
        longest_s = min(max(wait_s, 0), LONGEST_WAIT_S)
        await first_of(process.stirred, ctx.cancelled, trio.current_time() + longest_s)
        return await _read(command_id, process)

    @tool(effect="read", timeout_s=_SLACK_S)
    async def shell_stop(command_id: str, ctx: ToolContext) -> ToolOutput:
        """End a background command, and read what it wrote since it was read last.

        Args:
            command_id: what shell_start gave.
            ctx: the call.
        """
        process = background.find(ctx.session_id, command_id)
        process.kill()
        await process.ended()
        return await _read(command_id, process)

    return shell_read, shell_stop


async def _read(command_id: str, process: ShellProcess) -> ToolOutput:
    output = await process.output()
    return report_read(command_id, process, process.read(), output)
