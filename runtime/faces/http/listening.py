"""The sockets that a face listens on.

Source: H-5, H-8.
"""

import os
import socket
import stat
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import attrs
import trio

from actors.errors.base import UsageError
from runtime.faces.http.gate import Bound, check_exposure
from runtime.faces.http.judges import TcpAddress

PROBE_S: Final = 1.0
ONLY_THE_OWNER: Final = 0o177
"""The umask that leaves a socket of mode 0600."""


class ListenError(UsageError):
    """The address cannot be listened on."""

    code = "HTTP_LISTEN_FAILED"

    def __init__(self, address: str, why: str) -> None:
        super().__init__(address, why)
        self.address, self.why = address, why

    def __str__(self) -> str:
        return f"cannot listen on {self.address}: {self.why}"


@attrs.frozen(kw_only=True)
class Listening:
    """Where to listen; the accepted names are as in :class:`Bound`."""

    tcp: tuple[TcpAddress, ...] = ()
    socket_path: Path | None = None
    accepted_hosts: tuple[str, ...] = ()
    accepted_origins: tuple[str, ...] = ()


@attrs.frozen
class Listener:
    """One open socket, and what its requests must name."""

    listener: trio.SocketListener
    bound: Bound
    address: str
    """``http://HOST:PORT`` or ``unix:PATH``."""


@asynccontextmanager
async def open_listeners(
    listening: Listening, token: str | None
) -> AsyncIterator[Sequence[Listener]]:
    """Open all sockets, or none; a socket file is removed at the end.

    Raises:
        ExposedError: one could be reached from elsewhere without a token; nothing was opened.
        ListenError: one cannot be listened on.
    """
    for address in listening.tcp:
        check_exposure(Bound(host=address.host), token)
    opened: list[Listener] = []
    made: tuple[int, int] | None = None
    try:
        for address in listening.tcp:
            opened += await _open_tcp(address, listening)
        if listening.socket_path is not None:
            await _clear(listening.socket_path)
            opened.append(_open_unix(listening.socket_path))
            made = _identity(listening.socket_path)
        yield opened
    finally:
        for one in opened:
            one.listener.socket.close()
        if listening.socket_path is not None and made == _identity(listening.socket_path):
            listening.socket_path.unlink(missing_ok=True)


async def _open_tcp(address: TcpAddress, listening: Listening) -> list[Listener]:
    host = address.host.removeprefix("[").removesuffix("]")
    try:
        found = await trio.open_tcp_listeners(address.port, host=host)
    except OSError as error:
        raise ListenError(f"{address.host}:{address.port}", _text(error)) from error
    if address.port == 0:  # each of several would get a port of its own
        for spare in found[1:]:
            spare.socket.close()
        found = found[:1]
    return [_listener(one, address.host, listening) for one in found]


def _listener(opened: trio.SocketListener, host: str, listening: Listening) -> Listener:
    at, port, *_ = opened.socket.getsockname()
    bound = Bound(
        host=host,
        port=port,
        accepted_hosts=listening.accepted_hosts,
        accepted_origins=listening.accepted_origins,
    )
    return Listener(opened, bound, f"http://{f'[{at}]' if ':' in at else at}:{port}")


async def _clear(path: Path) -> None:
    """Remove a socket that nobody listens on any more (H-8).

    Raises:
        ListenError: somebody does, or the path is something else.
    """
    if _identity(path) is None:
        return
    _check_socket(path)
    if await _answers(path):
        raise ListenError(f"unix:{path}", "another process listens there")
    path.unlink(missing_ok=True)  # noqa: ASYNC240 - one system call


def _check_socket(path: Path) -> None:
    if not stat.S_ISSOCK(path.lstat().st_mode):
        raise ListenError(f"unix:{path}", "there is something that is no socket")


async def _answers(path: Path) -> bool:
    """Whether somebody listens on the socket; one that does not answer in time counts as well."""
    with trio.socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        with trio.move_on_after(PROBE_S):
            try:
                await probe.connect(str(path))
            except ConnectionRefusedError:
                return False
            except OSError as error:
                raise ListenError(f"unix:{path}", _text(error)) from error
    return True


def _open_unix(path: Path) -> Listener:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(ONLY_THE_OWNER)
    try:
        sock.bind(str(path))
        sock.listen()
    except OSError as error:
        sock.close()
        raise ListenError(f"unix:{path}", _text(error)) from error
    finally:
        os.umask(before)
    sock.setblocking(False)
    listener = trio.SocketListener(trio.socket.from_stdlib_socket(sock))
    return Listener(listener, Bound(host=None), f"unix:{path}")


def _identity(path: Path) -> tuple[int, int] | None:
    """Return which file stands at the path."""
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _text(error: OSError) -> str:
    return error.strerror or str(error)
