"""Who gets through to an endpoint, checked in one order.

Source: H-3..H-7, H-11, H-12, N-15.
"""

from typing import Final

import attrs
from starlette.requests import Request

from actors.errors.base import UsageError
from runtime.faces.http.judges import TcpAddress as TcpAddress  # noqa: PLC0414 - part of this face
from runtime.faces.http.judges import (
    bearer_of,
    exposed_host,
    is_loopback_host,
    judge_host_header,
    origin_allowed,
    verify_token,
)
from runtime.faces.wire.errors import (
    DecodeError,
    ForbiddenError,
    ProtocolMismatchError,
    UnauthorizedError,
)
from runtime.faces.wire.requests import PROTOCOL_VERSION

PROTOCOL_HEADER: Final = "x-sdk-protocol"
CLIENT_HEADER: Final = "x-client-id"
_CLIENT_CHARS: Final = 200


class ExposedError(UsageError):
    """The listener could be reached from elsewhere, and nothing protects it.

    Source: H-5.
    """

    code = "HTTP_EXPOSED_WITHOUT_TOKEN"

    def __init__(self, host: str) -> None:
        super().__init__(host)
        self.host = host

    def __str__(self) -> str:
        return (
            f"listening on {self.host!r} without a token would open the engine to the network: "
            "give a token, or listen on 127.0.0.1"
        )


@attrs.frozen(kw_only=True)
class Bound:
    """Where the requests of one listener come in.

    ``host`` is what it is bound to, None for a Unix socket. ``port`` is the bound one; None takes it from
    the server. ``accepted_hosts`` and ``accepted_origins`` are further names under which it is reached
    (a wildcard bind, a proxy).
    """

    host: str | None = "127.0.0.1"
    port: int | None = None
    accepted_hosts: tuple[str, ...] = ()
    accepted_origins: tuple[str, ...] = ()

    @property
    def local(self) -> bool:
        """Whether only this machine can come in."""
        return self.host is None or is_loopback_host(self.host)


def check_exposure(bound: Bound, token: str | None) -> None:
    """Check that nobody from elsewhere gets in without a token.

    Raises:
        ExposedError: somebody could.
    """
    if bound.host is None:
        return
    exposed = exposed_host([TcpAddress(bound.host, bound.port or 0)], token)
    if exposed is not None:
        raise ExposedError(exposed)


def check_token(request: Request, token: str | None) -> None:
    """Check the credentials of a request; without a token there are none to give.

    Raises:
        UnauthorizedError: they are missing or wrong.
    """
    if token is not None and not verify_token(_bearer(request) or "", token):
        raise UnauthorizedError


def has_token(request: Request, token: str | None, cookie: str | None = None) -> bool:
    """Whether a request has the token, as a bearer or in the cookie of that name."""
    given = [_bearer(request)]
    if cookie is not None:
        given.append(request.cookies.get(cookie))
    return token is None or any(verify_token(one, token) for one in given if one)


def check_sender(request: Request, bound: Bound) -> None:
    """Check that the request names this listener and comes from no foreign page.

    Raises:
        ForbiddenError: it does not.
    """
    if bound.host is None:
        return
    host, origin = _only(request, "host"), _only(request, "origin")
    accepted = [name.lower() for name in bound.accepted_hosts]
    fault = judge_host_header(host, bound.host, accepted)
    if fault is not None:
        raise ForbiddenError(f"the Host header is {fault}")
    if origin in bound.accepted_origins:
        return
    server = request.scope.get("server")
    port = bound.port if bound.port is not None else server[1] if server else 0
    if not origin_allowed(origin, bound.host, port or 0, accepted):
        raise ForbiddenError("the page comes from another origin")


def check_protocol(request: Request) -> None:
    """Check that the client speaks this version, and says so.

    Raises:
        ProtocolMismatchError: it does not.
    """
    if request.headers.getlist(PROTOCOL_HEADER) != [str(PROTOCOL_VERSION)]:
        raise ProtocolMismatchError


def client_of(request: Request) -> str:
    """Return who sends a request, as far as it says so.

    Raises:
        DecodeError: it says so at great length.
    """
    name = request.headers.get(CLIENT_HEADER, "")
    if len(name) > _CLIENT_CHARS:
        raise DecodeError(f"{CLIENT_HEADER} has more than {_CLIENT_CHARS} characters")
    return name


def _bearer(request: Request) -> str | None:
    given = request.headers.getlist("authorization")
    return bearer_of(given[0]) if len(given) == 1 else None


def _only(request: Request, name: str) -> str | None:
    """Return the one header of that name.

    Raises:
        ForbiddenError: there are several, of which different readers would take different ones.
    """
    given = request.headers.getlist(name)
    if len(given) > 1:
        raise ForbiddenError(f"there are {len(given)} {name} headers")
    return given[0] if given else None
