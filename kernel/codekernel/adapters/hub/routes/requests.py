"""What routes use, a request as its handler sees it, and where an error becomes a status.

A handler is a plain function on a thread of its own; it returns what is sent as JSON.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from typing import Any, ParamSpec, TypeVar

import anyio
from anyio import CapacityLimiter, fail_after, to_thread
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from codekernel import errors
from codekernel.adapters.hub.contract.sessions import encode_json
from codekernel.adapters.hub.devices import (
    AccessTokens,
    AddressRules,
    DeviceRegistry,
    FailureLimit,
    PairedDevice,
    Pairing,
)
from codekernel.adapters.hub.events import EventBroadcaster
from codekernel.adapters.hub.machine_table import MachineTable
from codekernel.adapters.hub.machines import HubMachines
from codekernel.adapters.static_pages import StaticPages
from codekernel.domain.agent_sessions import Actor, Device
from codekernel.domain.chat import JsonObject
from codekernel.domain.untrusted_text import parse_json

# A person mistypes a code some times; 60 guesses an hour of 79 bits find nothing.
MAX_FAILURES, FAILURE_INTERVAL_SECONDS = 10, 600.0

# Requests that are being answered; a machine that is slow holds up no more than these.
MAX_WORKING_REQUESTS = 64

# As long as the contract gives a machine for its answer.
REQUEST_TIMEOUT_SECONDS = 30.0

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class HubContext:
    """The parts of a running hub."""

    table: MachineTable
    machines: HubMachines
    devices: DeviceRegistry
    pairing: Pairing
    tokens: AccessTokens
    broadcaster: EventBroadcaster
    rules: AddressRules
    pages: StaticPages
    auth_failures: FailureLimit = field(
        default_factory=lambda: FailureLimit(MAX_FAILURES, FAILURE_INTERVAL_SECONDS)
    )
    pairing_failures: FailureLimit = field(
        default_factory=lambda: FailureLimit(MAX_FAILURES, FAILURE_INTERVAL_SECONDS)
    )
    limiter: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(MAX_WORKING_REQUESTS))

    async def run_in_thread(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run what blocks on a thread. Raises TimeoutError; the thread is then left alone."""
        with fail_after(REQUEST_TIMEOUT_SECONDS):
            return await to_thread.run_sync(
                partial(work, *args, **kwargs), limiter=self.limiter, abandon_on_cancel=True
            )


MAX_BODY_BYTES = 1024 * 1024

BODY_TIMEOUT_SECONDS = 30.0

_BEARER_PREFIX = "Bearer "

JSON_HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


