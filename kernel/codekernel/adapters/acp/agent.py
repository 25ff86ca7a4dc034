"""Our agent for editors that speak ACP: a rendering of the kernel's agent sessions.

Nothing is kept here. A session that the editor leaves goes on in the kernel, and can be loaded
again here or followed on any other device.
"""

import asyncio
import os
import uuid
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from acp import PROTOCOL_VERSION, Client, RequestError, schema

from codekernel import __version__
from codekernel.adapters.acp.editor_session import (
    EditorDevice,
    EditorSession,
    EndQuestion,
    RunningPrompt,
)
from codekernel.domain.agent_sessions import (
    Actor,
    AgentKind,
    AgentSessionRecord,
    AgentSessions,
    CancelOutcome,
    Device,
    NewMessage,
    NewSession,
    PermissionMode,
    SyncEvent,
    SyncEventKind,
)
from codekernel.errors import KernelError, SessionNotFound, WrongParam

# Sessions per page of a list.
_PAGE_LENGTH = 50

Given = ParamSpec("Given")

Result = TypeVar("Result")


class EditorAgent:
    """The agent's side of one connection; the SDK calls its methods on the event loop."""

    def __init__(self, sessions: AgentSessions, kind: str, end_question: EndQuestion) -> None:
        """``kind`` is the agent of new sessions; the others of the kernel are not listed."""
        self._sessions = sessions
        self._kind = kind
        self._end_question = end_question
        self._open: dict[str, EditorSession] = {}
        self._events: asyncio.Queue[SyncEvent] = asyncio.Queue()
        self._is_following = asyncio.Event()
        self._actor = Actor(Device.EDITOR)
        self._client: Client | None = None

    def on_connect(self, conn: Client) -> None:
        """Take the connection."""
        self._client = conn

    async def follow(self) -> None:
        """Show the events of the open sessions until cancelled. Raises KernelError."""
        loop = asyncio.get_running_loop()

        def deliver(event: SyncEvent) -> None:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(self._events.put_nowait, event)

        subscription = await asyncio.to_thread(self._sessions.subscribe, deliver)
        self._is_following.set()
        try:
            while True:
                event = await self._events.get()
                await self._show(event)
        finally:
            subscription.close()
            for session in self._open.values():
                session.close()

    async def initialize(
        self, client_info: schema.Implementation | None = None, **_: Any
    ) -> schema.InitializeResponse:
        """Answer with what we can."""
        if client_info is not None:
            self._actor = Actor(Device.EDITOR, client_info.title or client_info.name)
        return schema.InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_capabilities=schema.AgentCapabilities(
                load_session=True,
                prompt_capabilities=schema.PromptCapabilities(embedded_context=True),
                session_capabilities=schema.SessionCapabilities(
                    list=schema.SessionListCapabilities()
                ),
            ),
            agent_info=schema.Implementation(
                name="codekernel", title="codekernel", version=__version__
            ),
            auth_methods=[],
        )

    async def new_session(self, cwd: str, **_: Any) -> schema.NewSessionResponse:
        """Start a session in a folder; the MCP servers of the editor are not used."""
        if not Path(cwd).is_absolute():
            raise RequestError.invalid_params({"details": "cwd must be an absolute path"})
        await self._is_following.wait()  # or events would be missed
        new = NewSession(cwd, self._actor, self._kind, tag=str(uuid.uuid4()))
        record = await self._call(self._sessions.start_session, new)
        self._open_session(record)
        options = await self._list_options(record)
        return schema.NewSessionResponse(
            session_id=record.id, modes=make_modes(record), config_options=options
        )

    async def load_session(self, session_id: str, **_: Any) -> schema.LoadSessionResponse:
        """Open a session and show it from its beginning, while it may go on."""
        await self._is_following.wait()
        record = await self._call(self._sessions.get_session, session_id)
        session = self._open_session(record)
        await _translate_errors(session.replay())
        options = await self._list_options(record)
        return schema.LoadSessionResponse(modes=make_modes(record), config_options=options)

    async def list_sessions(
        self, cwd: str | None = None, cursor: str | None = None, **_: Any
    ) -> schema.ListSessionsResponse:
        """List the sessions of a folder, or all, the last used first."""
        records = await self._call(self._sessions.list_sessions)
        wanted = [
            record
            for record in records
            if record.agent == self._kind
            and not record.is_archived
            and (cwd is None or is_same_folder(record.folder, cwd))
        ]
        start = int(cursor) if cursor and cursor.isdecimal() else 0
        page, end = wanted[start : start + _PAGE_LENGTH], start + _PAGE_LENGTH
        return schema.ListSessionsResponse(
            sessions=[make_info(record) for record in page],
            next_cursor=str(end) if end < len(wanted) else None,
        )

    async def prompt(self, session_id: str, prompt: Sequence[Any], **_: Any) -> Any:
        """Send a message to the agent and answer when its turn has ended."""
        session = self._get(session_id)
        name = str(uuid.uuid4())
        running = RunningPrompt(asyncio.get_running_loop().create_future())
        session.prompts[name] = running
        try:
            new = NewMessage("\n\n".join(read_prompt(prompt)), self._actor, name)
            message = await self._call(self._sessions.send_message, session_id, new)
            running.message_id = message.id
            if running.is_cancelled:
                await self._stop(session, running)
            return schema.PromptResponse(stop_reason=await running.ended)
        finally:
            del session.prompts[name]

    async def cancel(self, session_id: str, **_: Any) -> None:
        """Stop the turn; without a prompt of ours, the one of another device."""
        session = self._get(session_id)
        if not session.prompts:
            await self._call(self._sessions.stop_turn, session_id, self._actor)
        for running in session.prompts.values():
            running.is_cancelled = True
            if running.message_id:
                await self._stop(session, running)

    async def set_session_mode(self, session_id: str, mode_id: str, **_: Any) -> None:
        """Set what the agent may do without asking."""
        if mode_id not in set(PermissionMode):
            raise RequestError.invalid_params({"details": f"there is no mode {mode_id[:80]!r}"})
        session, mode = self._get(session_id), PermissionMode(mode_id)
        record = await self._call(
            lambda: self._sessions.update_session(session.record.id, permission_mode=mode)
        )
        session.record = record

    async def set_config_option(
        self, session_id: str, config_id: str, value: object, **_: Any
    ) -> schema.SetSessionConfigOptionResponse:
        """Set the model of a session."""
        if config_id != MODEL_OPTION or not isinstance(value, str):
            raise RequestError.invalid_params({"details": "the only option is model"})
        session = self._get(session_id)
        session.record = await self._call(
            lambda: self._sessions.update_session(session.record.id, model=value)
        )
        options = await self._list_options(session.record) or []
        return schema.SetSessionConfigOptionResponse(config_options=options)

    async def _stop(self, session: EditorSession, running: RunningPrompt) -> None:
        """Take back a message that waits, else stop its turn."""
        name = session.record.id
        if not running.has_begun:
            outcome = await self._call(self._sessions.cancel_message, name, running.message_id)
            if outcome is CancelOutcome.CANCELLED:
                running.end()
                return
        await self._call(self._sessions.stop_turn, name, self._actor)

    async def _show(self, event: SyncEvent) -> None:
        if event.kind is SyncEventKind.MESSAGES_INVALIDATED and not event.session_id:
            for each in list(self._open.values()):
                await _translate_errors(each.catch_up())
        elif session := self._open.get(event.session_id):
            await session.handle(event)

    def _open_session(self, record: AgentSessionRecord) -> EditorSession:
        earlier = self._open.get(record.id)
        if earlier is not None:
            return earlier
        if self._client is None:
            raise RequestError.internal_error({"details": "there is no connection"})
        device = EditorDevice(self._client, self._actor, self._end_question)
        opened = self._open[record.id] = EditorSession(record, self._sessions, device)
        return opened

    def _get(self, session_id: str) -> EditorSession:
        if session := self._open.get(session_id):
            return session
        raise RequestError.resource_not_found(session_id)

    async def _list_options(self, record: AgentSessionRecord) -> list[Any] | None:
        """Return the choice of models; None if there is none."""
        machine = await self._call(self._sessions.get_machine)
        kind = next((each for each in machine.agents if each.name == record.agent), None)
        return make_model_option(kind, record.model) if kind and kind.models else None

    async def _call(
        self, function: Callable[Given, Result], *args: Given.args, **kwargs: Given.kwargs
    ) -> Result:
        """Call the kernel, on a thread. Raises RequestError."""
        return await _translate_errors(asyncio.to_thread(function, *args, **kwargs))


