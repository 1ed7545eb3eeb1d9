"""The paths of extension routes: their form, which of them a request means, and what an extension may take. Pure.

Source: H-60..H-62, H-67, H-68.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal, TypeAlias, TypeVar
from urllib.parse import quote

import attrs

from actors.errors.base import ExtensionError

OPEN_PURPOSES: Final = frozenset({"liveness", "auth-exchange", "static-shell"})
PLUGIN_BODY_LIMIT: Final = 1_048_576
PLUGIN_ROUTES: Final = 16
BODY_LIMIT: Final = 10_485_760
_PARAM: Final = re.compile(r":[A-Za-z0-9_]+\Z")

RouteFault: TypeAlias = Literal[
    "SDK_ROUTE_PATH_RESERVED",
    "SDK_ROUTE_AUTH_FORBIDDEN",
    "SDK_ROUTE_BODY_LIMIT",
    "SDK_ROUTE_LIMIT_REACHED",
    "SDK_ROUTE_TAKEN",
]
_TEXTS: Final[Mapping[str, str]] = {
    "SDK_ROUTE_PATH_RESERVED": "is reserved or not of the form /word/:name/*",
    "SDK_ROUTE_AUTH_FORBIDDEN": "asks for an auth mode that it cannot have",
    "SDK_ROUTE_BODY_LIMIT": f"needs a body limit of 1 to {PLUGIN_BODY_LIMIT} bytes",
    "SDK_ROUTE_LIMIT_REACHED": f"is one more than the {PLUGIN_ROUTES} that an extension may have",
    "SDK_ROUTE_TAKEN": "is taken",
}


class RouteError(ExtensionError):
    """A route cannot be registered; ``code`` says why."""

    status_hint = 400

    def __init__(self, code: RouteFault, path: str) -> None:
        super().__init__(code, path)
        self.code, self.path = code, path

    def __str__(self) -> str:
        return f"the route {self.path!r} {_TEXTS[self.code]}"


@attrs.frozen
class TokenAuth:
    """The server's token, as for ``/v1``."""


@attrs.frozen
class CookieAuth:
    """The token, or a cookie that holds it."""

    cookie: str


@attrs.frozen
class OpenAuth:
    """Nothing, for one of the purposes that need none."""

    purpose: str


@attrs.frozen
class SelfAuth:
    """The handler checks."""


Auth: TypeAlias = TokenAuth | CookieAuth | OpenAuth | SelfAuth


@attrs.frozen(kw_only=True)
class RouteSpec:
    """What a route is before it is registered."""

    method: str
    path: str
    auth: Auth = TokenAuth()
    body_limit: int = BODY_LIMIT
    loopback_only: bool = False


@attrs.frozen
class Match:
    """What a path is to a route: its named segments, and the rest that a wildcard took."""

    params: Mapping[str, str]
    wildcard: str | None


def route_fault(spec: RouteSpec, taken: Iterable[RouteSpec]) -> RouteFault | None:
    """Return why the route cannot be registered, None when it can."""
    if isinstance(spec.auth, OpenAuth) and spec.auth.purpose not in OPEN_PURPOSES:
        return "SDK_ROUTE_AUTH_FORBIDDEN"
    if not _well_formed(spec.path) or _below(spec.path, "/v1"):
        return "SDK_ROUTE_PATH_RESERVED"
    same = any((one.method, one.path) == (spec.method, spec.path) for one in taken)
    return "SDK_ROUTE_TAKEN" if same else None


def plugin_route(
    plugin_id: str, spec: RouteSpec, registered: int, body_limit: object = PLUGIN_BODY_LIMIT
) -> RouteSpec:
    """Return the route that an extension gets: below its own prefix, for this machine only.

    Args:
        plugin_id: whose route it is.
        spec: what it asks for.
        registered: how many it has.
        body_limit: what it asks for, as it was given.

    Raises:
        RouteError: it may not have it.
    """
    fault = _plugin_fault(plugin_id, spec, registered, body_limit)
    if fault is not None:
        raise RouteError(fault, spec.path)
    assert isinstance(body_limit, int)
    path = f"/plugins/{quote(plugin_id, safe='')}{spec.path}"
    return attrs.evolve(spec, path=path, body_limit=body_limit, loopback_only=True)


def match_path(pattern: str, path: str) -> Match | None:
    """Return what ``path`` is to the pattern; segments are compared as they stand, undecoded."""
    if pattern == "*":
        return Match({}, path.removeprefix("/"))
    wanted, found = pattern.split("/")[1:], path.split("/")[1:]
    wildcard = wanted[-1] == "*"
    named = wanted[:-1] if wildcard else wanted
    if len(found) < len(named) or (len(found) != len(named) and not wildcard):
        return None
    params: dict[str, str] = {}
    for want, have in zip(named, found, strict=False):
        if want.startswith(":") and have:
            params[want[1:]] = have
        elif want != have:
            return None
    return Match(params, "/".join(found[len(named) :]) if wildcard else None)


R = TypeVar("R", bound=RouteSpec)


def find_route(routes: Sequence[R], method: str, path: str) -> tuple[R, Match] | None:
    """Return the route that a request means: named ones first, then wildcards, each as registered."""
    mine = [route for route in routes if route.method == method]
    for route in sorted(mine, key=lambda route: route.path.endswith("*")):
        match = match_path(route.path, path)
        if match is not None:
            return route, match
    return None


def _plugin_fault(
    plugin_id: str, spec: RouteSpec, registered: int, body_limit: object
) -> RouteFault | None:
    path, auth = spec.path, spec.auth
    reserved = path == "*" or _below(path, "/v1") or _below(path, "/plugins")
    if not plugin_id or reserved or not _well_formed(path):
        return "SDK_ROUTE_PATH_RESERVED"
    allowed = OPEN_PURPOSES - {"auth-exchange"}
    if isinstance(auth, SelfAuth) or (isinstance(auth, OpenAuth) and auth.purpose not in allowed):
        return "SDK_ROUTE_AUTH_FORBIDDEN"
    if type(body_limit) is not int or not 1 <= body_limit <= PLUGIN_BODY_LIMIT:
        return "SDK_ROUTE_BODY_LIMIT"
    return "SDK_ROUTE_LIMIT_REACHED" if registered >= PLUGIN_ROUTES else None


def _well_formed(path: str) -> bool:
    if path == "*":
        return True
    if not path.startswith("/"):
        return False
    *leading, last = path.split("/")[1:]
    return all(_segment(s) for s in leading) and (last == "*" or _segment(last))


def _segment(text: str) -> bool:
    if text.startswith(":"):
        return _PARAM.match(text) is not None
    return bool(text) and not set(text) & set(":*")


def _below(path: str, prefix: str) -> bool:
    return path == prefix or path.startswith(f"{prefix}/")
