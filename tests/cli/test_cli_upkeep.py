"""The commands that look after a store, as an operator calls them."""

import json
import time
from pathlib import Path

import apsw
import pytest
import trio
from click.testing import CliRunner, Result

from actors.testing.model import ScriptedModel
from actors.testing.script import Say
from runtime import open_engine
from runtime.cli.app import app
from runtime.formats.native import native_lines
from runtime.formats.readlog import Origin
from runtime.stores.open import open_store


def greenroom(*arguments: object) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)])


async def fill(store: Path) -> None:
    async with open_engine(str(store), model=ScriptedModel(lambda _: Say("fine"))) as engine:
        for name in ("a", "b", "c"):
            await (await engine.create(id=name)).run("hello " * 2_000)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "store.db"
    trio.run(fill, path)
    return path


def ids(store: Path) -> list[str]:
    return [
        json.loads(line)["id"] for line in greenroom("sessions", store, "--json").stdout.split()
    ]


def test_a_backup_is_a_store_and_replaces_nothing(store: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    assert greenroom("backup", store, copy).exit_code == 0
    assert ids(copy) == ["a", "b", "c"]
    assert greenroom("check", copy).exit_code == 0
    again = greenroom("backup", store, copy)
    assert again.exit_code == 2
    assert "BACKUP_EXISTS" in again.output
    assert "STORE_MISSING" in greenroom("backup", tmp_path / "none.db", tmp_path / "x.db").output
    assert not (tmp_path / "none.db").exists()


def test_pruning_says_what_it_would_do_and_does_it(store: Path) -> None:
    assert greenroom("prune", store, "--older-than", "1h").stdout == "0 sessions are deleted\n"
    time.sleep(0.01)  # noqa: TID251 - the time of day decides, at milliseconds
    dry = greenroom("prune", store, "--older-than", "0s", "--dry-run")
    assert dry.stdout.splitlines() == ["a", "b", "c", "3 sessions would be deleted"]
    assert ids(store) == ["a", "b", "c"]
    assert "3 sessions are deleted" in greenroom("prune", store, "--older-than", "0s").stdout
    assert ids(store) == []
    before = store.stat().st_size
    assert greenroom("vacuum", store).exit_code == 0
    assert store.stat().st_size < before


@pytest.mark.parametrize("time", ["30", "d", "-1d", "1.5h", "3 days", ""])
def test_a_time_without_its_unit_is_refused(store: Path, time: str) -> None:
    refused = greenroom("prune", store, "--older-than", time)
    assert refused.exit_code == 2
    assert "30d" in refused.output


async def test_a_store_with_an_owner_is_copied_and_not_pruned(store: Path, tmp_path: Path) -> None:
    async with open_engine(str(store)) as engine:

        async def command(*arguments: object) -> Result:
            return await trio.to_thread.run_sync(lambda: greenroom(*arguments))

        assert (await command("backup", store, tmp_path / "copy.db")).exit_code == 0
        for words in (("prune", store, "--older-than", "0s"), ("vacuum", store)):
            refused = await command(*words)
            assert refused.exit_code == 1
            assert "STORE_OWNED" in refused.output
        assert len((await engine.sessions()).sessions) == 3


def test_a_check_looks_at_the_pages_too(store: Path) -> None:
    db = apsw.Connection(str(store))
    db.execute("PRAGMA writable_schema = 1")
    db.execute("DELETE FROM sqlite_schema WHERE name = 'sessions_by_source'")
    db.close()
    checked = greenroom("check", store)
    assert checked.exit_code == 1
    assert "WRONG database:" in checked.stdout
    assert "3 of 3 logs are as promised" in checked.stdout
    assert json.loads(greenroom("check", store, "--json").stdout)["database"]


def test_what_is_left_of_a_damaged_session_is_written_out(store: Path) -> None:
    db = apsw.Connection(str(store))
    db.execute("UPDATE events SET body = x'7b7d' WHERE session = 2 AND seq = 1")
    db.close()
    assert "PERSIST_DATA_CORRUPT" in greenroom("check", store).stdout
    saved = greenroom("salvage", "b", "--store", store)
    assert saved.exit_code == 0
    header, *events = map(json.loads, saved.stdout.splitlines())
    assert header["id"] == "b"
    assert [event["seq"] for event in events][:2] == [0, 2]

    async def whole() -> bytes:
        async with open_store(str(store)) as opened:
            return b"".join(native_lines(Origin(id="c"), await opened.read("c")))

    events_of_c = trio.run(whole).splitlines()[1:]
    assert greenroom("salvage", "c", "--store", store).stdout_bytes.splitlines()[1:] == events_of_c
