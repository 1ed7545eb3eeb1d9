"""Routes that extensions add beside the endpoints.

Source: H-60..H-69.
"""

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import attrs
from starlette.requests import Request
from starlette.types import ASGIApp

from runtime.faces.http.bodies import read_body
from runtime.faces.http.patterns import (
    PLUGIN_BODY_LIMIT,
    Match,
    RouteError,
    RouteSpec,
    find_route,
    plugin_route,
    route_fault,
)


@attrs.frozen(kw_only=True)
class RouteCall:
    """A request to an extension's route, which got through its auth mode."""

    request: Request
    match: Match
    spec: RouteSpec
    has_token: Callable[[], bool]
    """Whether the request holds the server's token; for routes that check themselves."""
    body_s: float

    async def body(self) -> bytes:
        """Return the body.

        Raises:
            BodyTooLargeError: it is larger than the route takes; unhandled, it is answered with 413.
        """
        return await read_body(self.request.receive, self.spec.body_limit, self.body_s)


RouteHandler: TypeAlias = Callable[[RouteCall], Awaitable[ASGIApp]]
"""Returns the answer, as a Starlette response or any other ASGI application."""


@attrs.frozen(kw_only=True)
class _Route(RouteSpec):
    handler: RouteHandler
    owner: str | None = None


class Routes:
    """The routes of extensions; may be filled before there is a face, and while it serves."""

    def __init__(self) -> None:
        self._routes: list[_Route] = []

    @property
    def local_only(self) -> tuple[str, ...]:
        """The paths that are served to this machine alone."""
        return tuple(route.path for route in self._routes if route.loopback_only)

    def register(self, spec: RouteSpec, handler: RouteHandler) -> Callable[[], None]:
        """Add a route; returns what removes it again.

        Raises:
            RouteError: the path is reserved, taken or malformed, or an open route has no open purpose.
        """
        fault = route_fault(spec, self._routes)
        if fault is not None:
            raise RouteError(fault, spec.path)
        return self._add(spec, handler, None)

    def register_for(
        self,
        plugin_id: str,
        spec: RouteSpec,
        handler: RouteHandler,
        body_limit: int = PLUGIN_BODY_LIMIT,
    ) -> Callable[[], None]:
        """Add a route below the prefix of an extension; returns what removes it again.

        Raises:
            RouteError: the extension may not have it.
        """
        owned = sum(route.owner == plugin_id for route in self._routes)
        placed = plugin_route(plugin_id, spec, owned, body_limit)
        fault = route_fault(placed, self._routes)
        if fault is not None:
            raise RouteError(fault, placed.path)
        return self._add(placed, handler, plugin_id)

    def find(self, method: str, path: str, *, local: bool) -> tuple["_Route", Match] | None:
        """Return the route that a request means; those for this machine are absent for others."""
        served = [route for route in self._routes if local or not route.loopback_only]
        return find_route(served, method, path)

    def _add(self, spec: RouteSpec, handler: RouteHandler, owner: str | None) -> Callable[[], None]:
        known: dict[str, Any] = attrs.asdict(spec, recurse=False)
        route = _Route(**known, handler=handler, owner=owner)
        self._routes.append(route)

        def remove() -> None:
            if route in self._routes:
                self._routes.remove(route)

        return remove
