"""``greenroom demo-model``: installs the demo model and runs its server until Ctrl-C."""

import signal
from collections.abc import Callable

import trio

from runtime.models.demo_install import install_demo
from runtime.models.demo_serving import open_demo_server


def run_demo_model(say: Callable[[str], None], *, install_only: bool) -> None:
    """Install, then serve until Ctrl-C or SIGTERM.

    Raises:
        DemoModelError: it could not be installed, or did not start.
    """
    trio.run(_run, say, install_only)


async def _run(say: Callable[[str], None], install_only: bool) -> None:
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_work, say, install_only, nursery.cancel_scope)
            async for _ in signals:
                nursery.cancel_scope.cancel()


async def _work(say: Callable[[str], None], install_only: bool, scope: trio.CancelScope) -> None:
    await install_demo(say)
    if install_only:
        say("the demo model is installed")
        scope.cancel()
        return
    async with open_demo_server() as address:
        say(f"serving at {address}/v1; in another terminal: greenroom chat --model demo")
        say("Ctrl-C ends it")
        await trio.sleep_forever()
