"""Sessions: list, read, rename, archive, resume, delete, stop; permission mode and model."""

from http import HTTPStatus

from starlette.routing import BaseRoute

from codekernel.adapters.hub.contract.sessions import (
    is_session_active,
    render_session,
    render_summary,
)
from codekernel.adapters.hub.routes.requests import (
    HubContext,
    HubRequest,
    RequestRefused,
    make_route,
)
from codekernel.domain.agent_sessions import AgentSessionRecord, PermissionMode
from codekernel.domain.chat import JsonObject
from codekernel.errors import WrongParam

MAX_SESSIONS = 500

MAX_SESSION_NAME_CHARS = 255

MAX_MODEL_CHARS = 200

OK: JsonObject = {"ok": True}


def make_routes(hub: HubContext) -> list[BaseRoute]:
    """Return the routes of sessions."""
    one = "/api/sessions/{session_id}"
    return [
        make_route(hub, "GET", "/api/sessions", list_sessions),
        make_route(hub, "GET", one, get_session),
        make_route(hub, "PATCH", one, rename_session),
        make_route(hub, "DELETE", one, delete_session),
        make_route(hub, "POST", f"{one}/abort", abort_session),
        make_route(hub, "POST", f"{one}/archive", archive_session),
        make_route(hub, "POST", f"{one}/resume", resume_session),
        make_route(hub, "POST", f"{one}/reopen", reopen_session),
        make_route(hub, "POST", f"{one}/switch", switch_session),
        make_route(hub, "POST", f"{one}/permission-mode", set_permission_mode),
        make_route(hub, "POST", f"{one}/model", set_model),
    ]


def require_active(hub: HubContext, request: HubRequest) -> AgentSessionRecord:
    """Return the session of a request. Raises SessionNotFound, RequestRefused if inactive."""
    record, machine = hub.machines.get_session_and_machine(request.session_id)
    if not is_session_active(record, machine):
        raise RequestRefused(HTTPStatus.CONFLICT, "Session is inactive", "session_inactive")
    return record


def list_sessions(hub: HubContext, request: HubRequest) -> JsonObject:
    """Return summaries; those that can be used first, unless ``order=updatedAt``."""
    limit = request.query.get("limit", str(MAX_SESSIONS))
    if not (limit.isascii() and limit.isdecimal() and 1 <= int(limit) <= MAX_SESSIONS):
        raise WrongParam(f"`limit` must be from 1 to {MAX_SESSIONS}.")
    machines = {each.id: each for each in hub.machines.list_machines()}
    summaries = [
        render_summary(record, machines.get(record.machine_id))
        for record in hub.machines.list_sessions()
    ]
    summaries.sort(key=lambda each: -each["updatedAt"])
    if request.query.get("order") != "updatedAt":
        summaries.sort(key=lambda each: (not each["active"], -each["pendingRequestsCount"]))
    return {"sessions": summaries[: int(limit)]}


def get_session(hub: HubContext, request: HubRequest) -> JsonObject:
    """Return the whole record."""
    return {"session": render_session(*hub.machines.get_session_and_machine(request.session_id))}


def rename_session(hub: HubContext, request: HubRequest) -> JsonObject:
    """Give a session a name."""
    name = request.read_text("name", MAX_SESSION_NAME_CHARS).strip()
    if not name:
        raise WrongParam("`name` must not be empty.")
    hub.machines.update_session(request.session_id, name=name)
    return OK


def delete_session(hub: HubContext, request: HubRequest) -> JsonObject:
    """Delete a session that is not active."""
    record, machine = hub.machines.get_session_and_machine(request.session_id)
    if is_session_active(record, machine):
        raise RequestRefused(
            HTTPStatus.CONFLICT, "The session is active: archive it first.", "session_active"
        )
    hub.machines.delete_session(request.session_id)
    return OK


def abort_session(hub: HubContext, request: HubRequest) -> JsonObject:
    """Stop what the agent does."""
    require_active(hub, request)
    hub.machines.stop_turn(request.session_id, request.actor)
    return OK


def archive_session(hub: HubContext, request: HubRequest) -> JsonObject:
    """Stop the agent and put the session away."""
    record = hub.machines.get_session(request.session_id)
    if record.is_archived:
        return {**OK, "alreadyArchived": True}
    hub.machines.stop_turn(request.session_id, request.actor)
    hub.machines.update_session(request.session_id, is_archived=True)
    return OK


def resume_session(hub: HubContext, request: HubRequest) -> JsonObject:
    """Make a session active again; it keeps its id."""
    mode = _read_mode(request, "permissionMode") if "permissionMode" in request.body else None
    hub.machines.update_session(request.session_id, is_archived=False, permission_mode=mode)
    return {"type": "success", "sessionId": request.session_id}


def reopen_session(hub: HubContext, request: HubRequest) -> JsonObject:
    """Do the same, with the answer that the contract has for it."""
    hub.machines.update_session(request.session_id, is_archived=False)
    return {**OK, "sessionId": request.session_id, "resumed": True}


def switch_session(hub: HubContext, request: HubRequest) -> JsonObject:
    """Hand a session over to devices, to which every session of ours belongs already."""
    require_active(hub, request)
    return OK


def set_permission_mode(hub: HubContext, request: HubRequest) -> JsonObject:
    """Set what the agent may do without being asked."""
    mode = _read_mode(request, "mode")
    require_active(hub, request)
    hub.machines.update_session(request.session_id, permission_mode=mode)
    return OK


def set_model(hub: HubContext, request: HubRequest) -> JsonObject:
    """Set the model; null is the agent's own choice."""
    value = request.body.get("model")
    name = value.get("modelId") if isinstance(value, dict) else value
    if name is not None and (not isinstance(name, str) or len(name) > MAX_MODEL_CHARS):
        raise WrongParam("`model` must be the name of a model, or null.")
    require_active(hub, request)
    hub.machines.update_session(request.session_id, model=name or "")
    return OK


def _read_mode(request: HubRequest, name: str) -> PermissionMode:
    value = request.body.get(name)
    if value not in list(PermissionMode):
        raise WrongParam(f"`{name}` must be one of {', '.join(PermissionMode)}.")
    return PermissionMode(str(value))
