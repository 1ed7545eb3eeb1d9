"""Sessions leave a store as files, come back, and are forked, by command."""

import json
from pathlib import Path
from typing import Any

import pytest
import trio
from click.testing import CliRunner, Result

from actors.testing.model import ScriptedModel
from actors.testing.script import Say
from runtime import open_engine
from runtime.cli.app import app
from runtime.formats.reading import read_log
from tests.formats import dsh_samples as dsh
from tests.formats import test_formats_berry as berry
from tests.formats import test_formats_claude as claude
from tests.formats import test_formats_codex as codex

DSH_V0 = dsh.log(0, dsh.user("hi"), dsh.turn(), dsh.event("step/start", {}), dsh.ended())
CLAUDE = claude.file(
    claude.said("user", "u1", None, "hi"),
    claude.said("assistant", "u2", "u1", claude.text("hello")),
)
CODEX = codex.file(
    codex.record("session_meta", id="c", timestamp="2026-01-02T03:04:05.678Z"),
    codex.message("user", "hi"),
    codex.message("assistant", "hello"),
)
BERRY = berry.log(berry.event("user/message", content="hi"))


def greenroom(*arguments: object) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)])


async def fill(store: Path) -> None:
    async with open_engine(str(store), model=ScriptedModel(lambda _: Say("fine"))) as engine:
        session = await engine.create(id="first")
        await session.run("hello")
        await session.run("again")
        await session.rename("A title")


async def answers(store: Path, session_id: str) -> str:
    """Return what the session says to one more prompt: it is one like any other."""
    async with open_engine(str(store), model=ScriptedModel(lambda _: Say("on we go"))) as engine:
        return (await engine.session(session_id).run("go on")).text


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "store.db"
    trio.run(fill, path)
    return path


def exported(store: Path, session_id: str, *options: str) -> bytes:
    result = greenroom("export", session_id, "--store", store, *options)
    assert result.exit_code == 0, result.output
    return result.stdout_bytes


def rows(store: Path) -> dict[str, dict[str, Any]]:
    listed = greenroom("sessions", store, "--json").stdout.splitlines()
    return {row["id"]: row for row in map(json.loads, listed)}


def test_a_session_comes_back_from_its_export_as_it_was(store: Path, tmp_path: Path) -> None:
    file, other = tmp_path / "first.jsonl", tmp_path / "other.db"
    file.write_bytes(exported(store, "first"))
    taken = greenroom("import", file, "--store", other)
    assert (taken.exit_code, taken.stdout) == (0, "first\n")
    assert "read as greenroom/session version 1" in taken.stderr
    assert (rows(other)["first"]["origin"], rows(other)["first"]["title"]) == ("import", "A title")
    assert read_log(exported(other, "first")).events == read_log(file).events
    assert greenroom("check", other).exit_code == 0
    assert trio.run(answers, other, "first") == "on we go"


@pytest.mark.parametrize(
    ("form", "text"),
    [("dsh-v0", DSH_V0), ("claude-code", CLAUDE), ("codex", CODEX), ("berry", BERRY)],
)
def test_a_log_of_another_system_is_taken_in_used_and_written_back(
    tmp_path: Path, form: str, text: bytes
) -> None:
    file, store = tmp_path / "log.jsonl", tmp_path / "store.db"
    file.write_bytes(text)
    assert greenroom("import", file, "--store", store, "--id", "x").stdout == "x\n"
    assert greenroom("check", store).exit_code == 0
    assert read_log(exported(store, "x", "--format", form)).events == read_log(file).events
    assert trio.run(answers, store, "x") == "on we go"


@pytest.mark.parametrize("form", ["claude-code", "codex", "dsh"])
def test_a_format_that_cannot_say_it_is_refused_and_nothing_is_written(
    store: Path, form: str
) -> None:
    refused = greenroom("export", "first", "--store", store, "--format", form)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "SESSION_NOT_EXPORTABLE" in refused.stderr


def test_records_of_one_system_are_not_written_as_those_of_another(tmp_path: Path) -> None:
    file, store = tmp_path / "log.jsonl", tmp_path / "store.db"
    file.write_bytes(CODEX)
    greenroom("import", file, "--store", store, "--id", "x")
    refused = greenroom("export", "x", "--store", store, "--format", "claude-code")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "imported from elsewhere" in refused.stderr


def test_a_reply_of_the_old_version_is_not_written_as_the_new_one(tmp_path: Path) -> None:
    file, store = tmp_path / "log.jsonl", tmp_path / "store.db"
    cited = dsh.reply("hello", sourceEventSeqs=[0])
    file.write_bytes(dsh.log(0, dsh.user("hi"), dsh.turn(), cited, dsh.ended()))
    greenroom("import", file, "--store", store, "--id", "x")
    assert exported(store, "x", "--format", "dsh-v0")
    refused = greenroom("export", "x", "--store", store, "--format", "dsh")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "dsh-v0" in refused.stderr


def test_a_forged_range_does_not_get_in(tmp_path: Path) -> None:
    file, store = tmp_path / "log.jsonl", tmp_path / "store.db"
    forged = {"op": "hide", "startSeq": 0, "endSeq": 900_000_000}
    hiding = {"seq": 0, "time": 1, "type": "compaction/surface", "data": {}, "surfaceOp": forged}
    header = {"format": "greenroom/session", "version": 1, "id": "x"}
    file.write_bytes(dsh.joined([header, hiding]))
    refused = greenroom("import", file, "--store", store)
    assert refused.exit_code == 2
    assert not store.exists()


def test_a_taken_id_is_refused_and_another_one_can_be_given(store: Path, tmp_path: Path) -> None:
    file = tmp_path / "first.jsonl"
    file.write_bytes(exported(store, "first"))
    refused = greenroom("import", file, "--store", store)
    assert refused.exit_code == 2
    assert "--id" in refused.stderr
    assert greenroom("import", file, "--store", store, "--id", "second").stdout == "second\n"
    assert set(rows(store)) == {"first", "second"}


def test_a_fork_shares_the_past_up_to_the_seq_that_is_given(store: Path) -> None:
    whole = greenroom("fork", "first", "--store", store)
    assert whole.exit_code == 0
    assert greenroom("fork", "first", "--store", store, "--at", 3, "--id", "f").stdout == "f\n"
    found = rows(store)
    assert (found["f"]["source"], found["f"]["cut"]) == ("first", 4)
    assert found[whole.stdout.strip()]["source"] == "first"
    assert "SESSION_NOT_FOUND" in greenroom("fork", "none", "--store", store).stderr
    assert "SESSION_BOUNDARY" in greenroom("fork", "first", "--store", store, "--at", 999).stderr
    assert exported(store, "f").startswith(b'{"format":"greenroom/session"')


def test_a_store_in_use_is_exported_and_not_imported_into(store: Path, tmp_path: Path) -> None:
    file = tmp_path / "first.jsonl"

    async def beside() -> Result:
        async with open_engine(str(store)):
            text = await trio.to_thread.run_sync(exported, store, "first")
            file.write_bytes(text)
            return await trio.to_thread.run_sync(
                lambda: greenroom("import", file, "--store", store, "--id", "second")
            )

    refused = trio.run(beside)
    assert refused.exit_code == 1
    assert "STORE_OWNED" in refused.stderr
