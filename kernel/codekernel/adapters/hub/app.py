"""The application: all routes, behind the checks that concern every request.

Host and Origin are checked first (DNS rebinding, foreign pages); CORS is answered for the origins
of the settings alone.
"""

from http import HTTPStatus

from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from codekernel.adapters.hub.access.addresses import AddressRules
from codekernel.adapters.hub.routes import (
    auth,
    events,
    files,
    machines,
    messages,
    sessions,
)
from codekernel.adapters.hub.routes.requests import HubContext, RequestRefused, render_refusal
from codekernel.adapters.static_pages import SECURITY_HEADERS

_ALLOWED_METHODS = "GET, POST, PATCH, DELETE"

_ALLOWED_HEADERS = "Authorization, Content-Type, Last-Event-ID"

_PREFLIGHT_SECONDS = "600"

_PARTS = (auth, sessions, messages, machines, files, events)


def make_app(hub: HubContext) -> ASGIApp:
    """Return the application of a hub."""
    routes = [route for part in _PARTS for route in part.make_routes(hub)]
    app = Starlette(
        routes=[*routes, _make_page_route(hub)], exception_handlers={404: _answer_unknown}
    )
    return _check_addresses(app, hub.rules)


async def _answer_unknown(_: Request, __: Exception) -> Response:
    return render_refusal(RequestRefused(HTTPStatus.NOT_FOUND, "No such route", "not_found"))


def _check_addresses(app: ASGIApp, rules: AddressRules) -> ASGIApp:
    async def check(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or not rules.is_known_host(hosts[0]):
            await _refuse(scope, receive, send, "The hub is not called by this name", "bad_host")
        elif any(not rules.is_known_origin(origin, hosts[0]) for origin in origins):
            await _refuse(scope, receive, send, "This page may not use the hub", "bad_origin")
        elif origins and rules.is_named_origin(origins[0]):
            await _serve_named_origin(app, scope, receive, send, origins[0])
        else:
            await app(scope, receive, send)

    return check


async def _refuse(scope: Scope, receive: Receive, send: Send, reason: str, code: str) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008})  # before it is accepted: 403
        return
    response = render_refusal(RequestRefused(HTTPStatus.FORBIDDEN, reason, code))
    response.headers["Connection"] = "close"
    await response(scope, receive, send)


async def _serve_named_origin(
    app: ASGIApp, scope: Scope, receive: Receive, send: Send, origin: str
) -> None:
    """Answer a page of an origin that the settings name, with the headers that browsers need."""
    cors = {"Access-Control-Allow-Origin": origin, "Vary": "Origin"}
    if scope["type"] == "http" and scope["method"] == "OPTIONS":
        preflight = {
            "Access-Control-Allow-Methods": _ALLOWED_METHODS,
            "Access-Control-Allow-Headers": _ALLOWED_HEADERS,
            "Access-Control-Max-Age": _PREFLIGHT_SECONDS,
        }
        await Response(status_code=204, headers={**cors, **preflight})(scope, receive, send)
        return

    async def send_with_cors(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(cors)
        await send(message)

    await app(scope, receive, send_with_cors)


# The page of agent sessions; a pairing code is in the fragment of its address, which no request
# carries.
FIRST_PAGE = "/agents.html"


def _make_page_route(hub: HubContext) -> Route:
    """Return the route of the files of the pages, which are public; it comes last."""

    def get_file(request: Request) -> Response:
        path = request.url.path
        file = hub.pages.read(FIRST_PAGE if path == "/" else path)
        if file is None:
            return PlainTextResponse("There is no such page.", 404, SECURITY_HEADERS)
        content, kind = file
        return Response(content, headers={**SECURITY_HEADERS, "Content-Type": kind})

    return Route("/{path:path}", get_file, methods=["GET"])
