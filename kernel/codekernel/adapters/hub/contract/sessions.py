"""Sessions, machines and events as the contract writes them.

One version number of the engine stands for metadata, agent state and tasks: each is taken over by
a client only with a greater one, so that an answered permission never comes back.
"""

import json
import time
from typing import Any

from codekernel.adapters.hub.contract.messages import render_message
from codekernel.adapters.hub.devices import NAMESPACE
from codekernel.domain.agent_sessions import (
    AgentSessionRecord,
    MachineRecord,
    PermissionStatus,
    SessionPermission,
    SyncEvent,
    SyncEventKind,
)
from codekernel.domain.chat import JsonObject

# In a summary, oldest first; ``pendingRequestsCount`` has the whole number.
MAX_SUMMARY_REQUESTS = 5

_DECISIONS = {
    PermissionStatus.APPROVED: "approved",
    PermissionStatus.DENIED: "denied",
    PermissionStatus.CANCELED: "abort",
}

_PLAN_STATES = ("pending", "in_progress", "completed")


def is_session_active(record: AgentSessionRecord, machine: MachineRecord | None) -> bool:
    """Return whether a session can be used now."""
    return record.is_active and not record.is_archived and machine is not None and machine.is_active


def render_session(record: AgentSessionRecord, machine: MachineRecord | None) -> JsonObject:
    """Return the whole record."""
    return {
        "id": record.id,
        "namespace": NAMESPACE,
        "seq": record.last_seq,
        "createdAt": record.created_at,
        "updatedAt": record.updated_at,
        "active": is_session_active(record, machine),
        "activeAt": record.updated_at,
        "metadata": render_metadata(record, machine),
        "metadataVersion": record.version,
        "agentState": render_agent_state(record),
        "agentStateVersion": record.version,
        "thinking": record.is_thinking,
        "thinkingAt": record.updated_at,
        "todos": _render_plan(record),
        "todosUpdatedAt": record.version,
        "model": record.model or None,
        "modelReasoningEffort": None,
        "effort": None,
        "serviceTier": None,
        "permissionMode": str(record.permission_mode),
    }


def render_patch(record: AgentSessionRecord, machine: MachineRecord | None) -> JsonObject:
    """Return what ``session-updated`` tells; clients refuse fields that they do not know."""
    return {
        "active": is_session_active(record, machine),
        "activeAt": record.updated_at,
        "updatedAt": record.updated_at,
        "thinking": record.is_thinking,
        "metadata": {"version": record.version, "value": render_metadata(record, machine)},
        "agentState": {"version": record.version, "value": render_agent_state(record)},
        "todos": {"version": record.version, "value": _render_plan(record)},
        "model": record.model or None,
        "permissionMode": str(record.permission_mode),
    }


def render_summary(record: AgentSessionRecord, machine: MachineRecord | None) -> JsonObject:
    """Return a session as the list shows it."""
    pending = record.pending_permissions
    done = sum(entry.status == "completed" for entry in record.plan)
    return {
        "id": record.id,
        "active": is_session_active(record, machine),
        "thinking": record.is_thinking,
        "activeAt": record.updated_at,
        "updatedAt": record.updated_at,
        "metadata": render_metadata(record, machine),
        "metadataVersion": record.version,
        "agentStateVersion": record.version,
        "todosUpdatedAt": record.version,
        "todoProgress": {"completed": done, "total": len(record.plan)} if record.plan else None,
        "pendingRequestsCount": len(pending),
        "pendingRequestKinds": ["permission"] if pending else [],
        "pendingRequests": [
            {"id": each.id, "kind": "permission", "tool": each.tool, "since": each.created_at}
            for each in pending[:MAX_SUMMARY_REQUESTS]
        ],
        "backgroundTaskCount": 0,
        "futureScheduledMessageCount": 0,
        "nextScheduledAt": None,
        "model": record.model or None,
        "effort": None,
    }


def render_metadata(record: AgentSessionRecord, machine: MachineRecord | None) -> JsonObject:
    """Return what describes a session; ``queuedCount`` and ``epoch`` are additions."""
    known = {"os": machine.platform, "version": machine.version} if machine else {}
    return {
        "path": record.folder,
        "host": machine.host if machine else "",
        **known,
        "name": record.name,
        "machineId": record.machine_id,
        "flavor": record.agent,
        "lifecycleState": "archived" if record.is_archived else "running",
        "startedBy": "runner",
        "queuedCount": record.queued_count,
        "conversationId": record.conversation_id,
        "epoch": record.epoch,
    }


def render_agent_state(record: AgentSessionRecord) -> JsonObject:
    """Return the permissions: those that wait, and those that were answered."""
    waiting = PermissionStatus.PENDING
    return {
        "controlledByUser": False,
        "requests": {
            each.id: _render_request(each) for each in record.permissions if each.status is waiting
        },
        "completedRequests": {
            each.id: _render_completed(each)
            for each in record.permissions
            if each.status is not waiting
        },
    }


def render_machine(machine: MachineRecord, now_ms: int) -> JsonObject:
    """Return a machine; ``agents`` are the kinds of agents that it can start, an addition."""
    return {
        "id": machine.id,
        "namespace": NAMESPACE,
        "seq": 0,
        "createdAt": 0,
        "updatedAt": now_ms,
        "active": machine.is_active,
        "activeAt": now_ms,
        "metadata": {
            "host": machine.host,
            "platform": machine.platform,
            "happyCliVersion": machine.version,
            "displayName": machine.host,
            "workspaceRoots": list(machine.folders),
            "agents": [
                {
                    "name": agent.name,
                    "title": agent.title,
                    "isOwn": agent.is_own,
                    "models": list(agent.models),
                    "unavailable": agent.unavailable,
                    "canUndo": agent.can_undo,
                }
                for agent in machine.agents
            ],
        },
        "metadataVersion": 1,
        "runnerState": {"status": "running" if machine.is_active else "offline"},
        "runnerStateVersion": 1,
    }


def _render_request(permission: SessionPermission) -> JsonObject:
    """Return a permission; ``toolUseId``, ``danger`` and ``options`` are additions."""
    options = [{"id": each.id, "name": each.name, "kind": each.kind} for each in permission.options]
    return {
        "tool": permission.tool,
        "arguments": dict(permission.arguments),
        "createdAt": permission.created_at,
        **({"toolUseId": permission.tool_use_id} if permission.tool_use_id else {}),
        **({"danger": permission.danger} if permission.danger else {}),
        **({"options": options} if options else {}),
    }


def _render_completed(permission: SessionPermission) -> JsonObject:
    """Return an answered permission; ``answeredBy`` is an addition."""
    is_wide = permission.for_turn and permission.status is PermissionStatus.APPROVED
    actor = permission.answered_by
    return {
        **_render_request(permission),
        "completedAt": permission.answered_at,
        "status": str(permission.status),
        "decision": "approved_for_session" if is_wide else _DECISIONS[permission.status],
        **({"answeredBy": {"device": actor.device, "name": actor.name}} if actor else {}),
    }


def _render_plan(record: AgentSessionRecord) -> list[JsonObject]:
    return [
        {
            "id": str(number),
            "content": entry.text,
            "status": entry.status if entry.status in _PLAN_STATES else "pending",
            "priority": "medium",
        }
        for number, entry in enumerate(record.plan, 1)
    ]


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
