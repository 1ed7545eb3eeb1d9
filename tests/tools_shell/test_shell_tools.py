"""The shell as a model uses it, in an engine: what it reads, what the log keeps, and that nothing goes on."""

import secrets
from pathlib import Path

import pytest
import trio

from actors.log.budget import CONTENT_BYTES
from actors.log.json_text import json_bytes
from actors.ports.tool import Tool
from actors.testing.context import RecordedContext
from actors.testing.model import ScriptedModel
from actors.testing.script import Call, CallTools, Say
from runtime import Policy, PolicyEntry, PolicyTable, open_engine
from runtime.tools.background import LIVE_LIMIT
from runtime.tools.local_shell import LocalShell
from runtime.tools.shell_tools import shell_tools
from tests.contracts.tool_contract import ToolContract
from tests.tools_shell.shell_processes import appears, is_made, living

SHELLS = ("shell", "shell_start")
OPEN = Policy(
    mode="danger",
    table=PolicyTable(
        entries=(
            *(PolicyEntry(index=n, tool="shell", pattern=p) for n, p in enumerate(("echo", "seq"))),
            PolicyEntry(index=9, tool="shell", pattern="rm", decision="deny"),
        )
    ),
)


@pytest.fixture
def tools(tmp_path: Path) -> dict[str, Tool]:
    return {t.schema.name: t for t in shell_tools(LocalShell(tmp_path, mode="danger"))}


@pytest.fixture
def word() -> str:
    return f"word{secrets.token_hex(8)}"


async def approve(_) -> str:
    return "approve"


async def results_of(engine, session) -> list[dict]:
    events = await session.read()
    return [event.data() for event in events if event.type == "tool/result"]


async def one_result(tools, *calls: Call, on_ask=approve, policy=None):
    """Return the results of calls, one step for each."""
    script = [*(CallTools(call) for call in calls), Say("done")]
    async with open_engine(
        model=ScriptedModel(script),
        tools=list(tools.values()),
        on_ask=on_ask,
        policy=policy or Policy(mode="danger"),
    ) as engine:
        session = await engine.create()
        assert (await session.run("go")).completed
        results = await results_of(engine, session)
        kept = [
            (await engine._stage.services.store.read_blob(session.id, r["overflow"]["blob"]))
            if "overflow" in r
            else None
            for r in results
        ]
    return results, kept


class TestTheShellKeepsTheContractOfTools(ToolContract):
    arguments = {"command": "echo hello"}  # noqa: RUF012 - never changed

    @pytest.fixture
    def tool(self, tools) -> Tool:
        return tools["shell"]

    @pytest.fixture
    def autojump_clock(self) -> None:
        """Processes take real time."""


async def test_the_model_reads_text_and_the_log_keeps_the_facts(tools):
    command = "printf 'out\\xff'; echo err >&2; exit 3"
    (result,), _ = await one_result(tools, Call("shell", {"command": command}))

    assert result["content"] == "out\ufffd\n[stderr]\nerr\n[exit code: 3]"
    assert "error" not in result
    meta = result["meta"]
    assert meta.pop("durationMs") >= 0
    assert meta == {
        "exitCode": 3,
        "signal": None,
        "timedOut": False,
        "aborted": False,
        "timeoutMs": 120_000,
        "leftBehind": 0,
        "stdout": {"bytes": 4, "truncated": False},
        "stderr": {"bytes": 4, "truncated": False},
        "sandbox": {"mode": "danger", "confinedBy": None},
    }


async def test_a_long_output_shows_its_end_and_is_kept_as_a_whole(tools):
    command = "seq 100000; seq 5 >&2"
    (result,), (kept,) = await one_result(tools, Call("shell", {"command": command}))

    text = result["content"]
    assert json_bytes(text) <= CONTENT_BYTES
    assert (
        "\n99999\n100000\n\n[output truncated; full output: see the last line]\n[stderr]\n1\n"
        in text
    )
    assert result["overflow"]["blob"] in text.splitlines()[-1]
    numbers = "".join(f"{n}\n" for n in range(1, 100_001))
    assert kept.decode() == f"{numbers}\n[stderr]\n1\n2\n3\n4\n5\n"


