"""Every flake8-async code that the gate selects is raised by a planted violation."""

import configparser
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

PLANTED = """\
from contextlib import asynccontextmanager

import anyio
import trio


async def yields_inside_a_scope():
    with trio.CancelScope():
        yield 1  # ASYNC101, ASYNC119


async def awaits_in_finally():
    try:
        await trio.sleep(1)
    finally:
        await trio.sleep(1)  # ASYNC102


async def swallows_the_cancellation():
    try:
        await trio.sleep(1)
    except BaseException:  # ASYNC103
        return 1  # ASYNC104


async def nursery_of_one():
    async with trio.open_nursery() as nursery:  # ASYNC112
        nursery.start_soon(trio.sleep, 1)


@asynccontextmanager
async def serving():
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.serve_tcp, print, 80)  # ASYNC113
        await trio.sleep(0)
        yield


kept = anyio.get_cancelled_exc_class()  # ASYNC118


async def awaits_in_except():
    try:
        await trio.sleep(1)
    except ValueError:
        await trio.sleep(1)  # ASYNC120
        raise


async def leaves_the_nursery():
    while True:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep, 1)
            nursery.start_soon(trio.sleep, 1)
            break  # ASYNC121


def raises_a_child():
    try:
        pass
    except* ValueError as group:
        raise group.exceptions[0]  # ASYNC123
"""


def test_every_selected_code_is_raised(tmp_path: Path) -> None:
    config = configparser.ConfigParser()
    config.read(ROOT / ".flake8")
    selected = set(config["flake8"]["select"].split(","))
    planted = tmp_path / "planted.py"
    planted.write_text(PLANTED)

    ended = subprocess.run(
        [sys.executable, "-m", "flake8", "--config", str(ROOT / ".flake8"), str(planted)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == 1, ended.stderr
    assert set(re.findall(r"ASYNC\d+", ended.stdout)) == selected
