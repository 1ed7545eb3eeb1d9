"""The commands as a user calls them."""

import json
from pathlib import Path

import apsw
import pytest
import trio
from click.testing import CliRunner, Result

from actors.log.events import Draft
from actors.log.log import Log
from actors.ports.store import SessionRecord
from runtime.cli.app import app
from runtime.stores.open import open_store

REAL_LOGS = Path(__file__).parents[2] / ".." / "shared" / "data" / "real-logs"
INSPECTED = ("events", "nodes", "replacements", "messages", "turnEnds", "closersNeeded")

needs_real_logs = pytest.mark.skipif(
    not REAL_LOGS.is_dir(), reason="no recorded logs beside the repo"
)


def greenroom(*arguments: object, stdin: str = "") -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)], input=stdin)


@pytest.fixture(scope="module")
def driven(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that a short drive left."""
    folder = tmp_path_factory.mktemp("driven")
    ended = greenroom(
        "run",
        "--sessions",
        30,
        "--speed",
        "max",
        "--store",
        folder / "s.db",
        "--json",
        folder / "r.json",
    )
    assert ended.exit_code == 0, ended.output
    return folder


async def keep(store: Path, session_id: str, *drafts: Draft) -> None:
    """Store a session with these events."""
    events = Log().append(*drafts, time_ms=1_000)
    async with open_store(str(store)) as opened:
        epoch = await opened.claim("test")
        record = SessionRecord(id=session_id, created_ms=1_000, title="Kept")
        await opened.create(record, events, epoch=epoch)
        await opened.release(epoch)


HELLO = Draft("user/message", {"content": "hello"})
BEGIN = Draft("turn/start", {"turn": 1})


def test_a_drive_plays_every_session_disturbs_some_and_checks_all(driven: Path) -> None:
    report = json.loads((driven / "r.json").read_text())

    assert report["sessions"] == 30
    assert report["turns"] == sum(report["turnsByReason"].values()) > 30
    assert report["acts"].keys() >= {"interrupted", "forked", "compacted"}
    assert report["forks"] == report["acts"]["forked"]
    assert 0 < report["turnsByReason"]["aborted"] <= report["acts"]["interrupted"]
    assert report["asks"] > 0
    assert 0 < report["commits"] < report["events"]
    assert report["checks"] == {"passed": 30 + report["forks"], "failed": []}
    assert report["failures"] == report["unreadable"] == {}
    assert report["memoryPerSessionBytes"] > 0
    assert not report["interrupted"]


def test_two_drives_share_a_store(driven: Path) -> None:
    before = len(greenroom("sessions", driven / "s.db", "--json").output.splitlines())

    again = greenroom("run", "--sessions", 3, "--speed", "max", "--store", driven / "s.db")

    assert again.exit_code == 0, again.output
    assert len(greenroom("sessions", driven / "s.db", "--json").output.splitlines()) >= before + 3


def test_the_sessions_of_a_drive_are_listed_and_all_are_as_promised(driven: Path) -> None:
    listed = [
        json.loads(line)
        for line in greenroom("sessions", driven / "s.db", "--json").output.splitlines()
    ]
    checked = greenroom("check", driven / "s.db", "--json")

    found = json.loads(checked.output)
    assert checked.exit_code == 0
    assert found["sessions"] == len(listed)
    assert found["events"] == sum(row["events"] for row in listed)
    assert (found["unfinished"], found["faults"]) == (0, [])
    assert any(row["source"] is not None for row in listed), "a fork names its source"


def test_a_session_is_inspected_like_its_export(tmp_path: Path) -> None:
    trio.run(keep, tmp_path / "s.db", "one", HELLO, BEGIN)

    found = json.loads(greenroom("inspect", "one", "--store", tmp_path / "s.db", "--json").output)

    assert {name: found[name] for name in INSPECTED} == {
        "events": 2,
        "nodes": [0],
        "replacements": [],
        "messages": 1,
        "turnEnds": [],
        "closersNeeded": 1,
    }


def test_for_people_the_same_figures_are_lines(tmp_path: Path) -> None:
    trio.run(keep, tmp_path / "s.db", "one", HELLO, BEGIN)

    inspected = greenroom("inspect", "one", "--store", tmp_path / "s.db").output
    listed = greenroom("sessions", tmp_path / "s.db").output
    checked = greenroom("check", tmp_path / "s.db").output

    assert "events          2\nnodes           0\n" in inspected.replace(
        "storedSeq       True\n", ""
    )
    assert listed.splitlines()[1] == "one        2 events  1970-01-01 00:00:01  Kept"
    assert checked == (
        "1 of 1 logs are as promised, 2 events; 1 was left unfinished, and recovery will close it\n"
    )


@needs_real_logs
def test_every_recorded_dsh_log_is_inspected_as_expected() -> None:
    expected = [
        json.loads(line) for line in (REAL_LOGS / "EXPECTED.jsonl").read_text().splitlines()
    ]

    for row in expected:
        found = json.loads(greenroom("inspect", REAL_LOGS / row["file"], "--json").output)
        assert {name: found[name] for name in INSPECTED} == {name: row[name] for name in INSPECTED}


@needs_real_logs
def test_a_folder_of_logs_is_driven_and_unknown_formats_are_named(tmp_path: Path) -> None:
    ended = greenroom(
        "run", "--replay", REAL_LOGS, "--sessions", 14, "--speed", "max",
        "--store", tmp_path / "s.db", "--json", tmp_path / "r.json",
    )  # fmt: skip

    report = json.loads((tmp_path / "r.json").read_text())
    assert ended.exit_code == 0, ended.output
    assert report["checks"]["failed"] == []
    assert all(not Path(name).name.startswith("dsh-") for name in report["unreadable"])
    assert all(f"not read: {name}" in ended.output for name in report["unreadable"])


def test_a_damaged_row_is_a_fault_of_its_session_alone(tmp_path: Path) -> None:
    trio.run(keep, tmp_path / "s.db", "bad", HELLO, BEGIN)
    trio.run(keep, tmp_path / "s.db", "good", HELLO)
    db = apsw.Connection(str(tmp_path / "s.db"))
    db.execute("UPDATE events SET body = x'7b7d' WHERE seq = 0 AND session = 1")
    db.close()

    checked = greenroom("check", tmp_path / "s.db", "--json")

    assert checked.exit_code == 1
    assert [fault["session"] for fault in json.loads(checked.output)["faults"]] == ["bad"]


def test_acknowledgements_are_compared_with_what_is_stored(tmp_path: Path) -> None:
    trio.run(keep, tmp_path / "s.db", "one", HELLO, BEGIN)

    kept = greenroom("check", tmp_path / "s.db", "--acks", "-", stdin="one 0\none 1\none 2")
    lost = greenroom("check", tmp_path / "s.db", "--acks", "-", stdin="one 2\ngone 0\n")

    assert kept.exit_code == 0, "the last line was cut off"
    assert lost.exit_code == 1
    assert "WRONG one: acknowledged up to seq 2, stored up to 1" in lost.output
    assert "WRONG gone: no session 'gone'" in lost.output


@pytest.mark.parametrize(
    ("arguments", "status", "code"),
    [
        (["sessions", "missing.db"], 2, "STORE_MISSING"),
        (["check", "missing.db"], 2, "STORE_MISSING"),
        (["inspect", "nobody", "--store", "kept.db"], 2, "SESSION_NOT_FOUND"),
        (["inspect", "strange.txt"], 2, "SESSION_FORMAT_UNKNOWN"),
        (["inspect", "torn.jsonl"], 2, "SESSION_IMPORT_BAD_FORMAT"),
        (["inspect", "."], 2, "FILE_UNREADABLE"),
        (["check", "strange.txt"], 1, "PERSIST_SCHEMA_UNRECOGNIZED"),
        (["run", "--replay", "strange.txt"], 2, "REPLAY_NOTHING"),
        (["run", "--sessions", "0"], 2, "--sessions"),
        (["run", "--speed", "slow"], 2, "--speed"),
        (["run", "--ack-fd", "987"], 2, "--ack-fd"),
        (["run", "--json", "missing/report.json"], 2, "--json"),
        (["run", "--replay", "missing.jsonl"], 2, "--replay"),
    ],
)
def test_bad_input_is_one_clear_error_and_an_exit_status(
    arguments: list[str], status: int, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    trio.run(keep, Path("kept.db"), "one", HELLO)
    Path("strange.txt").write_text("what is this?\n")
    Path("torn.jsonl").write_text(
        '{"format":"greenroom/session","version":1,"length":2}\n{"seq":0,"ti'
    )

    ended = greenroom(*arguments)

    assert ended.exit_code == status, ended.output
    assert code in ended.stderr
    assert "Traceback" not in ended.output


def test_a_store_that_is_owned_is_not_driven_but_can_be_read(tmp_path: Path) -> None:
    async def owned() -> tuple[Result, Result]:
        async with open_store(str(tmp_path / "s.db")) as store:
            await store.claim("the other engine")
            run = await trio.to_thread.run_sync(greenroom, "run", "--store", tmp_path / "s.db")
            sessions = await trio.to_thread.run_sync(greenroom, "sessions", tmp_path / "s.db")
            return run, sessions

    run, sessions = trio.run(owned)

    assert run.exit_code == 1
    assert "the other engine" in run.stderr
    assert "[STORE_OWNED]" in run.stderr
    assert sessions.exit_code == 0


def test_search_prints_where_something_was_said(tmp_path: Path):
    store = tmp_path / "s.db"
    trio.run(keep, store, "kept", HELLO, Draft("user/message", {"content": "a needle in hay"}))
    found = greenroom("search", "NEEDLE", "--store", store)
    assert found.exit_code == 0
    assert found.stdout.split() == ["kept", "1", "a", "needle", "in", "hay"]
    as_json = greenroom("search", "needle", "--store", store, "--json").stdout
    assert json.loads(as_json) == {"session": "kept", "seq": 1, "excerpt": "a needle in hay"}
    assert greenroom("search", "straw", "--store", store).stdout == ""
    short = greenroom("search", "ab", "--store", store)
    assert (short.exit_code, "3 characters" in short.stderr) == (2, True)