async def test_an_output_that_grows_as_json_still_fits_and_is_kept(tools):
    command = "head -c 50000 /dev/zero | tr '\\0' '\\1'"
    (result,), (kept,) = await one_result(tools, Call("shell", {"command": command}))

    assert json_bytes(result["content"]) <= CONTENT_BYTES
    assert kept == b"\1" * 50_000


async def test_an_output_that_is_too_long_to_keep_says_so(tools, monkeypatch):
    monkeypatch.setattr("runtime.tools.capture.Capture.__init__.__defaults__", (1_000_000,))
    command = {"command": "head -c 3000000 /dev/zero | tr '\\0' x"}
    (result,), (kept,) = await one_result(tools, Call("shell", command))

    assert kept is None
    assert result["content"].endswith("[output truncated; full output: (unavailable)]")


async def test_processes_that_are_left_behind_are_ended_and_told(tools, word):
    command = f"bash -c 'sleep 600; : {word}' >/dev/null 2>&1 &"
    (result,), _ = await one_result(tools, Call("shell", {"command": command}))

    assert "left running and ended with the command" in result["content"]
    assert result["meta"]["leftBehind"] >= 1
    assert living(word) == []


async def test_an_interrupt_in_mid_command_leaves_no_process(tools, tmp_path, word):
    model = ScriptedModel(
        [CallTools(Call("shell", {"command": f"echo hi; touch up; sleep 600; : {word}"}))]
    )
    async with open_engine(model=model, tools=list(tools.values()), on_ask=approve) as engine:
        session = await engine.create()
        turn = await session.prompt("go")
        await is_made(tmp_path / "up")
        await session.interrupt().settled()
        assert (await turn.result()).reason == "aborted"
        assert living(word) == []
        (result,) = await results_of(engine, session)
    assert result["content"] == "hi\n[killed by signal: SIGTERM]"
    assert result["meta"]["aborted"]


@pytest.mark.parametrize("name", SHELLS)
async def test_a_denied_command_is_not_run_by_either_tool(tools, tmp_path, name):
    (tmp_path / "there").touch()
    (result,), _ = await one_result(tools, Call(name, {"command": "rm there"}), policy=OPEN)

    assert result["error"]["code"] == "TOOL_BLOCKED"
    assert (tmp_path / "there").exists()


async def test_an_allowed_command_runs_without_a_question(tools):
    (result,), _ = await one_result(
        tools, Call("shell", {"command": "echo free"}), policy=OPEN, on_ask=None
    )
    assert result["content"] == "free\n"


async def test_a_background_command_is_read_piece_by_piece_and_stopped(tools, word):
    command = f"echo one; read -t 600 < <(sleep 600); : {word}"
    started, first, again, stopped, after = (
        await one_result(
            tools,
            Call("shell_start", {"command": command}),
            Call("shell_read", {"command_id": "bg-1-1-1", "wait_s": 20}),
            Call("shell_read", {"command_id": "bg-1-1-1"}),
            Call("shell_stop", {"command_id": "bg-1-1-1"}),
            Call("shell_read", {"command_id": "bg-1-1-1", "wait_s": 20}),
        )
    )[0]

    assert started["meta"] == {"id": "bg-1-1-1", "sandbox": {"mode": "danger"}}
    assert first["content"] == "one\n[running]"
    assert again["content"] == "(no new output)\n[running]"
    assert stopped["content"].startswith("(no new output)\n[killed: signal: SIG")
    assert (after["content"], after["meta"]["status"]) == (stopped["content"], "killed")
    assert living(word) == []


