"""The recorded conversations that come along, as a model that answers in any session."""

import zlib
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

import trio

from runtime.models.replay import ReplayModel
from runtime.models.replay_loading import load_recordings
from runtime.models.replay_recording import Recording


def load_samples() -> Sequence[Recording]:
    """Read the samples; it blocks."""
    recordings, _ = load_recordings([Path(str(files("runtime") / "samples"))])
    return recordings


def recording_for(session_id: str, recordings: Sequence[Recording]) -> Recording:
    """Return which of the recordings a session replays: always the same one for its id."""
    return recordings[zlib.crc32(session_id.encode()) % len(recordings)]


async def sample_model(speed: float | None = None) -> ReplayModel:
    """Return a model that replays the samples.

    Args:
        speed: 1 keeps the recorded pace; None leaves every delay out.
    """
    recordings = await trio.to_thread.run_sync(load_samples)
    return ReplayModel(lambda session_id: recording_for(session_id, recordings), speed)
