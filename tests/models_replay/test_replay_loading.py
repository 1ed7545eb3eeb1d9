"""Recordings from files and folders: one bad file never keeps the others from being read."""

from pathlib import Path

import pytest

from runtime.models.replay import ReplayModel
from runtime.models.replay_loading import load_recordings
from tests.formats import dsh_samples as dsh
from tests.formats.dsh_samples import REAL_LOGS, SAMPLES
from tests.models_replay.test_replay_model import answer


def test_folders_are_read_in_sorted_order_and_bad_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    for name in ("b/two.jsonl", "one.jsonl"):
        (tmp_path / name).write_bytes((SAMPLES / "garden-talk.jsonl").read_bytes())
    (tmp_path / "bad.jsonl").write_bytes(b"what is this")
    (tmp_path / "empty.jsonl").write_bytes(dsh.log(4))
    (tmp_path / "notes.txt").write_bytes(b"no log")
    recordings, unreadable = load_recordings([tmp_path, tmp_path / "gone.jsonl"])
    assert [r.name for r in recordings] == ["two", "one"]
    assert [(p.name, type(e).__name__) for p, e in unreadable] == [
        ("bad.jsonl", "UnknownFormatError"),
        ("empty.jsonl", "EmptyRecordingError"),
        ("gone.jsonl", "FileNotFoundError"),
    ]


def test_the_shipped_samples_can_be_replayed() -> None:
    recordings, unreadable = load_recordings([SAMPLES])
    assert not unreadable
    assert [(r.name, len(r.turns)) for r in recordings] == [
        ("code-tour", 3),
        ("garden-talk", 4),
        ("release-day", 3),
    ]
    assert all(call.content is not None for r in recordings for call in r.calls())


@pytest.mark.skipif(not REAL_LOGS.exists(), reason="the recorded logs are not here")
async def test_every_real_log_replays_to_the_text_that_it_holds() -> None:
    recordings, _ = load_recordings(sorted(REAL_LOGS.glob("[!E]*.jsonl")))
    assert len(recordings) == 10
    for recording in recordings:
        model = ReplayModel({"s": recording})
        for number, turn in enumerate(recording.turns, 1):
            for place, step in enumerate(turn.steps, 1):
                reply = await answer(model, turn=number, step=place, attempt=1 + len(step.failures))
                assert [c.id for c in reply.calls] == [c.id for c in step.calls]
                assert reply.content or reply.calls
