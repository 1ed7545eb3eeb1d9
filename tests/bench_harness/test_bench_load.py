"""The load test of a user's own store and tools."""

from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner, Result

from runtime.cli.app import app

TOOLS = '''
import trio
from runtime import tool

@tool(effect="write")
async def book(seats: int) -> str:
    """Book seats."""
    await trio.lowlevel.checkpoint()
    return f"booked {seats}"

nothing = 3
'''


def bench(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["bench", *map(str, arguments)])


def test_a_load_on_a_store_reports_what_it_did(tmp_path: Path) -> None:
    store, lines, page = (tmp_path / name for name in ("s.db", "b.jsonl", "b.html"))

    ended = bench("--sessions", 4, "--turns", 2, "--store", store, "--json", lines, "--html", page)

    assert ended.exit_code == 0, ended.output
    shown = orjson.loads(lines.read_bytes())
    assert shown["figures"][0]["notes"] == ["8 completed"]
    assert {figure["id"] for figure in shown["figures"]} >= {"load", "load.p99", "load.memory"}
    assert "<svg" in page.read_text()
    listed = CliRunner().invoke(app, ["sessions", str(store), "--json"])
    assert len(listed.output.splitlines()) == 4


def test_a_tool_of_the_user_is_called_once_in_every_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "load_tools_of_a_user.py").write_text(TOOLS)
    monkeypatch.chdir(tmp_path)
    store = tmp_path / "s.db"

    ended = bench(
        "--sessions", 1, "--turns", 2, "--store", store, "--tool",
        'load_tools_of_a_user:book={"seats": 2}',
    )  # fmt: skip

    assert ended.exit_code == 0, ended.output
    (session_id,) = (
        orjson.loads(line)["id"]
        for line in CliRunner().invoke(app, ["sessions", str(store), "--json"]).output.splitlines()
    )
    inspected = CliRunner().invoke(app, ["inspect", session_id, "--store", str(store), "--json"])
    assert orjson.loads(inspected.output)["turnEnds"] == ["completed"] * 2
    assert store.read_bytes().count(b'"content":"booked 2"') >= 2


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ("no-colon", "no module or no name"),
        ("nowhere_at_all:x", "No module named"),
        ("math:nothing_like_it", "no attribute"),
        ("math:pi", "it is no tool"),
        ("runtime.cli.bench.tools:look={", "no JSON"),
        ("runtime.cli.bench.tools:look=[1]", "no JSON object"),
    ],
)
def test_a_tool_that_is_none_is_refused_with_the_way_to_say_it(spec: str, why: str) -> None:
    ended = bench("--tool", spec)

    assert ended.exit_code == 2
    assert why in ended.stderr
    assert "MODULE:NAME=JSON_ARGUMENTS [BENCH_TOOL_INVALID]" in ended.stderr
