"""Agents that can be registered by type.

The backend protocol, our agent loop as a backend, the Ollama backend and the registry.
"""

import secrets
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from codekernel.agent.agent_thread import PermissionPrompt
from codekernel.agent.loop import AgentLoop
from codekernel.agent.message_stream import AgentMessageStream
from codekernel.agent.registry import ToolRegistry
from codekernel.agent.tool import ToolContext
from codekernel.agent.tool_policy import (
    DEFAULT_ALLOWED_PERMISSIONS,
    AskUserPolicy,
    PermissionPolicy,
    ToolPermissionRequest,
)
from codekernel.domain.chat import (
    AgentMessage,
    ChatBackend,
    ContentBlock,
    TextContent,
    ToolResultContent,
)
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.settings import GenerationModel
from codekernel.errors import WrongParam

# Called with each message; a growing one comes again under the same id, longer.
OnUpdate = Callable[[AgentMessage], None]


@dataclass(frozen=True, slots=True)
class PermissionRequest:
    """An agent waits until somebody responds to this id."""

    id: str
    session: str
    tool_request: ToolPermissionRequest


OnPermission = Callable[[PermissionRequest], None]


class AgentBackend(Protocol):
    """An agent with any number of sessions; safe to use from several threads."""

    def initialize(self) -> None:
        """Get ready; raises KernelError if that is not possible."""

    def new_session(self) -> str:
        """Begin a session; its id."""

    def prompt(
        self, session: str, content: str | Sequence[ContentBlock], on_update: OnUpdate
    ) -> None:
        """Work until the answer is complete; every message is told. Raises KernelError."""

    def cancel_prompt(self, session: str) -> None:
        """End what the session does now; nothing happens if it does nothing."""

    def on_permission_request(self, handler: OnPermission) -> None:
        """Tell this one when something dangerous is wanted; without one it is refused."""

    def respond_to_permission(self, request: str, *, allowed: bool) -> None:
        """Answer a request; one that nobody waits for any more is ignored."""

    def disconnect(self) -> None:
        """End everything and give back what it holds."""


# The context of a new session of this id, with these permissions.
ContextFactory = Callable[[str, PermissionPolicy], ToolContext]


@dataclass(slots=True)
class _LoopSession:
    loop: AgentLoop
    cancel: CancelToken = field(default_factory=CancelToken)
    prompt_lock: threading.Lock = field(default_factory=threading.Lock)


class AgentLoopBackend:
    """``open_model`` is called once, when the backend is initialized."""

    def __init__(
        self,
        open_model: Callable[[], ChatBackend],
        registry: ToolRegistry,
        open_context: ContextFactory,
    ) -> None:
        self._open_model = open_model
        self._registry = registry
        self._open_context = open_context
        self._lock = threading.Lock()
        self._model: ChatBackend | None = None
        self._sessions: dict[str, _LoopSession] = {}
        self._pending_permissions: dict[str, PermissionPrompt] = {}
        self._on_permission: OnPermission | None = None

    def initialize(self) -> None:
        """Open the model; a second time is harmless."""
        with self._lock:
            self._model = self._model or self._open_model()

    def new_session(self) -> str:
        """Begin a session."""
        self.initialize()
        name = secrets.token_hex(4)
        permissions = AskUserPolicy(
            DEFAULT_ALLOWED_PERMISSIONS, lambda request: self._ask_permission(name, request)
        )
        context = self._open_context(name, permissions)
        with self._lock:
            assert self._model is not None  # noqa: S101 - initialized just now
            self._sessions[name] = _LoopSession(AgentLoop(self._model, self._registry, context))
        return name

    def prompt(
        self, session: str, content: str | Sequence[ContentBlock], on_update: OnUpdate
    ) -> None:
        """Work until the last word; a second prompt waits for the first."""
        found = self._get_session(session)
        with found.prompt_lock:
            found.cancel = CancelToken()
            growing = AgentMessageStream(partial=True)
            for event in found.loop.run(_join_prompt_text(content), found.cancel):
                for message in growing.feed(event):
                    on_update(message)

    def cancel_prompt(self, session: str) -> None:
        """Stop what the session does now."""
        self._get_session(session).cancel.cancel()

    def on_permission_request(self, handler: OnPermission) -> None:
        """Ask this one."""
        self._on_permission = handler

    def respond_to_permission(self, request: str, *, allowed: bool) -> None:
        """Let whoever waits for it go on."""
        with self._lock:
            waiting = self._pending_permissions.get(request)
        if waiting is not None:
            waiting.answer(allowed=allowed)

    def disconnect(self) -> None:
        """Stop every session, end its terminals, close the model."""
        with self._lock:
            sessions, self._sessions = list(self._sessions.values()), {}
            model, self._model = self._model, None
        for session in sessions:
            session.cancel.cancel()
            with session.prompt_lock:
                session.loop.context.close()
        if model is not None:
            model.close()

    def _get_session(self, name: str) -> _LoopSession:
        with self._lock:
            found = self._sessions.get(name)
        if found is None:
            raise WrongParam(f"There is no session {name[:80]!r}.")
        return found

    def _ask_permission(self, session: str, tool_request: ToolPermissionRequest) -> bool:
        handler = self._on_permission
        if handler is None:
            return False
        request = PermissionRequest(secrets.token_hex(8), session, tool_request)
        prompt = PermissionPrompt(tool_request)
        cancel = self._get_session(session).cancel
        with self._lock:
            self._pending_permissions[request.id] = prompt
        try:
            handler(request)
            return prompt.wait(cancel)
        finally:
            with self._lock:
                del self._pending_permissions[request.id]


