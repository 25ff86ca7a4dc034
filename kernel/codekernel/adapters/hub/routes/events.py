"""Server-sent events, and whether a device is looked at."""

from collections.abc import AsyncIterator
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from codekernel.adapters.hub.devices import PairedDevice
from codekernel.adapters.hub.events import EventConnection, EventFilter
from codekernel.adapters.hub.routes.requests import (
    HubContext,
    RequestRefused,
    explain_error,
    read_body,
    render_refusal,
    require_device,
    respond,
)
from codekernel.domain.chat import JsonObject
from codekernel.errors import KernelError, WrongParam

STREAM_HEADERS = {
    "Cache-Control": "no-cache, no-transform",
    "X-Accel-Buffering": "no",  # proxies would collect events
    "X-Content-Type-Options": "nosniff",
}


def make_routes(hub: HubContext) -> list[BaseRoute]:
    """Return the routes of events; they run on the loop, for there may be a thousand devices."""

    async def open_events(request: Request) -> Response:
        try:
            connection = await _make_connection(hub, request)
        except RequestRefused as refused:
            return render_refusal(refused)
        except KernelError as error:
            return render_refusal(explain_error(error))
        last_id = request.headers.get("last-event-id") or request.query_params.get("lastEventId")
        chunks = _iterate_chunks(hub, connection, last_id or "")
        return StreamingResponse(chunks, headers=STREAM_HEADERS, media_type="text/event-stream")

    async def set_visibility(request: Request) -> Response:
        async def handle() -> JsonObject:
            device = await hub.run_in_thread(require_device, hub, request)
            return _set_visibility(hub, device, await read_body(request))

        return await respond(handle)

    return [
        Route("/api/events", open_events, methods=["GET"]),
        Route("/api/visibility", set_visibility, methods=["POST"]),
    ]


async def _make_connection(hub: HubContext, request: Request) -> EventConnection:
    device = await hub.run_in_thread(require_device, hub, request, may_be_in_query=True)
    query = request.query_params
    wanted = EventFilter(
        query.get("all") in {"1", "true"}, query.get("sessionId", ""), query.get("machineId", "")
    )
    if wanted.session_id:
        await hub.run_in_thread(hub.machines.get_session, wanted.session_id)
    if wanted.machine_id:
        await hub.run_in_thread(hub.machines.get_machine_record, wanted.machine_id)
    if hub.broadcaster.is_full:
        raise RequestRefused(
            HTTPStatus.SERVICE_UNAVAILABLE, "Too many devices are connected.", "too_many"
        )
    return EventConnection(device.id, wanted, query.get("visibility") == "visible")


async def _iterate_chunks(
    hub: HubContext, connection: EventConnection, last_id: str
) -> AsyncIterator[bytes]:
    hub.broadcaster.open(connection, last_id)
    try:
        async for chunk in connection.iterate_chunks():
            yield chunk
    finally:
        hub.broadcaster.remove(connection)


def _set_visibility(hub: HubContext, device: PairedDevice, body: JsonObject) -> JsonObject:
    visibility, subscription_id = body.get("visibility"), body.get("subscriptionId")
    if visibility not in {"visible", "hidden"} or not isinstance(subscription_id, str):
        raise WrongParam("`visibility` must be visible or hidden, `subscriptionId` a text.")
    is_known = hub.broadcaster.set_visibility(
        subscription_id, device.id, is_visible=visibility == "visible"
    )
    if not is_known:
        raise RequestRefused(
            HTTPStatus.NOT_FOUND, "Subscription not found", "subscription_not_found"
        )
    return {"ok": True}
