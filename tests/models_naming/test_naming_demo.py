"""The demo model's server as a process: it says where it listens, and never outlives whoever started it."""

import os
import sys
from pathlib import Path

import pytest
import trio

from actors.errors.model import DemoModelError
from runtime.models import demo_install, demo_serving
from runtime.models.demo import address_file, demo_folder
from runtime.models.demo_install import PACKAGES, demo_python, install_demo
from runtime.models.demo_serving import open_demo_server

SERVES = "echo http://127.0.0.1:4321; cat >/dev/null"
DEAF = "echo http://127.0.0.1:4321; trap '' TERM; exec sleep 600"


@pytest.fixture(autouse=True)
def _own_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))


def interpreter(script: str) -> Path:
    """Put a shell script in the place of the demo model's interpreter; it notes its process."""
    python = demo_python()
    python.parent.mkdir(parents=True, exist_ok=True)
    noted = demo_folder() / "pid"
    python.write_text(f"#!/bin/sh\necho $$ > {noted}\n{script}\n")
    python.chmod(0o755)
    return noted


def runs(noted: Path) -> bool:
    try:
        os.kill(int(noted.read_text()), 0)
    except ProcessLookupError:
        return False
    return True


async def test_a_server_tells_others_where_it_listens_for_as_long_as_it_runs() -> None:
    noted = interpreter(SERVES)
    async with open_demo_server() as address:
        assert address == "http://127.0.0.1:4321"
        assert address_file().read_text().strip() == address
        assert runs(noted)

    assert not address_file().exists()
    assert not runs(noted)


async def test_a_server_that_does_not_listen_to_its_end_is_killed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(demo_serving, "STOP_S", 0.2)
    noted = interpreter(DEAF)
    async with open_demo_server():
        assert runs(noted)

    assert not runs(noted)


async def test_a_cancelled_owner_takes_the_server_with_it() -> None:
    noted = interpreter(SERVES)
    with trio.CancelScope() as scope:
        async with open_demo_server():
            scope.cancel()
            await trio.sleep_forever()

    assert not runs(noted)


@pytest.mark.parametrize("script", ["echo no address", "exit 3"])
async def test_a_server_that_does_not_start_is_told_with_its_log(script: str) -> None:
    noted = interpreter(script)
    with pytest.raises(DemoModelError, match=r"server\.log"):
        async with open_demo_server():
            pass
    assert not address_file().exists()
    assert not runs(noted)


async def test_a_failed_installation_ends_with_what_the_installer_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(demo_install.sys, "executable", "/bin/false")
    with pytest.raises(DemoModelError, match="could not be installed"):
        await install_demo(lambda _: None)
    assert not (demo_folder() / "installed").exists()


async def test_what_is_installed_is_not_installed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    demo_folder().mkdir(parents=True)
    (demo_folder() / "installed").write_text("\n".join(PACKAGES))
    monkeypatch.setattr(demo_install.sys, "executable", "/bin/false")
    said: list[str] = []

    await install_demo(said.append)

    assert said == []
    assert sys.executable == "/bin/false"
