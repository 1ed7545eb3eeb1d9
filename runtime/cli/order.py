"""What ``greenroom run`` was asked for, and the recordings that it plays."""

import math
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path

import attrs

from actors.errors import UsageError
from runtime.models.replay_loading import load_recordings
from runtime.models.replay_recording import Recording


class NothingToReplayError(UsageError):
    """None of the files holds a conversation that can be replayed."""

    code = "REPLAY_NOTHING"

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why

    def __str__(self) -> str:
        return f"there is nothing to replay: {self.why}"


@attrs.frozen(kw_only=True)
class Order:
    """The options.

    Units: ``speed`` is a factor on the recorded pace, infinite for no delays.
    """

    sessions: int
    replays: tuple[Path, ...]
    store: str
    speed: float
    seed: int
    ack_fd: int | None

    @property
    def replay_speed(self) -> float | None:
        """The speed as the replay model takes it."""
        return None if math.isinf(self.speed) else self.speed


@attrs.frozen
class Material:
    """What can be replayed, and the files that cannot with the reason."""

    recordings: Sequence[Recording]
    unreadable: Mapping[str, str]


def material(replays: Sequence[Path]) -> Material:
    """Read the recordings; without any path, the samples that come along.

    Raises:
        NothingToReplayError: no file can be replayed.
    """
    paths = replays or [Path(str(files("runtime") / "samples"))]
    recordings, failed = load_recordings(paths)
    unreadable = {str(path): str(error) for path, error in failed}
    if not recordings:
        reasons = "; ".join(f"{name}: {why}" for name, why in unreadable.items())
        raise NothingToReplayError(reasons or f"no logs in {', '.join(map(str, paths))}")
    return Material(recordings, unreadable)
