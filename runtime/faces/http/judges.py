"""Who may talk to a listener: the judges of Host, Origin, token and configuration. Pure.

A page that a browser has loaded from elsewhere can reach a server on this machine, also under a name of
its own that it points here (DNS rebinding). So a request must name the server as it is bound, and come
from no page but its own.

Source: H-1..H-6, N-15.
"""

import hashlib
import hmac
import re
from collections.abc import Collection, Sequence
from typing import Final, Literal, TypeAlias

import attrs

LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "[::1]", "::1"})
_LOOPBACK_IN_HEADERS: Final = ("127.0.0.1", "localhost", "[::1]")
_PORT: Final = re.compile(r"(:[0-9]*)?\Z")
_WITHOUT_PORT: Final = re.compile(r"http://(\[[^\]/]*\]|[^\[\]:/]+)\Z")

HostFault: TypeAlias = Literal["absent", "malformed", "not-loopback", "not-bind-address"]


def host_part_of(host_header: str) -> str:
    """Return the host of a Host header in lower case, an IPv6 address with its brackets."""
    text = host_header.lower()
    if text.startswith("["):
        return text[: text.find("]") + 1] or text
    return text.partition(":")[0]


def is_loopback_host(host: str) -> bool:
    """Whether the name can mean nothing but this machine."""
    return host.lower() in LOOPBACK


def judge_host_header(
    host_header: str | None, bind_host: str, accepted: Collection[str] = ()
) -> HostFault | None:
    """Return what is wrong with the Host of a request, None when it names the listener.

    Args:
        host_header: as it was received.
        bind_host: what the listener is bound to.
        accepted: further names in lower case, for a listener that is bound to a wildcard.
    """
    if not host_header:
        return "absent"
    part = host_part_of(host_header)
    loopback = is_loopback_host(bind_host)
    named = part in _LOOPBACK_IN_HEADERS if loopback else part == _bracketed(bind_host)
    if not named and part not in accepted:
        return "not-loopback" if loopback else "not-bind-address"
    rest = host_header.lower()[len(part) :]
    return None if _PORT.match(rest) else "malformed"


def origin_allowed(
    origin: str | None, listen_host: str, listen_port: int, accepted: Collection[str] = ()
) -> bool:
    """Whether a request with this Origin comes from no page, or from one of the listener's own.

    The text must be exactly what a browser sends; one without a port means port 80.
    """
    if not origin:
        return True
    if _WITHOUT_PORT.match(origin):
        origin = f"{origin}:80"
    own = _LOOPBACK_IN_HEADERS if is_loopback_host(listen_host) else (_bracketed(listen_host),)
    return origin in {f"http://{host}:{listen_port}" for host in (*own, *accepted)}


@attrs.frozen
class TcpAddress:
    """Where to listen; port 0 lets the system choose."""

    host: str
    port: int


def exposed_host(tcp: Sequence[TcpAddress], token: str | None) -> str | None:
    """Return the first host that others could reach without a token; None when the configuration is safe."""
    if token:
        return None
    return next((address.host for address in tcp if not is_loopback_host(address.host)), None)


def verify_token(actual: str, expected: str) -> bool:
    """Compare two tokens in a time that says nothing about either."""
    digests = (
        hashlib.sha256(t.encode("utf-8", "surrogatepass")).digest() for t in (actual, expected)
    )
    return hmac.compare_digest(*digests)


def bearer_of(authorization: str | None) -> str | None:
    """Return the token of an authorization header; the scheme is ``Bearer``, with one space (H-12)."""
    scheme, space, token = (authorization or "").partition(" ")
    return token if scheme == "Bearer" and space else None


def _bracketed(host: str) -> str:
    """Return a bind address as it stands in headers."""
    lowered = host.lower()
    return f"[{lowered}]" if ":" in lowered and not lowered.startswith("[") else lowered
