"""Our own agent, with any chat model, as a backend that can be registered."""

import queue
import secrets
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from kernel.agent.context import ToolContext
from kernel.agent.danger import Asking, Danger, Permissions, Wish
from kernel.agent.growing import Growing
from kernel.agent.loop import AgentLoop
from kernel.agent.registry import Registry
from kernel.domain.cancel import CancelToken
from kernel.domain.chat import ChatBackend
from kernel.domain.content_blocks import ContentBlock, Text, ToolResult
from kernel.doors.uap.backend import OnPermission, OnUpdate, PermissionRequest
from kernel.errors import WrongParam

ALWAYS_ALLOWED = (Danger.READS, Danger.WRITES)
_TICK_SECONDS = 0.05

# The context of a new session of this id, with these permissions.
OpenContext = Callable[[str, Permissions], ToolContext]


@dataclass(slots=True)
class _Session:
    loop: AgentLoop
    cancel: CancelToken = field(default_factory=CancelToken)
    working: threading.Lock = field(default_factory=threading.Lock)


class LoopBackend:
    """``open_model`` is called once, when the backend is initialized."""

    def __init__(
        self, open_model: Callable[[], ChatBackend], registry: Registry, open_context: OpenContext
    ) -> None:
        self._open_model = open_model
        self._registry = registry
        self._open_context = open_context
        self._lock = threading.Lock()
        self._model: ChatBackend | None = None
        self._sessions: dict[str, _Session] = {}
        self._waiting: dict[str, queue.SimpleQueue[bool]] = {}
        self._on_permission: OnPermission | None = None

    def initialize(self) -> None:
        """Open the model; a second time is harmless."""
        with self._lock:
            self._model = self._model or self._open_model()

    def new_session(self) -> str:
        """Begin a session."""
        self.initialize()
        name = secrets.token_hex(4)
        permissions = Asking(ALWAYS_ALLOWED, lambda wish: self._ask(name, wish))
        context = self._open_context(name, permissions)
        with self._lock:
            assert self._model is not None  # noqa: S101 - initialized just now
            self._sessions[name] = _Session(AgentLoop(self._model, self._registry, context))
        return name

    def prompt(
        self, session: str, content: str | Sequence[ContentBlock], on_update: OnUpdate
    ) -> None:
        """Work until the last word; a second prompt waits for the first."""
        found = self._session(session)
        with found.working:
            found.cancel = CancelToken()
            growing = Growing(partial=True)
            for event in found.loop.events(_said(content), found.cancel):
                for message in growing.messages(event):
                    on_update(message)

    def cancel_prompt(self, session: str) -> None:
        """Stop what the session does now."""
        self._session(session).cancel.cancel()

    def on_permission_request(self, handler: OnPermission) -> None:
        """Ask this one."""
        self._on_permission = handler

    def respond_to_permission(self, request: str, *, allowed: bool) -> None:
        """Let whoever waits for it go on."""
        with self._lock:
            waiting = self._waiting.get(request)
        if waiting is not None:
            waiting.put(allowed)

    def disconnect(self) -> None:
        """Stop every session, end its terminals, close the model."""
        with self._lock:
            sessions, self._sessions = list(self._sessions.values()), {}
            model, self._model = self._model, None
        for session in sessions:
            session.cancel.cancel()
            with session.working:
                session.loop.context.close()
        if model is not None:
            model.close()

    def _session(self, name: str) -> _Session:
        with self._lock:
            found = self._sessions.get(name)
        if found is None:
            raise WrongParam(f"There is no session {name[:80]!r}.")
        return found

    def _ask(self, session: str, wish: Wish) -> bool:
        handler = self._on_permission
        if handler is None:
            return False
        request = PermissionRequest(secrets.token_hex(8), session, wish)
        answers: queue.SimpleQueue[bool] = queue.SimpleQueue()
        cancel = self._session(session).cancel
        with self._lock:
            self._waiting[request.id] = answers
        try:
            handler(request)
            while not cancel.cancelled:
                with suppress(queue.Empty):
                    return answers.get(timeout=_TICK_SECONDS)
            return False
        finally:
            with self._lock:
                del self._waiting[request.id]


def _said(content: str | Sequence[ContentBlock]) -> str:
    """What a person says with blocks, as one text."""
    if isinstance(content, str):
        return content
    texts = [block.text for block in content if isinstance(block, Text | ToolResult)]
    if not any(text.strip() for text in texts):
        raise WrongParam("The prompt has no text.")
    return "\n\n".join(texts)
