"""An agent whose turns are scripted, and an engine that runs it."""

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from codekernel.domain.agent_sessions import (
    Actor,
    AgentKind,
    AgentSessionRecord,
    Device,
    NewMessage,
    NewSession,
    SessionMessage,
    SyncEvent,
)
from codekernel.domain.chat import ROLE_ASSISTANT, AgentMessage, TextContent
from codekernel.errors import KernelError
from codekernel.sync.agents import (
    AgentRegistry,
    AgentUpdate,
    BackendPermission,
    McpServerCommand,
)
from codekernel.sync.database import SyncFolder
from codekernel.sync.engine import EngineServices, SyncEngine

WAIT_SECONDS = 60.0
PHONE = Actor(Device.LARK, "Ann")
DESK = Actor(Device.PAGE, "Bob")
KIND = "scripted"


def says(text: str, **meta: Any) -> AgentMessage:
    return AgentMessage(ROLE_ASSISTANT, (TextContent(text),), meta)


@dataclass
class ScriptedAgent:
    """Answers each prompt with ``turn``, by default with the prompt itself."""

    turn: Callable[["ScriptedTurn"], object] = lambda turn: turn.say(f"did {turn.text}")
    prompts: list[tuple[str, str]] = field(default_factory=list)
    can_load: bool = True
    loaded: list[str] = field(default_factory=list)
    responses: list[tuple[str, bool, str]] = field(default_factory=list)
    _session_count: int = 0
    _handler: Callable[[BackendPermission], None] | None = None
    _answers: dict[str, "queue.SimpleQueue[bool]"] = field(default_factory=dict)
    _cancelled: dict[str, threading.Event] = field(default_factory=dict)

    def initialize(self) -> None: ...

    def new_session(self, _folder: Path, _servers: Sequence[McpServerCommand] = ()) -> str:
        self._session_count += 1
        return f"own-{self._session_count}"

    def load_session(
        self, session: str, _folder: Path, _servers: Sequence[McpServerCommand] = ()
    ) -> bool:
        self.loaded.append(session)
        return self.can_load

    def prompt(self, session: str, text: str, on_update: Callable[[AgentUpdate], None]) -> str:
        self.prompts.append((session, text))
        cancelled = self._cancelled[session] = threading.Event()
        self.turn(ScriptedTurn(self, session, text, on_update, cancelled))
        return "cancelled" if cancelled.is_set() else "end_turn"

    def cancel_prompt(self, session: str) -> None:
        if session in self._cancelled:
            self._cancelled[session].set()
        for answers in list(self._answers.values()):
            answers.put(False)  # noqa: FBT003 - the answer

    def on_permission_request(self, handler: Callable[[BackendPermission], None]) -> None:
        self._handler = handler

    def respond_to_permission(self, permission_id: str, *, allowed: bool, option_id: str) -> None:
        self.responses.append((permission_id, allowed, option_id))
        self._answers[permission_id].put(allowed)

    def disconnect(self) -> None: ...

    def ask(self, permission: BackendPermission) -> bool:
        answers = self._answers[permission.id] = queue.SimpleQueue()
        if self._handler is None:
            raise KernelError("nobody can be asked")
        self._handler(permission)
        return answers.get(timeout=WAIT_SECONDS)


@dataclass(frozen=True)
class ScriptedTurn:
    agent: ScriptedAgent
    session: str
    text: str
    update: Callable[[AgentUpdate], None]
    cancelled: threading.Event

    def say(self, text: str, **meta: Any) -> None:
        self.update(says(text, **meta))

    def ask(self, name: str = "p1", **fields: Any) -> bool:
        return self.agent.ask(
            BackendPermission(name, self.session, "run_command", {"command": "ls"}, **fields)
        )


@dataclass
class EngineWorld:
    """An engine over a folder, with everything it has told so far."""

    engine: SyncEngine
    agent: ScriptedAgent
    folder: Path
    events: "queue.SimpleQueue[SyncEvent]" = field(default_factory=queue.SimpleQueue)

    def start(self, **fields: Any) -> AgentSessionRecord:
        new = NewSession(folder=str(self.folder), actor=PHONE, agent=KIND, **fields)
        return self.engine.start_session(new)

    def send(self, session_id: str, text: str, local_id: str = "") -> SessionMessage:
        return self.engine.send_message(session_id, NewMessage(text, PHONE, local_id))

    def wait_for(self, accepts: Callable[[SyncEvent], bool]) -> SyncEvent:
        while True:
            event = self.events.get(timeout=WAIT_SECONDS)
            if accepts(event):
                return event

    def wait_until_idle(self, session_id: str) -> None:
        """Wait for the end of the present turns of a session."""
        while (now := self.engine.get_session(session_id)).is_thinking or now.queued_count:
            self.events.get(timeout=WAIT_SECONDS)

    def wait_for_permission(self, session_id: str) -> None:
        self.wait_for(
            lambda it: (
                it.session_id == session_id
                and it.session is not None
                and bool(it.session.pending_permissions)
            )
        )

    def list_texts(self, session_id: str) -> list[str]:
        return [text_of(each) for each in self.engine.read_messages(session_id).messages]


def text_of(message: SessionMessage) -> str:
    return "".join(it.text for it in message.message.content if isinstance(it, TextContent))


def list_no_servers(folder: Path) -> Sequence[McpServerCommand]:
    return ()


def make_services(agent: ScriptedAgent, folder: Path, **changes: Any) -> EngineServices:
    registry = AgentRegistry()
    registry.register(KIND, lambda: agent)
    return EngineServices(
        registry=registry,
        list_kinds=lambda: (AgentKind(KIND, "Scripted", is_own=False),),
        list_folders=lambda: (str(folder),),
        open_folder=Path,
        build_mcp_servers=list_no_servers,
        **changes,
    )


@contextmanager
def open_world(
    user_data: Path, agent: ScriptedAgent | None = None, **changes: Any
) -> Iterator[EngineWorld]:
    agent = agent or ScriptedAgent()
    folder = user_data.parent / "repo"
    folder.mkdir(exist_ok=True)
    engine = SyncEngine(SyncFolder(user_data / "agent"), make_services(agent, folder, **changes))
    world = EngineWorld(engine, agent, folder)
    engine.subscribe(world.events.put)
    try:
        yield world
    finally:
        engine.close()
