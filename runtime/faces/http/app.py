"""The face as an ASGI application, to be served or mounted in another one.

Source: design 9, H-7, H-11, H-63.
"""

from collections.abc import Callable, Sequence
from typing import Final, NoReturn, TypeAlias

import trio
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import BaseRoute, NoMatchFound
from starlette.routing import Match as Matched
from starlette.types import ASGIApp, Receive, Scope, Send

from actors.errors import GreenroomError
from actors.ports.world import Clock
from runtime.engine.engine import Engine
from runtime.faces.http.answers import error_answer, text_answer
from runtime.faces.http.bodies import ClientGoneError
from runtime.faces.http.call import Endpoint, Services, answer_call
from runtime.faces.http.clients import Clients
from runtime.faces.http.extension_routes import RouteCall, Routes
from runtime.faces.http.gate import (
    Bound,
    check_exposure,
    check_protocol,
    check_sender,
    check_token,
    client_of,
    has_token,
)
from runtime.faces.http.limits import HttpLimits
from runtime.faces.http.patterns import CookieAuth, Match, SelfAuth, TokenAuth, match_path
from runtime.faces.http.table import ENDPOINTS
from runtime.faces.wire.errors import ForbiddenError, OverloadedError
from runtime.faces.wire.verbs import Verbs
from runtime.world import SystemClock

Report: TypeAlias = Callable[[str, Exception], None]
NOT_FOUND: Final = "Not Found"


class HttpFace:
    """The endpoints over one engine, for any number of listeners.

    Args:
        engine: whose sessions are served.
        token: what clients must send; None asks for none, on this machine only.
        limits: the bounds.
        routes: what extensions add.
        strict_interrupt: answer an interrupt that found nothing with 409 (N-17).
        clock: the time of day.
        report: told what failed unexpectedly; must not raise.
    """

    def __init__(  # noqa: PLR0913 - one keyword each for what an embedder may set
        self,
        engine: Engine,
        *,
        token: str | None = None,
        limits: HttpLimits | None = None,
        routes: Routes | None = None,
        strict_interrupt: bool = False,
        clock: Clock | None = None,
        report: Report | None = None,
    ) -> None:
        bounds = limits or HttpLimits()
        self.drain = trio.Event()
        """Set it to end: streams end cleanly, and everything else is answered with 503."""
        self._token, self._report = token or None, report
        self._routes = routes or Routes()
        self.endpoints: Sequence[Endpoint] = ENDPOINTS
        self._services = Services(
            engine=engine,
            verbs=Verbs(engine),
            clients=Clients(bounds),
            limits=bounds,
            clock=clock or SystemClock(),
            drain=self.drain,
            endpoints=self.endpoints,
            strict_interrupt=strict_interrupt,
        )

    def app(self, bound: Bound | None = None) -> Starlette:
        """Return the application for one listener.

        Raises:
            ExposedError: others could reach it without a token.
        """
        where = bound or Bound()
        check_exposure(where, self._token)

        async def respond(scope: Scope, receive: Receive, send: Send) -> None:
            answer = await self._answer(Request(scope, receive), where)
            if answer is not None:
                await answer(scope, receive, send)

        return Starlette(routes=[_EveryPath(respond)])

    async def _answer(self, request: Request, bound: Bound) -> ASGIApp | None:
        """Return what answers a request; None when nobody is there to be answered."""
        path = _path_of(request)
        ours = path == "/v1" or path.startswith("/v1/")
        try:
            return await (self._endpoint if ours else self._extension)(request, path, bound)
        except ClientGoneError:
            return None
        except GreenroomError as error:
            return error_answer(error)
        except Exception as error:  # noqa: BLE001 - the door: whatever fails, the client is told and others go on
            if self._report is not None:
                self._report(f"{request.method} {path}", error)
            return text_answer(500, "Internal Server Error")

    async def _endpoint(self, request: Request, path: str, bound: Bound) -> ASGIApp:
        found = self._find(request.method, path)
        if found is None:
            return text_answer(404, NOT_FOUND)
        endpoint, match = found
        check_token(request, self._token)
        check_sender(request, bound)
        check_protocol(request)
        if self.drain.is_set():
            raise OverloadedError("the server is going down")
        client = client_of(request)
        services = self._services
        return await answer_call(endpoint, request, match.params, client=client, services=services)

    def _find(self, method: str, path: str) -> tuple[Endpoint, Match] | None:
        for endpoint in self.endpoints:
            if endpoint.method == method:
                match = match_path(endpoint.path, path)
                if match is not None:
                    return endpoint, match
        return None

    async def _extension(self, request: Request, path: str, bound: Bound) -> ASGIApp:
        found = self._routes.find(request.method, path, local=bound.local)
        if found is None:
            return text_answer(404, NOT_FOUND)
        route, match = found
        try:
            check_sender(request, bound)
        except ForbiddenError:
            return text_answer(403, "Forbidden")
        cookie = route.auth.cookie if isinstance(route.auth, CookieAuth) else None
        guarded = isinstance(route.auth, TokenAuth | CookieAuth)
        if guarded and not has_token(request, self._token, cookie):
            return text_answer(401, "Unauthorized")
        if self.drain.is_set():
            return text_answer(503, "Service Unavailable")
        call = RouteCall(
            request=request,
            match=match,
            spec=route,
            has_token=lambda: isinstance(route.auth, SelfAuth) and has_token(request, self._token),
            body_s=self._services.limits.body_s,
        )
        return await route.handler(call)


class _EveryPath(BaseRoute):
    """Takes every request: a pattern of Starlette's own would let paths with a line feed through."""

    def __init__(self, respond: ASGIApp) -> None:
        self._respond = respond

    def matches(self, scope: Scope) -> tuple[Matched, Scope]:
        return (Matched.FULL if scope["type"] == "http" else Matched.NONE), {}

    def url_path_for(self, name: str, /, **path_params: object) -> NoReturn:
        raise NoMatchFound(name, path_params)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._respond(scope, receive, send)


def http_app(
    engine: Engine,
    *,
    token: str | None = None,
    bound: Bound | None = None,
    limits: HttpLimits | None = None,
    routes: Routes | None = None,
) -> Starlette:
    """Return the face as an application, to serve or to mount in another one.

    ``Mount("/agents", http_app(engine, token=...))``. :class:`HttpFace` has more settings, and the event
    that ends its streams.

    Raises:
        ExposedError: others could reach it without a token.
    """
    return HttpFace(engine, token=token, limits=limits, routes=routes).app(bound)


def _path_of(request: Request) -> str:
    """Return the path as it was sent, undecoded, below where the application is mounted."""
    raw: bytes | None = request.scope.get("raw_path")
    path: str = raw.decode("latin-1") if raw is not None else request.scope["path"]
    root: str = request.scope.get("root_path", "")
    return path.removeprefix(root) if root else path
