"""The tools of a workspace, in one line and as the README shows them."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import trio

from actors.errors.workspace import SandboxUnavailableError
from actors.ports.tool import Tool
from actors.testing.context import RecordedContext
from runtime import workspace_tools
from tests.tools_shell.shell_processes import needs_bubblewrap

README = (Path(__file__).parents[2] / "README.md").read_text()


def by_name(*args, **kwargs) -> dict[str, Tool]:
    return {tool.schema.name: tool for tool in workspace_tools(*args, **kwargs)}


def test_the_example_of_the_readme_runs_as_pasted(tmp_path):
    (program,) = re.findall(r"```py\n(.*?)```", README, re.DOTALL)
    (tmp_path / "program.py").write_text(program)

    ended = subprocess.run(
        [sys.executable, "program.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert (ended.stderr, ended.returncode) == ("", 0)
    assert ended.stdout == "wrote hello.sh: 22 bytes\nhello from a file\n"


def test_every_tool_is_there_once_with_an_effect_that_it_deserves(tmp_path):
    effects = {name: tool.effect for name, tool in by_name(tmp_path).items()}
    assert effects == {
        **dict.fromkeys(("read", "list", "search", "shell_read", "shell_stop"), "read"),
        **dict.fromkeys(("write", "edit"), "write"),
        **dict.fromkeys(("shell", "shell_start"), "exec"),
    }
    assert len(workspace_tools(tmp_path)) == len(effects)


def test_a_folder_that_is_not_there_is_refused_at_once(tmp_path):
    with pytest.raises(NotADirectoryError):
        workspace_tools(tmp_path / "nowhere")


async def test_without_a_sandbox_commands_are_refused_and_files_still_work(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    tools = by_name(tmp_path)
    context = RecordedContext().context()
    await tools["write"].call({"path": "file", "content": "x"}, context)
    with pytest.raises(SandboxUnavailableError):
        await tools["shell"].call({"command": "cat file"}, context)


@needs_bubblewrap
async def test_files_and_shell_see_the_same_folder(tmp_path):
    tools = by_name(tmp_path)
    context = RecordedContext().context()
    with trio.fail_after(30):
        await tools["write"].call({"path": "a/file", "content": "from the tool\n"}, context)
        output = await tools["shell"].call({"command": "cat file | tee b", "workdir": "a"}, context)
        read = await tools["read"].call({"path": "a/b"}, context)
    assert output.content == read.content == "from the tool\n"
    assert output.meta["sandbox"] == {"mode": "workspace-write", "confinedBy": "bubblewrap"}
