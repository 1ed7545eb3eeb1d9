"""The demo model: a small real one that runs on this machine, in an environment and a process of its own.

SmolLM2 with 135 million parameters. It talks, it knows little, and its tool calls are not usable.
"""

from pathlib import Path
from typing import Final

import trio

from actors.errors.model import DemoModelError
from runtime.config import data_folder

DEMO: Final = "demo"
CONNECT_S: Final = 2.0


def demo_folder() -> Path:
    """Return where the demo model is installed."""
    return data_folder() / "demo-model"


def address_file() -> Path:
    """Return the file that says where the running server listens."""
    return demo_folder() / "address"


async def demo_address() -> str:
    """Return the address of the running server.

    Raises:
        DemoModelError: it does not run, or does not answer.
    """
    try:
        address = (await trio.Path(address_file()).read_text()).strip()
    except OSError:
        raise DemoModelError("does not run") from None
    host, _, port = address.removeprefix("http://").partition(":")
    try:
        with trio.fail_after(CONNECT_S):
            stream = await trio.open_tcp_stream(host, int(port))
    except (OSError, ValueError, trio.TooSlowError):
        raise DemoModelError(f"does not answer at {address}") from None
    await stream.aclose()
    return address
