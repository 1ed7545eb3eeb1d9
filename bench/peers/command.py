"""``python -m bench peers``: makes an environment for each peer, then measures beside them."""

import argparse
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Final

from bench.peers.catalogue import PEERS, PeerSpec, python_of, requirements
from bench.peers.found import HOME, reason_file
from bench.running import last_line

INSTALL_LIMIT_S: Final = 300.0
COMPARED: Final = "B1,B2,B3,B4,B5,B7,B8"
"""The scenarios that have peers."""


def run_peers(arguments: Sequence[str], measure: Callable[[list[str]], int]) -> int:
    """Make what is missing and measure; ``measure`` takes the arguments that are not about peers."""
    parser = argparse.ArgumentParser(
        prog="python -m bench peers",
        description="Measure beside other projects, each in a virtual environment of its own below .bench/.",
        epilog="Other options go to python -m bench: --only, --quick, --json, --html.",
    )
    names = [spec.name for spec in PEERS]
    parser.add_argument(
        "--install", action="store_true", help="make the environments, measure nothing"
    )
    parser.add_argument("--again", action="store_true", help="make the environments anew")
    parser.add_argument("--of", choices=names, action="append", help="only this peer; repeatable")
    options, rest = parser.parse_known_args(arguments)
    for spec in PEERS:
        if options.of is None or spec.name in options.of:
            print(f"{spec.name}: {install(spec, again=options.again)}", flush=True)
    if options.install:
        return 0
    only = () if any(argument.startswith("--only") for argument in rest) else ("--only", COMPARED)
    return measure(["--peers", *only, *rest])


def install(spec: PeerSpec, *, again: bool) -> str:
    """Make the environment of a peer unless it is there; return what became of it."""
    home, reason = HOME / spec.name, reason_file(spec)
    if python_of(spec, HOME).exists() and not again:
        return "is there already"
    HOME.mkdir(parents=True, exist_ok=True)
    (HOME.parent / ".gitignore").write_text("*\n")
    reason.unlink(missing_ok=True)
    pip = [str(python_of(spec, HOME)), "-m", "pip", "install", "--quiet", "--no-input"]
    for command in (
        [sys.executable, "-m", "venv", "--clear", str(home)],
        [*pip, *requirements(spec)],
    ):
        why = _failure(command)
        if why is not None:
            shutil.rmtree(home, ignore_errors=True)
            reason.write_text(f"cannot be installed: {why}\n")
            return f"cannot be installed: {why}"
    return "installed"


def _failure(command: list[str]) -> str | None:
    """Run a command; return why it failed, None when it did not."""
    try:
        ended = subprocess.run(
            command,
            capture_output=True,
            check=False,
            timeout=INSTALL_LIMIT_S,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        return f"it took more than {INSTALL_LIMIT_S:g} s"
    return None if ended.returncode == 0 else last_line(ended.stderr)