def _join_prompt_text(content: str | Sequence[ContentBlock]) -> str:
    """What a person says with blocks, as one text."""
    if isinstance(content, str):
        return content
    texts = [block.text for block in content if isinstance(block, TextContent | ToolResultContent)]
    if not any(text.strip() for text in texts):
        raise WrongParam("The prompt has no text.")
    return "\n\n".join(texts)


DEFAULT_OLLAMA_URL = "http://127.0.0.1:11434"

_OLLAMA_CHAT_PATH = "/api/chat"

# Bytes of a token, for a model whose tokenizer nobody has here; rather too few than too many.
_BYTES_PER_TOKEN = 3


class OllamaBackend(AgentLoopBackend):
    """Models that call tools do; the others write their calls as text, which is read as such."""

    def __init__(
        self,
        model: str,
        registry: ToolRegistry,
        open_context: ContextFactory,
        *,
        url: str = DEFAULT_OLLAMA_URL,
    ) -> None:
        super().__init__(lambda: _open_ollama_model(model, url), registry, open_context)


def _open_ollama_model(model: str, url: str) -> ChatBackend:
    from codekernel.llm.backends import open_remote_backend  # noqa: PLC0415 - heavy, seldom needed

    chat = (
        url
        if url.rstrip("/").endswith(_OLLAMA_CHAT_PATH)
        else f"{url.rstrip('/')}{_OLLAMA_CHAT_PATH}"
    )
    return open_remote_backend(
        GenerationModel("ollama", model, chat, needs_key=False), "", _estimate_tokens
    )


def _estimate_tokens(text: str) -> int:
    return len(text.encode(errors="replace")) // _BYTES_PER_TOKEN + 1


BackendFactory = Callable[[], AgentBackend]


class BackendRegistry:
    """``register("ollama", lambda: OllamaBackend(...))``, then ``create("ollama")``."""

    def __init__(self) -> None:
        self._factories: dict[str, BackendFactory] = {}

    def register(self, kind: str, factory: BackendFactory) -> None:
        """Make an agent known; a later one of the same type takes its place."""
        if not kind.strip():
            raise WrongParam("An agent needs a type to be registered under.")
        self._factories[kind] = factory

    # The document's name for it.
    register_backend = register

    @property
    def kinds(self) -> list[str]:
        """The types, in the order in which they came."""
        return list(self._factories)

    def create(self, kind: str) -> AgentBackend:
        """A new agent of a type. Raises WrongParam if nobody has registered it."""
        factory = self._factories.get(kind)
        if factory is None:
            known = ", ".join(self.kinds) or "none"
            raise WrongParam(f"No agent of type {kind[:80]!r} is registered; there are: {known}.")
        return factory()