class RequestRefused(Exception):
    """A request that gets an answer other than 200; ``code`` is what clients compare."""

    def __init__(
        self, status: HTTPStatus, message: str, code: str, *, retry_after: float = 0.0
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class HubRequest:
    """``device`` is None where no token is needed."""

    address: str
    params: Mapping[str, str]
    query: Mapping[str, str]
    device: PairedDevice | None = None
    body: JsonObject = field(default_factory=dict)

    @property
    def session_id(self) -> str:
        """The session in the path."""
        return self.params["session_id"]

    @property
    def actor(self) -> Actor:
        """Who asks."""
        return Actor(Device.PAGE, self.device.name if self.device else "")

    def read_text(self, name: str, max_chars: int, *, default: str | None = None) -> str:
        """Return a text of the body. Raises WrongParam."""
        value = self.body.get(name, default)
        if value is None:
            raise errors.WrongParam(f"`{name}` is missing.")
        if not isinstance(value, str) or len(value) > max_chars:
            raise errors.WrongParam(f"`{name}` must be a text of at most {max_chars} characters.")
        return value

    def read_texts(self, name: str, max_count: int) -> list[str]:
        """Return a list of texts of the body. Raises WrongParam."""
        value = self.body.get(name)
        if not isinstance(value, list) or len(value) > max_count:
            raise errors.WrongParam(f"`{name}` must be a list of at most {max_count} texts.")
        if not all(isinstance(each, str) for each in value):
            raise errors.WrongParam(f"`{name}` must be a list of texts.")
        return value


Handler = Callable[[HubContext, HubRequest], JsonObject]

# The statuses and codes of the contract.
_STATUSES: tuple[tuple[type[errors.KernelError], HTTPStatus, str], ...] = (
    (errors.WrongParam, HTTPStatus.BAD_REQUEST, "invalid_request"),
    (errors.InvalidPath, HTTPStatus.BAD_REQUEST, "invalid_path"),
    (errors.SessionNotFound, HTTPStatus.NOT_FOUND, "session_not_found"),
    (errors.PermissionAnswered, HTTPStatus.NOT_FOUND, "request_not_found"),
    (errors.MachineNotFound, HTTPStatus.NOT_FOUND, "machine_not_found"),
    (errors.SessionBusy, HTTPStatus.CONFLICT, "session_busy"),
    (errors.Overloaded, HTTPStatus.TOO_MANY_REQUESTS, "overloaded"),
    (errors.MachineOffline, HTTPStatus.SERVICE_UNAVAILABLE, "no_machine_online"),
    (errors.KernelUnavailable, HTTPStatus.SERVICE_UNAVAILABLE, "no_machine_online"),
)


def explain_error(error: errors.KernelError) -> RequestRefused:
    """Return the answer to a request that failed."""
    for kind, status, code in _STATUSES:
        if isinstance(error, kind):
            return RequestRefused(status, str(error), code)
    return RequestRefused(HTTPStatus.INTERNAL_SERVER_ERROR, str(error), "kernel_error")


def make_route(
    hub: HubContext, method: str, path: str, handler: Handler, *, is_public: bool = False
) -> Route:
    """Return a route; unless it ``is_public``, a request needs the token of a device."""

    async def answer(request: Request) -> Response:
        async def handle() -> JsonObject:
            device, body = None, {}
            if not is_public:
                device = await hub.run_in_thread(require_device, hub, request)
            if method not in {"GET", "DELETE"}:
                body = await read_body(request)
            return await hub.run_in_thread(handler, hub, make_request(request, device, body))

        return await respond(handle)

    return Route(path, answer, methods=[method])


async def respond(handle: Callable[[], Awaitable[JsonObject]]) -> Response:
    """Return the answer of a handler, or the status of its error."""
    try:
        return render_json(await handle())
    except RequestRefused as refused:
        return render_refusal(refused)
    except errors.KernelError as error:
        return render_refusal(explain_error(error))
    except TimeoutError:
        return render_refusal(
            RequestRefused(
                HTTPStatus.GATEWAY_TIMEOUT, "The machine does not answer.", "machine_timeout"
            )
        )
    except ClientDisconnect:
        return Response(status_code=HTTPStatus.BAD_REQUEST)


def render_json(value: JsonObject, status: int = HTTPStatus.OK) -> Response:
    """Return a response with a JSON value."""
    return Response(encode_json(value), status, JSON_HEADERS, "application/json")


def render_refusal(refused: RequestRefused) -> Response:
    """Return the response to a request that is refused."""
    response = render_json({"error": str(refused), "code": refused.code}, refused.status)
    if refused.retry_after:
        response.headers["Retry-After"] = str(int(refused.retry_after) + 1)
    return response


def make_request(request: Request, device: PairedDevice | None, body: JsonObject) -> HubRequest:
    """Return what a handler sees of a request."""
    address = request.client.host if request.client else ""
    return HubRequest(address, request.path_params, request.query_params, device, body)


def require_device(
    hub: HubContext, request: Request, *, may_be_in_query: bool = False
) -> PairedDevice:
    """Return the device of a request's token. Raises RequestRefused."""
    headers = request.headers.getlist("authorization")
    token = ""
    if len(headers) == 1 and headers[0].startswith(_BEARER_PREFIX):
        token = headers[0].removeprefix(_BEARER_PREFIX)
    elif may_be_in_query and not headers:
        token = request.query_params.get("token", "")
    if not token:
        raise RequestRefused(
            HTTPStatus.UNAUTHORIZED, "Missing authorization token", "missing_token"
        )
    device = hub.tokens.find_device(token)
    if device is None:
        raise RequestRefused(HTTPStatus.UNAUTHORIZED, "Invalid token", "invalid_token")
    return device


async def read_body(request: Request) -> JsonObject:
    """Return the JSON object of a request's body. Raises RequestRefused."""
    content = bytearray()
    try:
        with anyio.fail_after(BODY_TIMEOUT_SECONDS):
            async for chunk in request.stream():
                content += chunk
                if len(content) > MAX_BODY_BYTES:
                    raise RequestRefused(
                        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                        f"A request may have {MAX_BODY_BYTES} bytes.",
                        "too_large",
                    )
    except TimeoutError:
        raise RequestRefused(
            HTTPStatus.REQUEST_TIMEOUT, "The request did not arrive.", "timeout"
        ) from None
    if not content:
        return {}
    try:
        value: Any = parse_json(content.decode())
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise RequestRefused(
            HTTPStatus.BAD_REQUEST, "The body must be a JSON object.", "invalid_request"
        )
    return value
