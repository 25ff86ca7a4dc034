"""Events as the contract tells them: JSON for each kind, and the framing of server-sent events."""

import json
import time
from typing import Any

from codekernel.adapters.hub.access.devices import NAMESPACE
from codekernel.adapters.hub.contract.messages import render_message
from codekernel.adapters.hub.contract.sessions import (
    render_machine,
    render_patch,
    render_session,
)
from codekernel.domain.agent_sessions import (
    AgentSessionRecord,
    MachineRecord,
    SyncEvent,
    SyncEventKind,
)
from codekernel.domain.chat import JsonObject


def read_clock() -> int:
    """Return the time in milliseconds, as all times of the contract are."""
    return time.time_ns() // 1_000_000


def encode_json(value: Any) -> bytes:
    """Encode as UTF-8; what holds half of a surrogate pair is escaped."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


def render_frame(payload: bytes, event_id: str = "") -> bytes:
    """Return a server-sent event; without an id a client keeps the last one it has seen."""
    head = f"id: {event_id}\n".encode() if event_id else b""
    return b"%sdata: %s\n\n" % (head, payload)


def render_sync_event(event: SyncEvent, machine: MachineRecord | None) -> JsonObject:
    """Return what devices are told of an event of a machine."""
    told = {"type": str(event.kind), "namespace": NAMESPACE, "sessionId": event.session_id}
    return {**told, **_render_details(event, machine)}


def _render_details(event: SyncEvent, machine: MachineRecord | None) -> JsonObject:
    match event.kind:
        case SyncEventKind.SESSION_ADDED if event.session:
            return {"data": render_session(event.session, machine)}
        case SyncEventKind.SESSION_UPDATED if event.session:
            return {"data": render_patch(event.session, machine)}
        case SyncEventKind.MESSAGE_RECEIVED | SyncEventKind.MESSAGE_GROWING if event.message:
            return {"message": render_message(event.message)}
        case SyncEventKind.MESSAGES_CONSUMED:
            invoked_at = event.message.invoked_at if event.message else None
            return {"localIds": list(event.local_ids), "invokedAt": invoked_at or read_clock()}
        case SyncEventKind.MESSAGE_CANCELLED:
            local_id = event.local_ids[0] if event.local_ids else None
            message_id = event.message.id if event.message else local_id
            return {"messageId": message_id, "localId": local_id}
        case _:
            return {}


def render_machine_event(machine: MachineRecord) -> JsonObject:
    """Return what devices are told of a machine that came, changed or went."""
    return {
        "type": "machine-updated",
        "namespace": NAMESPACE,
        "machineId": machine.id,
        "data": render_machine(machine, read_clock()),
    }


def render_activity(record: AgentSessionRecord, machine: MachineRecord | None) -> JsonObject:
    """Return what devices are told of a session whose machine came or went."""
    event = SyncEvent(0, SyncEventKind.SESSION_UPDATED, record.id, session=record)
    return render_sync_event(event, machine)


def render_connected(subscription_id: str, *, is_resumed: bool) -> JsonObject:
    """Return the first event of a connection."""
    resume = "ok" if is_resumed else "gap"
    data = {"status": "connected", "subscriptionId": subscription_id, "resume": resume}
    return {"type": "connection-changed", "data": data}


def render_heartbeat() -> JsonObject:
    """Return what is sent while nothing happens."""
    return {"type": "heartbeat", "namespace": NAMESPACE, "data": {"timestamp": read_clock()}}


def render_toast(title: str, body: str, session_id: str) -> JsonObject:
    """Return a notice for pages that are visible."""
    data = {"title": title, "body": body, "sessionId": session_id, "url": f"/sessions/{session_id}"}
    return {"type": "toast", "namespace": NAMESPACE, "data": data}
