"""One session of the kernel that an editor has open: shows its events, asks its permissions.

Everything runs on the event loop, in the order of the events. What other devices say and decide is
shown as well: the editor is one device of several.
"""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from acp import Client, RequestError, schema

from codekernel.adapters.acp.update_writer import (
    MessageWriter,
    find_kind,
    list_locations,
    make_plan_update,
    make_title,
    parse_diff,
)
from codekernel.domain.agent_sessions import (
    META_NOTICE,
    Actor,
    AgentSessionRecord,
    AgentSessions,
    PermissionAnswer,
    PermissionMode,
    PlanEntry,
    SessionMessage,
    SessionPermission,
    SyncEvent,
    SyncEventKind,
)
from codekernel.domain.chat import ROLE_USER, TextContent
from codekernel.errors import KernelError


class EndQuestion(Protocol):
    """Takes back the question for a permission."""

    def __call__(self, name: str, *, is_open: bool) -> None:
        """Forget the permission; take the question back if the editor has not answered it."""


StopReason = Literal["end_turn", "cancelled"]

ALLOW, ALLOW_TURN, REJECT = "allow", "allow_turn", "reject"

# Of our own agent; ACP has no "for this turn", so that the name says how long it holds.
_OWN_OPTIONS = [
    schema.PermissionOption(option_id=ALLOW, name="Allow", kind="allow_once"),
    schema.PermissionOption(
        option_id=ALLOW_TURN, name="Allow all of this kind until the turn ends", kind="allow_always"
    ),
    schema.PermissionOption(option_id=REJECT, name="Reject", kind="reject_once"),
]

_INTERNAL_ERROR = RequestError.internal_error().code

_MESSAGE_EVENTS = frozenset({SyncEventKind.MESSAGE_RECEIVED, SyncEventKind.MESSAGE_GROWING})

_ALLOW_KINDS = frozenset({"allow_once", "allow_always"})

# Where everything is allowed, the kernel answers at once by itself; only a permission that has
# waited since before is asked.
_OWN_ANSWER_SECONDS = 1.0

# Messages are read in pages of so many.
_PAGE_LENGTH = 200

# In ``_meta`` of a permission request, by which its number is found.
PERMISSION_META = "codekernel/permission"


@dataclass(slots=True)
class RunningPrompt:
    """A prompt of the editor, from its message to the end of its turn."""

    ended: asyncio.Future[StopReason]
    message_id: str = ""
    has_begun: bool = False
    is_cancelled: bool = False
    failure: str = ""

    def take(self, kind: SyncEventKind) -> None:
        """Take an event about its message."""
        match kind:
            case SyncEventKind.MESSAGES_CONSUMED:
                self.has_begun = True
            case SyncEventKind.MESSAGE_CANCELLED:
                self.is_cancelled = True
                self.end()
            case SyncEventKind.SESSION_REMOVED:
                self.failure = "The session was deleted on another device."
                self.end()

    def end(self) -> None:
        """Answer the editor, once."""
        if self.ended.done():
            return
        if self.failure and not self.is_cancelled:
            self.ended.set_exception(RequestError(_INTERNAL_ERROR, self.failure))
        else:
            self.ended.set_result("cancelled" if self.is_cancelled else "end_turn")


@dataclass(slots=True)
class EditorDevice:
    """The editor: its connection, who uses it, and what is called when a question is over.

    The latter with true if the editor has not answered it.
    """

    client: Client
    actor: Actor
    end_question: EndQuestion


