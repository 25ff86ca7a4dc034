"""/health; a key for a token; a pairing code for a key."""

from http import HTTPStatus

from starlette.routing import BaseRoute

from codekernel import __version__
from codekernel.adapters.hub.devices import MAX_NAME_CHARS, DeviceKind, FailureLimit, make_user_id
from codekernel.adapters.hub.routes.requests import (
    HubContext,
    HubRequest,
    RequestRefused,
    make_route,
)
from codekernel.domain.chat import JsonObject

# Of the client contract.
PROTOCOL_VERSION = 1

MAX_KEY_CHARS = 256


def make_routes(hub: HubContext) -> list[BaseRoute]:
    """Return the routes that need no token."""
    return [
        make_route(hub, "GET", "/health", get_health, is_public=True),
        make_route(hub, "POST", "/api/auth", sign_in, is_public=True),
        make_route(hub, "POST", "/api/pair", pair, is_public=True),
    ]


def get_health(_: HubContext, __: HubRequest) -> JsonObject:
    """Tell that the hub answers."""
    return {
        "status": "ok",
        "protocolVersion": PROTOCOL_VERSION,
        "capabilities": {"codekernel": __version__},
    }


def sign_in(hub: HubContext, request: HubRequest) -> JsonObject:
    """Return a token for the key of a device."""
    key = request.read_text("accessToken", MAX_KEY_CHARS)
    check_failures(hub.auth_failures, request.address)
    device = hub.devices.find_by_key(key.strip())
    if device is None or device.kind is not DeviceKind.DEVICE:
        hub.auth_failures.note_failure(request.address)
        raise RequestRefused(
            HTTPStatus.UNAUTHORIZED, "Invalid access token", "invalid_access_token"
        )
    user = {"id": make_user_id(device), "firstName": device.name}
    return {"token": hub.tokens.make_token(device), "user": user}


def pair(hub: HubContext, request: HubRequest) -> JsonObject:
    """Return the key of a new device for a code, which is used up; an addition."""
    code = request.read_text("code", MAX_KEY_CHARS)
    name = request.read_text("name", MAX_NAME_CHARS, default="")
    check_failures(hub.pairing_failures, request.address)
    paired = hub.pairing.redeem(code, name, DeviceKind.DEVICE)
    if paired is None:
        hub.pairing_failures.note_failure(request.address)
        raise RequestRefused(
            HTTPStatus.UNAUTHORIZED,
            "This code was used, or is older than ten minutes: codekernel hub pair makes another.",
            "invalid_code",
        )
    device, key = paired
    return {"accessToken": key, "device": {"id": device.id, "name": device.name}}


def check_failures(limit: FailureLimit, address: str) -> None:
    """Refuse an address that failed too often. Raises RequestRefused."""
    wait = limit.get_wait(address)
    if wait:
        raise RequestRefused(
            HTTPStatus.TOO_MANY_REQUESTS,
            "Too many failed attempts from this address; try again later.",
            "rate_limited",
            retry_after=wait,
        )
