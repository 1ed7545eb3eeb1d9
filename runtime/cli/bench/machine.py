"""What a measurement was made on."""

import os
import platform
import sys
from importlib import metadata
from pathlib import Path

from runtime.cli.memory import resident_bytes

PACKAGES = ("greenroom", "trio", "attrs", "cattrs", "orjson", "apsw")
"""apsw has the version of the SQLite that it brings."""


def facts() -> dict[str, str]:
    """Return the machine, its load, the versions and this process' memory, by name."""
    found = {
        "processor": _from_proc("/proc/cpuinfo", "model name") or platform.processor(),
        "cores": str(len(os.sched_getaffinity(0))),
        "load": " ".join(f"{load:.2f}" for load in os.getloadavg()),
        "memory": _from_proc("/proc/meminfo", "MemTotal"),
        "system": f"{platform.system()} {platform.release()}",
        "python": f"{platform.python_implementation()} {sys.version.split()[0]}",
    }
    for package in PACKAGES:
        found[package] = _version(package)
    resident = resident_bytes()
    if resident is not None:
        found["resident"] = f"{resident / 2**20:.0f} MiB"
    return found


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _from_proc(path: str, key: str) -> str:
    """Return the first value of ``key`` in a file of ``key: value`` lines; empty where there is none."""
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return ""
    values = (line.partition(":") for line in lines)
    return next((value.strip() for name, _, value in values if name.strip() == key), "")