@dataclass(slots=True)
class EditorSession:
    """A session that is open in the editor."""

    record: AgentSessionRecord
    sessions: AgentSessions
    device: EditorDevice
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    prompts: dict[str, RunningPrompt] = field(default_factory=dict)
    _writer: MessageWriter = field(init=False)
    _last_seq: int = 0
    _plan: tuple[PlanEntry, ...] = ()
    _questions: dict[str, "asyncio.Task[None]"] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._writer = MessageWriter(self.folder)
        self._last_seq = self.record.last_seq

    @property
    def folder(self) -> Path:
        """Where the agent works."""
        return Path(self.record.folder)

    async def replay(self) -> None:
        """Show the session from its first message on. Raises KernelError."""
        async with self.lock:
            self._last_seq = 0
            await self._catch_up()

    async def catch_up(self) -> None:
        """Show what was missed while there was no kernel. Raises KernelError."""
        async with self.lock:
            await self._catch_up()
            for prompt in self.prompts.values():
                prompt.has_begun = prompt.has_begun or not self.record.queued_count
            self._end_prompts()

    async def handle(self, event: SyncEvent) -> None:
        """Show an event."""
        async with self.lock:
            if event.kind in _MESSAGE_EVENTS and event.message is not None:
                await self._show_message(event.message)
            own = [self.prompts[name] for name in event.local_ids if name in self.prompts]
            if event.kind is SyncEventKind.SESSION_REMOVED:
                own = list(self.prompts.values())
            for prompt in own:
                prompt.take(event.kind)
            if event.session is not None and event.session.version >= self.record.version:
                await self._show_record(event.session)

    def close(self) -> None:
        """Ask nothing any more; the agent goes on."""
        for question in self._questions.values():
            question.cancel()

    async def _catch_up(self) -> None:
        while True:
            page = await asyncio.to_thread(
                self.sessions.read_messages,
                self.record.id,
                after_seq=self._last_seq,
                limit=_PAGE_LENGTH,
            )
            for message in page.messages:
                await self._show_message(message)
            if not page.has_more:
                break
        await self._show_record(await asyncio.to_thread(self.sessions.get_session, self.record.id))

    async def _show_message(self, sent: SessionMessage) -> None:
        if sent.seq and sent.seq <= self._last_seq:
            return
        self._last_seq = max(self._last_seq, sent.seq)
        message = sent.message
        if message.role == ROLE_USER and sent.local_id in self.prompts:
            return  # the editor shows its own prompts
        running = next((it for it in self.prompts.values() if it.has_begun), None)
        if running and message.meta.get("is_error"):
            running.failure = "".join(
                block.text for block in message.content if isinstance(block, TextContent)
            )
            return
        if running and message.meta.get(META_NOTICE):
            running.is_cancelled = True
        for update in self._writer.write(sent):
            await self._send(update)

    async def _show_record(self, record: AgentSessionRecord) -> None:
        before, self.record = self.record, record
        if record.plan != self._plan:
            self._plan = record.plan
            await self._send(make_plan_update(record.plan))
        if record.permission_mode is not before.permission_mode:
            await self._send(
                schema.CurrentModeUpdate(
                    session_update="current_mode_update", current_mode_id=record.permission_mode
                )
            )
        if record.name != before.name:
            await self._send(
                schema.SessionInfoUpdate(session_update="session_info_update", title=record.name)
            )
        self._update_questions(record)
        if not record.is_thinking:
            self._end_prompts()

    def _end_prompts(self) -> None:
        for prompt in self.prompts.values():
            if prompt.has_begun and not self.record.is_thinking:
                prompt.end()

    async def _send(self, update: Any) -> None:
        await self.device.client.session_update(self.record.id, update)

    def _update_questions(self, record: AgentSessionRecord) -> None:
        """Ask what waits; take back what another device has answered."""
        pending = {permission.id: permission for permission in record.pending_permissions}
        for name in self._questions.keys() - pending.keys():
            self.device.end_question(name, is_open=self._questions.pop(name).cancel())
        for name in pending.keys() - self._questions.keys():
            asked = self._ask(pending[name])
            self._questions[name] = asyncio.create_task(asked, name=f"permission {name}")

    async def _ask(self, permission: SessionPermission) -> None:
        if self.record.permission_mode is PermissionMode.ALLOW_ALL:
            await asyncio.sleep(_OWN_ANSWER_SECONDS)
        options = [
            schema.PermissionOption(option_id=it.id, name=it.name, kind=it.kind)  # type: ignore[arg-type]
            for it in permission.options
        ] or _OWN_OPTIONS
        arguments = dict(permission.arguments)
        diff = arguments.get("diff")
        call = schema.ToolCallUpdate(
            tool_call_id=permission.tool_use_id or permission.id,
            title=make_title(permission.tool, arguments),
            kind=find_kind(permission.tool, permission.danger),
            status="pending",
            raw_input=arguments,
            locations=list_locations(arguments, self.folder),
            content=[*parse_diff(diff, self.folder)] if isinstance(diff, str) else None,
        )
        try:
            answer = await self.device.client.request_permission(
                session_id=self.record.id,
                tool_call=call,
                options=options,
                **{PERMISSION_META: permission.id},
            )
        except (RequestError, ConnectionError):
            return  # the editor cannot ask, or is gone: the permission waits for another device
        if not isinstance(answer.outcome, schema.AllowedOutcome):
            return  # the editor has cancelled its turn, which is told by itself
        chosen = answer.outcome.option_id
        kind = next((str(it.kind) for it in options if it.option_id == chosen), "")
        decision = PermissionAnswer(
            allowed=kind in _ALLOW_KINDS,
            actor=self.device.actor,
            for_turn=chosen == ALLOW_TURN and not permission.options,
            option_id=chosen if permission.options else "",
        )
        try:
            await asyncio.to_thread(
                self.sessions.answer_permission, self.record.id, permission.id, decision
            )
        except KernelError:
            return  # another device was first, which is told by its event