@pytest.mark.parametrize("end", ["close", "engine"])
async def test_a_background_command_ends_with_its_session(tools, word, end):
    call = Call("shell_start", {"command": f"sleep 600; : {word}"})
    model = ScriptedModel([CallTools(call), Say("done")])
    async with open_engine(model=model, tools=list(tools.values()), on_ask=approve) as engine:
        session = await engine.create()
        assert (await session.run("go")).completed
        await appears(word)
        if end == "close":
            await session.close()
            with trio.fail_after(10):
                while living(word):  # noqa: ASYNC110 - the end of a process tells nobody
                    await trio.sleep(0.02)
    assert living(word) == []


async def test_no_session_reads_what_another_one_started(tools):
    async with trio.open_nursery() as nursery:
        mine = RecordedContext(nursery=nursery).context(session_id="mine")
        other = RecordedContext(nursery=nursery).context(session_id="other")
        await tools["shell_start"].call({"command": "echo secret"}, mine)
        read = {"command_id": "bg-1-1-1", "wait_s": 20}
        assert "secret" in (await tools["shell_read"].call(read, mine)).content
        with pytest.raises(Exception, match="known: none"):
            await tools["shell_read"].call(read, other)


async def test_a_character_that_is_read_in_halves_stays_whole(tools, tmp_path):
    go = tmp_path / "go"
    command = r"printf 'a\xc3'; while [ ! -e go ]; do sleep 0.02; done; printf '\xbcb\xc3'"
    async with trio.open_nursery() as nursery:
        context = RecordedContext(nursery=nursery).context()
        await tools["shell_start"].call({"command": command}, context)
        read = {"command_id": "bg-1-1-1", "wait_s": 20}
        texts = [(await tools["shell_read"].call(read, context)).content]
        go.touch()
        while "running" in texts[-1]:
            texts.append((await tools["shell_read"].call(read, context)).content)
    said = "".join(t.rpartition("\n[")[0].replace("(no new output)", "") for t in texts)
    assert said == "aüb\ufffd"


async def test_a_background_flood_is_lossy_and_still_kept_as_a_whole(tools):
    results, kept = await one_result(
        tools,
        Call("shell_start", {"command": "seq 100000; echo end; touch done"}),
        Call("shell", {"command": "until [ -e done ]; do sleep 0.02; done"}),
        Call("shell_stop", {"command_id": "bg-1-1-1"}),
    )
    assert "some output was dropped from memory" in results[2]["content"]
    assert kept[2].decode().startswith("1\n2\n")
    assert kept[2].decode().endswith("100000\nend\n")


async def test_no_more_background_commands_run_than_may(tools):
    async with trio.open_nursery() as nursery:
        context = RecordedContext(nursery=nursery).context()
        for _ in range(LIVE_LIMIT):
            await tools["shell_start"].call({"command": "sleep 600"}, context)
        with pytest.raises(Exception, match="8 background commands run already"):
            await tools["shell_start"].call({"command": "sleep 600"}, context)
        await tools["shell_stop"].call({"command_id": "bg-1-1-3"}, context)
        await tools["shell_start"].call({"command": "true"}, context)
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("name", SHELLS)
async def test_a_mode_that_the_log_sets_narrows_the_shell(tools, tmp_path, monkeypatch, name):
    monkeypatch.setenv("PATH", str(tmp_path))  # so that it cannot be enforced
    model = ScriptedModel([CallTools(Call(name, {"command": "touch there"})), Say("done")])
    async with open_engine(
        model=model, tools=list(tools.values()), on_ask=approve, policy=Policy(mode="danger")
    ) as engine:
        session = await engine.create()
        await session.append("sandbox/mode", {"mode": "workspace-write"})
        await session.run("go")
        (result,) = await results_of(engine, session)
    assert result["error"]["code"] == "SANDBOX_UNAVAILABLE"
    assert not (tmp_path / "there").exists()


async def test_a_command_that_cannot_be_confined_is_an_error_for_the_model(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    tools = {t.schema.name: t for t in shell_tools(LocalShell(tmp_path))}
    for name in SHELLS:
        (result,), _ = await one_result(tools, Call(name, {"command": "touch there"}))
        assert result["error"]["code"] == "SANDBOX_UNAVAILABLE"
    assert not (tmp_path / "there").exists()