async def _translate_errors(work: Awaitable[Result]) -> Result:
    try:
        return await work
    except SessionNotFound as error:
        raise RequestError(RequestError.resource_not_found().code, str(error)) from error
    except WrongParam as error:
        raise RequestError(RequestError.invalid_params().code, str(error)) from error
    except KernelError as error:
        raise RequestError(RequestError.internal_error().code, str(error)) from error


_MODES = {
    PermissionMode.ASK: ("Ask", "Asks before it deletes or runs something."),
    PermissionMode.READ_ONLY: ("Read only", "Changes nothing: it asks before it writes, too."),
    PermissionMode.ALLOW_ALL: ("Allow all", "Asks for nothing."),
}

MODEL_OPTION = "model"


def make_modes(record: AgentSessionRecord) -> schema.SessionModeState:
    """Return the permission modes, and which one is set."""
    return schema.SessionModeState(
        current_mode_id=record.permission_mode,
        available_modes=[
            schema.SessionMode(id=mode, name=name, description=text)
            for mode, (name, text) in _MODES.items()
        ],
    )


def make_model_option(kind: AgentKind, model: str) -> list[Any]:
    """Return the choice of a model."""
    choices = [schema.SessionConfigSelectOption(value=name, name=name) for name in kind.models]
    return [
        schema.SessionConfigOptionSelect(
            id=MODEL_OPTION,
            name="Model",
            category="model",
            type="select",
            current_value=model or kind.models[0],
            options=choices,
        )
    ]


def make_info(record: AgentSessionRecord) -> schema.SessionInfo:
    """Return the entry of a session in a list."""
    updated = datetime.fromtimestamp(record.updated_at / 1000, UTC)
    return schema.SessionInfo(
        session_id=record.id,
        cwd=record.folder,
        title=record.name or None,
        updated_at=updated.isoformat(timespec="seconds"),
    )


def is_same_folder(one: str, other: str) -> bool:
    """Return whether two paths lead to one folder."""
    return os.path.realpath(one) == os.path.realpath(other)


def read_prompt(blocks: Sequence[Any]) -> Iterator[str]:
    """Yield the texts of a prompt; files that the editor hands over are part of it."""
    for block in blocks:
        match block:
            case schema.TextContentBlock(text=text):
                yield text
            case schema.ResourceContentBlock(uri=uri):
                yield uri
            case schema.EmbeddedResourceContentBlock(resource=resource):
                content = getattr(resource, "text", "")
                yield f"{resource.uri}\n```\n{content}\n```" if content else resource.uri
