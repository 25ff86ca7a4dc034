"""Messages: read by pages, send, take back, what became of those that waited; permissions."""

from http import HTTPStatus

from starlette.routing import BaseRoute

from codekernel.adapters.hub.contract.messages import (
    get_position,
    is_queued,
    iterate_backwards,
    parse_page_query,
    read_page,
    render_message,
)
from codekernel.adapters.hub.routes.requests import (
    HubContext,
    HubRequest,
    RequestRefused,
    make_route,
)
from codekernel.adapters.hub.routes.sessions import OK, require_active
from codekernel.domain.agent_sessions import (
    CancelOutcome,
    NewMessage,
    PermissionAnswer,
    PermissionMode,
    PermissionStatus,
    SessionMessage,
)
from codekernel.domain.chat import JsonObject
from codekernel.errors import WrongParam

MAX_MESSAGE_CHARS = 500_000

MAX_LOCAL_ID_CHARS = 200

MAX_LOCAL_IDS = 1_000


def make_routes(hub: HubContext) -> list[BaseRoute]:
    """Return the routes of messages and permissions."""
    all_messages = "/api/sessions/{session_id}/messages"
    permission = "/api/sessions/{session_id}/permissions/{request_id}"
    return [
        make_route(hub, "GET", all_messages, get_messages),
        make_route(hub, "POST", all_messages, send_message),
        make_route(hub, "POST", f"{all_messages}/queued-state", get_queued_state),
        make_route(hub, "DELETE", f"{all_messages}/{{message_id}}", cancel_message),
        make_route(hub, "POST", f"{permission}/approve", approve),
        make_route(hub, "POST", f"{permission}/deny", deny),
    ]


def get_messages(hub: HubContext, request: HubRequest) -> JsonObject:
    """Return a page of messages."""
    return read_page(hub.machines, request.session_id, parse_page_query(request.query))


def send_message(hub: HubContext, request: HubRequest) -> JsonObject:
    """Queue a message; it comes back as an event."""
    text = request.read_text("text", MAX_MESSAGE_CHARS)
    local_id = request.read_text("localId", MAX_LOCAL_ID_CHARS, default="")
    if request.body.get("attachments"):
        raise WrongParam("Attachments cannot be sent.")
    if request.body.get("scheduledAt") is not None:
        raise WrongParam("A message cannot be scheduled.")
    if not text.strip():
        raise WrongParam("`text` must not be empty.")
    require_active(hub, request)
    hub.machines.send_message(request.session_id, NewMessage(text, request.actor, local_id))
    return OK


def cancel_message(hub: HubContext, request: HubRequest) -> JsonObject:
    """Take back a message that waits, by its id or its localId."""
    wanted = request.params["message_id"]
    message = _find_message(hub, request.session_id, wanted)
    if message is None:
        return {"status": "cancelled", "localId": None}
    outcome = hub.machines.cancel_message(request.session_id, message.id)
    if outcome is CancelOutcome.CANCELLED:
        return {"status": "cancelled", "localId": message.local_id or None}
    taken = _find_message(hub, request.session_id, message.id) or message
    return {"status": "invoked", "message": render_message(taken)}


def get_queued_state(hub: HubContext, request: HubRequest) -> JsonObject:
    """Return which of a device's messages wait and which were taken; others are gone."""
    wanted = set(request.read_texts("localIds", MAX_LOCAL_IDS))
    queued: list[str] = []
    invoked: list[JsonObject] = []
    for message in iterate_backwards(hub.machines, request.session_id):
        if not wanted:
            break
        if message.local_id not in wanted:
            continue
        wanted.discard(message.local_id)
        if is_queued(message):
            queued.append(message.local_id)
        else:
            invoked.append({"localId": message.local_id, "invokedAt": get_position(message)})
    return {"queuedLocalIds": queued, "invokedLocalMessages": invoked}


def _find_message(hub: HubContext, session_id: str, wanted: str) -> SessionMessage | None:
    messages = iterate_backwards(hub.machines, session_id)
    return next((each for each in messages if wanted in {each.id, each.local_id}), None)


MAX_OPTION_CHARS = 200

_ALLOWING = ("approved", "approved_for_session")

_DECISIONS = (*_ALLOWING, "denied", "abort")


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
