"""Machines: list them, start a session on one; the connection of another machine."""

from starlette.routing import BaseRoute, WebSocketRoute
from starlette.websockets import WebSocket

from codekernel.adapters.hub.contract.sessions import read_clock, render_machine
from codekernel.adapters.hub.machine_link import LINK_PATH, serve_machine
from codekernel.adapters.hub.routes.requests import HubContext, HubRequest, make_route
from codekernel.domain.agent_sessions import NewSession, PermissionMode
from codekernel.domain.chat import JsonObject
from codekernel.domain.settings import OWN_AGENT
from codekernel.errors import KernelError

MAX_PATH_CHARS = 4_096

MAX_WORD_CHARS = 200

MAX_PATHS = 1_000


def make_routes(hub: HubContext) -> list[BaseRoute]:
    """Return the routes of machines."""
    one = "/api/machines/{machine_id}"

    async def link_machine(websocket: WebSocket) -> None:
        await serve_machine(hub, websocket)

    return [
        WebSocketRoute(LINK_PATH, link_machine),
        make_route(hub, "GET", "/api/machines", list_machines),
        make_route(hub, "POST", f"{one}/spawn", spawn_session),
        make_route(hub, "POST", f"{one}/paths/exists", check_paths),
    ]


def list_machines(hub: HubContext, _: HubRequest) -> JsonObject:
    """Return the machines that are connected."""
    now = read_clock()
    machines = [each for each in hub.machines.list_machines() if each.is_active]
    return {"machines": [render_machine(each, now) for each in machines]}


def spawn_session(hub: HubContext, request: HubRequest) -> JsonObject:
    """Start a session; what went wrong is told with status 200, as the contract says."""
    folder = request.read_text("directory", MAX_PATH_CHARS)
    mode = request.body.get("permissionMode")
    if mode not in list(PermissionMode):
        mode = PermissionMode.ALLOW_ALL if request.body.get("yolo") is True else PermissionMode.ASK
    new = NewSession(
        folder,
        request.actor,
        agent=request.read_text("agent", MAX_WORD_CHARS, default=OWN_AGENT),
        model=request.read_text("model", MAX_WORD_CHARS, default=""),
        permission_mode=PermissionMode(str(mode)),
        tag=request.read_text("tag", MAX_WORD_CHARS, default=""),
    )
    try:
        record = hub.machines.start_session_on(request.params["machine_id"], new)
    except KernelError as error:
        return {"type": "error", "message": str(error)}
    return {"type": "success", "sessionId": record.id}


def check_paths(hub: HubContext, request: HubRequest) -> JsonObject:
    """Return which folders a session can be started in; of others nothing is told."""
    known = hub.machines.get_machine_record(request.params["machine_id"]).folders
    paths = request.read_texts("paths", MAX_PATHS)
    return {"exists": {path: path in known for path in paths}}
