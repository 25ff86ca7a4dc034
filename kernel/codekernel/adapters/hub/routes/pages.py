"""The files of the pages; they are public, and what they show needs a token."""

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from codekernel.adapters.hub.context import HubContext
from codekernel.adapters.static_pages import SECURITY_HEADERS

# The page of agent sessions; a pairing code is in the fragment of its address, which no request
# carries.
FIRST_PAGE = "/agents.html"


def make_routes(hub: HubContext) -> list[BaseRoute]:
    """Return the route of all files; it comes last."""

    def get_file(request: Request) -> Response:
        path = request.url.path
        file = hub.pages.read(FIRST_PAGE if path == "/" else path)
        if file is None:
            return PlainTextResponse("There is no such page.", 404, SECURITY_HEADERS)
        content, kind = file
        return Response(content, headers={**SECURITY_HEADERS, "Content-Type": kind})

    return [Route("/{path:path}", get_file, methods=["GET"])]
