"""AgentSessions of the kernel, for other processes: the hub, chats, editors, commands.

A kernel that dies or is replaced is waited for: what was asked is asked of the next one, and
subscriptions go on from their position, or say that events are missing.
"""

import uuid
from collections.abc import Callable
from typing import Any

from codekernel.client.kernel_requests import EventStream, Fields, KernelRequests
from codekernel.domain.agent_sessions import (
    Actor,
    AgentSessionRecord,
    CancelOutcome,
    EventPosition,
    EventSubscription,
    FolderAnswer,
    FolderQuestion,
    MachineRecord,
    MessagePage,
    NewMessage,
    NewSession,
    PermissionAnswer,
    PermissionMode,
    SessionMessage,
    SessionPermission,
    SyncEvent,
    SyncEventKind,
)
from codekernel.protocol import agent_session_entries as wire

# Called when a subscription goes on after a loss of the kernel, with its position, and whether
# nothing is missing.
OnResumed = Callable[[EventPosition, bool], None]


class RemoteAgentSessions:
    """The sessions of the machine's kernel; safe to use from any thread.

    Messages, starts and answers without an id of their own get one, so that none is repeated, and
    none is refused as another one's, when a kernel dies before it has answered.
    """

    def __init__(self, requests: KernelRequests) -> None:
        """``requests`` is closed with it."""
        self._requests = requests

    def close(self) -> None:
        """Disconnect; the agents go on."""
        self._requests.close()

    def get_machine(self) -> MachineRecord:
        """Return the machine, its agents and the folders that it knows."""
        return wire.parse_machine(self._request("getAgentMachine"))

    def list_sessions(self) -> list[AgentSessionRecord]:
        """Return all sessions, the last used first."""
        return list(map(wire.parse_session, self._request("getAgentSessions")["sessions"]))

    def get_session(self, session_id: str) -> AgentSessionRecord:
        """Return one session. Raises SessionNotFound."""
        return wire.parse_session(self._request("getAgentSession", id=session_id))

    def start_session(self, new: NewSession) -> AgentSessionRecord:
        """Start a session, or return the one that has its tag."""
        data = self._request(
            "startAgentSession",
            folder=new.folder,
            actor=_encode_actor(new.actor),
            agent=new.agent,
            model=new.model,
            name=new.name,
            permissionMode=new.permission_mode.value,
            tag=new.tag or str(uuid.uuid4()),
        )
        return wire.parse_session(data)

    def read_messages(
        self,
        session_id: str,
        *,
        before_seq: int | None = None,
        after_seq: int | None = None,
        limit: int = 50,
        epoch: int | None = None,
    ) -> MessagePage:
        """Return the newest messages, those before a number, or those after one."""
        data = self._request(
            "readAgentMessages",
            id=session_id,
            beforeSeq=before_seq,
            afterSeq=after_seq,
            limit=limit,
            epoch=epoch,
        )
        return wire.parse_page(data)

    def send_message(self, session_id: str, new: NewMessage) -> SessionMessage:
        """Queue a message for the agent; it is on disk when this returns."""
        data = self._request(
            "sendAgentMessage",
            id=session_id,
            text=new.text,
            actor=_encode_actor(new.actor),
            localId=new.local_id or str(uuid.uuid4()),
        )
        return wire.parse_session_message(data)

    def cancel_message(self, session_id: str, message_id: str) -> CancelOutcome:
        """Take back a message that still waits."""
        data = self._request("cancelAgentMessage", id=session_id, messageId=message_id)
        return CancelOutcome(data["outcome"])

    def answer_permission(
        self, session_id: str, permission_id: str, answer: PermissionAnswer
    ) -> SessionPermission:
        """Answer a permission. Raises PermissionAnswered if another device was first."""
        data = self._request(
            "answerAgentPermission",
            id=session_id,
            permissionId=permission_id,
            allowed=answer.allowed,
            actor=_encode_actor(answer.actor),
            forTurn=answer.for_turn,
            optionId=answer.option_id,
            answerKey=answer.answer_key or str(uuid.uuid4()),
        )
        return wire.parse_permission(data)

    def list_permissions(self, session_id: str) -> list[SessionPermission]:
        """Return every permission of a session with who answered it, oldest first."""
        data = self._request("getAgentPermissions", id=session_id)
        return list(map(wire.parse_permission, data["permissions"]))

    def stop_turn(self, session_id: str, actor: Actor) -> None:
        """Stop what the agent does; waiting messages stay. Stopping nothing succeeds."""
        self._request("stopAgentTurn", id=session_id, actor=_encode_actor(actor))

    def update_session(
        self,
        session_id: str,
        *,
        name: str | None = None,
        model: str | None = None,
        permission_mode: PermissionMode | None = None,
        is_archived: bool | None = None,
    ) -> AgentSessionRecord:
        """Change what a person may change."""
        mode = permission_mode.value if permission_mode else None
        data = self._request(
            "updateAgentSession",
            id=session_id,
            name=name,
            model=model,
            permissionMode=mode,
            archived=is_archived,
        )
        return wire.parse_session(data)

    def delete_session(self, session_id: str) -> None:
        """Delete a session and its messages. Raises SessionBusy while its agent works."""
        self._request("deleteAgentSession", id=session_id)

    def ask_folder(self, session_id: str, question: FolderQuestion) -> FolderAnswer:
        """Answer a question about the folder of a session."""
        data = self._request(
            "askAgentFolder",
            id=session_id,
            kind=question.kind.value,
            path=question.path,
            staged=question.is_staged,
            query=question.query,
            limit=question.limit,
        )
        return wire.parse_folder_answer(data)

    def subscribe(
        self,
        deliver: Callable[[SyncEvent], None],
        after: EventPosition | None = None,
        on_resumed: OnResumed | None = None,
    ) -> EventSubscription:
        """Deliver the events after a position, if they are still known, then all that follow.

        When the kernel was lost meanwhile, ``on_resumed`` is called on the same thread; without it
        missing events are told by ``messages-invalidated`` without a session: read everything anew.
        """
        lost = SyncEvent(0, SyncEventKind.MESSAGES_INVALIDATED, "")
        resume = on_resumed or (lambda _, is_resumed: None if is_resumed else deliver(lost))
        follower = _Follower(deliver, resume, after)
        stream = EventStream("followAgentSessions", follower.build_fields, follower.handle)
        start = self._requests.follow(stream)
        return EventSubscription(
            wire.parse_position(start["position"]), start["resumed"], stream.close
        )

    def _request(self, message_type: str, **fields: Any) -> Any:
        return self._requests.request(message_type, fields)


class _Follower:
    """The position of one subscription; used by the thread that delivers."""

    def __init__(
        self,
        deliver: Callable[[SyncEvent], None],
        resume: OnResumed,
        after: EventPosition | None,
    ) -> None:
        self._deliver = deliver
        self._resume = resume
        self._position = after
        self._has_begun = False

    def build_fields(self) -> Fields:
        """The fields by which it goes on where it is."""
        position = self._position
        return {"after": {"run": position.run, "id": position.id} if position else None}

    def handle(self, part: Fields) -> None:
        """Deliver an event; events that were delivered are left out."""
        if part["type"] == "following":
            self._position = wire.parse_position(part["position"])
            if self._has_begun:
                self._resume(self._position, part["resumed"])
            self._has_begun = True
        elif part["type"] == "event" and self._position:
            event = wire.parse_event(part)
            if event.id:
                self._position = EventPosition(self._position.run, event.id)
            self._deliver(event)


def _encode_actor(actor: Actor) -> dict[str, str]:
    return {"device": actor.device, "name": actor.name}
