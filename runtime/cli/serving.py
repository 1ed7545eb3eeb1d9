"""``greenroom serve``: an engine behind the HTTP face, until Ctrl-C or SIGTERM."""

import secrets
import signal
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import attrs
import click
import trio

from actors.errors.base import UsageError
from runtime.cli.chat_models import open_cast
from runtime.config import variable
from runtime.engine.opening import open_engine
from runtime.faces.http.app import HttpFace
from runtime.faces.http.judges import TcpAddress
from runtime.faces.http.listening import Listener, Listening, open_listeners
from runtime.faces.http.serving import serve
from runtime.stores.postgres.target import shown

DEFAULT_PORT: Final = 7717
TOKEN_BYTES: Final = 32


class TokenSourceError(UsageError):
    """The place that should hold the token holds none."""

    code = "HTTP_TOKEN_MISSING"

    def __init__(self, where: str) -> None:
        super().__init__(where)
        self.where = where

    def __str__(self) -> str:
        return f"there is no token in {self.where}"


@attrs.frozen(kw_only=True)
class ServeOrder:
    """The options. Without a token file or variable a token is made, and printed once."""

    store: str
    model: str
    tools: tuple[str, ...]
    tcp: TcpAddress | None
    socket_path: Path | None
    accepted_hosts: tuple[str, ...]
    token_file: Path | None
    token_variable: str | None
    take_over: bool = False


def tcp_address(host: str | None, port: int | None, socket_path: Path | None) -> TcpAddress | None:
    """Return the address to listen on; None when a socket file takes its place."""
    if socket_path is not None and host is None and port is None:
        return None
    return TcpAddress(host or "127.0.0.1", DEFAULT_PORT if port is None else port)


def serve_until_stopped(order: ServeOrder) -> None:
    """Serve, and end in order.

    Raises:
        ExposedError, ListenError: the address cannot be listened on.
        TokenSourceError: no token was found where it should be.
        GreenroomError: the store or the model cannot be opened.
    """
    given = _given_token(order)
    made = secrets.token_hex(TOKEN_BYTES) if given is None and order.tcp is not None else None
    trio.run(_serve, order, given or made, made)


async def _serve(order: ServeOrder, token: str | None, made: str | None) -> None:
    listening = Listening(
        tcp=(order.tcp,) if order.tcp is not None else (),
        socket_path=order.socket_path,
        accepted_hosts=order.accepted_hosts,
    )
    async with (
        open_listeners(listening, token) as listeners,
        open_cast(order.model, order.tools) as cast,
        open_engine(
            order.store,
            model=cast.model,
            tools=cast.tools,
            take_over=order.take_over,
            report=_complain,
        ) as engine,
    ):
        face = HttpFace(engine, token=token, report=_complain)
        await _until_stopped(face, listeners, lambda: _announce(order, listeners, made))


async def _until_stopped(
    face: HttpFace, listeners: Sequence[Listener], ready: Callable[[], None]
) -> None:
    """Serve until a signal, and drain; a second signal cuts what is open."""
    scope = trio.CancelScope()
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async with trio.open_nursery() as companions:
            companions.start_soon(_drain_at_signal, signals, face, scope)
            with scope:
                async with trio.open_nursery() as serving:
                    await serving.start(partial(serve, face, listeners, report=_complain))
                    ready()
            companions.cancel_scope.cancel()


async def _drain_at_signal(
    signals: AsyncIterator[int], face: HttpFace, scope: trio.CancelScope
) -> None:
    async for _ in signals:
        if face.drain.is_set():
            scope.cancel()
            return
        face.drain.set()


def _announce(order: ServeOrder, listeners: Sequence[Listener], made: str | None) -> None:
    for listener in listeners:
        click.echo(f"serving {shown(order.store)} at {listener.address}")
    if made is not None:
        click.echo(f"token {made}")


def _given_token(order: ServeOrder) -> str | None:
    if order.token_file is not None:
        return _found(order.token_file.read_text().strip(), str(order.token_file))
    if order.token_variable is not None:
        return _found(variable(order.token_variable), f"${order.token_variable}")
    return None


def _found(token: str | None, where: str) -> str:
    if not token:
        raise TokenSourceError(where)
    return token


def _complain(where: str, error: Exception) -> None:
    click.echo(f"greenroom: {where}: {type(error).__name__}: {error}", err=True)
