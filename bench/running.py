"""Runs scenarios: each in a process of its own, with a hard limit on its time.

A fresh process gives each the same memory to begin with, and one that fails or hangs takes nothing along.
"""

import gc
import importlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Final

import attrs

from bench.sizes import SIZES, Scale, Sizes
from bench.timing import GC_THRESHOLD
from runtime.cli.bench.figure import Outcome
from runtime.cli.bench.reading import read_outcome

ROOT: Final = Path(__file__).resolve().parents[1]
SCENARIOS: Final = {
    "B1": "bench.scenarios.mailbox:measure",
    "B2": "bench.scenarios.appending:measure",
    "B3": "bench.scenarios.durable:measure_turns",
    "B4": "bench.scenarios.durable:measure_events",
    "B5": "bench.scenarios.forking:measure",
    "B6": "bench.scenarios.occlusion:measure",
    "B7": "bench.scenarios.recovery:measure",
    "B8": "bench.scenarios.cancelling:measure",
    "B9": "bench.scenarios.capacity:measure",
    "B10": "bench.scenarios.flatness:measure",
    "B11": "bench.scenarios.fairness:measure",
    "B12": "bench.scenarios.mixed:measure",
}
TIME_LIMIT_S: Final[dict[Scale, float]] = {"full": 1_200, "quick": 60, "tiny": 60}
PEERS_LIMIT_S: Final = 400.0
"""What the peers of one scenario may take on top."""


def scenario(name: str) -> Callable[[Sizes], Outcome]:
    """Return what measures a scenario."""
    module, _, function = SCENARIOS[name].partition(":")
    found: Callable[[Sizes], Outcome] = getattr(importlib.import_module(module), function)
    return found


def measure_here(name: str, scale: Scale, *, peers: bool = False) -> Outcome:
    """Measure a scenario in this process."""
    gc.set_threshold(*GC_THRESHOLD)
    began_s = perf_counter()
    outcome = scenario(name)(attrs.evolve(SIZES[scale], peers=peers))
    return attrs.evolve(outcome, duration_s=perf_counter() - began_s)


def measure_apart(name: str, scale: Scale, *, peers: bool = False) -> Outcome:
    """Measure a scenario in a process of its own; what goes wrong there becomes its failure."""
    command = [sys.executable, "-m", "bench", "measure", name, scale, *(["peers"] if peers else [])]
    limit_s = TIME_LIMIT_S[scale] + (PEERS_LIMIT_S if peers else 0)
    try:
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, check=False, timeout=limit_s)
    except subprocess.TimeoutExpired:
        return failed(name, f"it took more than {limit_s:g} s")
    if ended.returncode != 0:
        return failed(name, last_line(ended.stderr))
    return read_outcome(ended.stdout.splitlines()[-1])


def failed(name: str, why: str) -> Outcome:
    """Return the outcome of a scenario without figures."""
    return Outcome(id=name, title=SCENARIOS[name].partition(":")[0].rpartition(".")[2], failure=why)


def last_line(text: bytes) -> str:
    """Return the last line that says something."""
    said = [line for line in text.decode(errors="replace").splitlines() if line.strip()]
    return said[-1].strip() if said else "it said nothing"
