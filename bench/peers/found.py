"""What the installed peers do, in processes of their own, within the scenario that shows them."""

import subprocess
import tempfile
from pathlib import Path
from typing import Final

import orjson

from bench.peers.catalogue import PEERS, PeerSpec, WorkName, python_of
from bench.running import ROOT, last_line
from bench.sizes import Sizes
from runtime.cli.bench.figure import Peer

HOME: Final = ROOT / ".bench" / "peers"
"""Where the environments are."""
TIME_LIMIT_S: Final = 60.0
MISSING: Final = "not installed; python -m bench peers makes its environment"


def peers_for(work: WorkName, count: int, sizes: Sizes) -> tuple[Peer, ...]:
    """Return what each peer that can do the work does, or why it does not; none when peers are left out.

    Args:
        work: what is done.
        count: how much: actors for asks and cancellation, sessions to open, else turns or events.
        sizes: how many rounds, and whether peers are wanted.
    """
    if not sizes.peers:
        return ()
    return tuple(_peer(spec, work, count, sizes.rounds) for spec in PEERS if work in spec.works)


def _peer(spec: PeerSpec, work: WorkName, count: int, rounds: int) -> Peer:
    python = python_of(spec, HOME)
    if not python.exists():
        return Peer(name=spec.name, note=_reason(spec))
    command = [str(python), "-m", f"bench.peers.scripts.{spec.module}", work]
    with tempfile.TemporaryDirectory(prefix="greenroom-bench-") as folder:
        try:
            ended = subprocess.run(
                [*command, str(count), str(rounds), folder],
                cwd=ROOT,
                capture_output=True,
                check=False,
                timeout=TIME_LIMIT_S,
            )
        except subprocess.TimeoutExpired:
            return Peer(name=spec.name, note=f"it took more than {TIME_LIMIT_S:g} s")
    if ended.returncode != 0:
        return Peer(name=spec.name, note=f"it failed: {last_line(ended.stderr)}")
    value = orjson.loads(ended.stdout.splitlines()[-1])["value"]
    return Peer(name=spec.name, value=value, note=spec.works[work])


def reason_file(spec: PeerSpec) -> Path:
    """Return where it is kept why a peer could not be installed."""
    return HOME / f"{spec.name}.reason"


def _reason(spec: PeerSpec) -> str:
    file = reason_file(spec)
    return file.read_text().strip() if file.exists() else MISSING
