"""Answer permissions: the first answer of any device counts, a later one gets 404."""

from http import HTTPStatus

from starlette.routing import BaseRoute

from codekernel.adapters.hub.context import HubContext
from codekernel.adapters.hub.routes.requests import HubRequest, RequestRefused, make_route
from codekernel.adapters.hub.routes.sessions import OK, require_active
from codekernel.domain.agent_sessions import PermissionAnswer, PermissionMode, PermissionStatus
from codekernel.domain.chat import JsonObject
from codekernel.errors import WrongParam

MAX_OPTION_CHARS = 200

_ALLOWING = ("approved", "approved_for_session")

_DECISIONS = (*_ALLOWING, "denied", "abort")


def make_routes(hub: HubContext) -> list[BaseRoute]:
    """Return the routes of permissions."""
    one = "/api/sessions/{session_id}/permissions/{request_id}"
    return [
        make_route(hub, "POST", f"{one}/approve", approve),
        make_route(hub, "POST", f"{one}/deny", deny),
    ]


def approve(hub: HubContext, request: HubRequest) -> JsonObject:
    """Allow a call, or with ``decision`` all of its kind; ``optionId`` is an addition."""
    decision = _read_decision(request, "approved")
    mode = request.body.get("mode")
    _answer(hub, request, decision, is_allowed=decision in _ALLOWING)
    if mode in list(PermissionMode):
        hub.machines.update_session(request.session_id, permission_mode=PermissionMode(str(mode)))
    return OK


def deny(hub: HubContext, request: HubRequest) -> JsonObject:
    """Refuse a call; with ``abort`` the turn is stopped, too."""
    decision = _read_decision(request, "denied")
    _answer(hub, request, decision, is_allowed=False)
    if decision == "abort":
        hub.machines.stop_turn(request.session_id, request.actor)
    return OK


def _answer(hub: HubContext, request: HubRequest, decision: str, *, is_allowed: bool) -> None:
    record = require_active(hub, request)
    request_id = request.params["request_id"]
    permission = next((each for each in record.permissions if each.id == request_id), None)
    if permission is None or permission.status is not PermissionStatus.PENDING:
        raise RequestRefused(HTTPStatus.NOT_FOUND, "Request not found", "request_not_found")
    answer = PermissionAnswer(
        is_allowed,
        request.actor,
        for_turn=decision == "approved_for_session" or bool(request.body.get("allowTools")),
        option_id=request.read_text("optionId", MAX_OPTION_CHARS, default=""),
    )
    hub.machines.answer_permission(request.session_id, request_id, answer)


def _read_decision(request: HubRequest, default: str) -> str:
    decision = request.body.get("decision", default)
    if decision not in _DECISIONS:
        raise WrongParam(f"`decision` must be one of {', '.join(_DECISIONS)}.")
    return str(decision)
