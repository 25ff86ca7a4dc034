"""The backends of document 004: our agent loop with any chat model, Ollama, and a registry."""

import secrets
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from codekernel.agent import tool_policy
from codekernel.agent.agent_thread import AgentMessageStream, PermissionPrompt
from codekernel.agent.loop import AgentLoop
from codekernel.agent.registry import ToolRegistry
from codekernel.agent.tool import ToolContext
from codekernel.agent.tool_policy import PermissionPolicy, ToolPermissionRequest
from codekernel.domain import chat
from codekernel.domain.chat import AgentMessage, ChatBackend, ContentBlock
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.settings import GenerationModel
from codekernel.errors import WrongParam
from codekernel.llm.remote_backend import open_remote_backend

# Called with each message; a growing one is repeated, longer, under the same id.
OnUpdate = Callable[[AgentMessage], None]


@dataclass(frozen=True, slots=True)
class PermissionRequest:
    """A permission that an agent waits for; it is answered by its id."""

    id: str
    session: str
    tool_request: ToolPermissionRequest


OnPermission = Callable[[PermissionRequest], None]


# Opens the context of a new session by its id and its permissions.
ContextFactory = Callable[[str, PermissionPolicy], ToolContext]


@dataclass(slots=True)
class _LoopSession:
    loop: AgentLoop
    cancel: CancelToken = field(default_factory=CancelToken)
    prompt_lock: threading.Lock = field(default_factory=threading.Lock)


@dataclass
class AgentBackend:
    """An agent with any number of sessions, usable from several threads.

    ``_open_model`` is called once, when the backend is initialized.
    """

    _open_model: Callable[[], ChatBackend]
    _registry: ToolRegistry
    _open_context: ContextFactory
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _model: ChatBackend | None = None
    _sessions: dict[str, _LoopSession] = field(default_factory=dict)
    _pending_permissions: dict[str, PermissionPrompt] = field(default_factory=dict)
    _on_permission: OnPermission | None = None

    def initialize(self) -> ChatBackend:
        """Open the model, if it is not open. Raises KernelError."""
        with self._lock:
            self._model = self._model or self._open_model()
            return self._model

    def new_session(self) -> str:
        """Begin a session and return its id."""
        model = self.initialize()
        name = secrets.token_hex(4)
        permissions = tool_policy.AskUserPolicy(
            tool_policy.DEFAULT_ALLOWED_PERMISSIONS,
            lambda request: self._ask_permission(name, request),
        )
        context = self._open_context(name, permissions)
        with self._lock:
            self._sessions[name] = _LoopSession(AgentLoop(model, self._registry, context))
        return name

    def prompt(
        self, session: str, content: str | Sequence[ContentBlock], on_update: OnUpdate
    ) -> None:
        """Run the agent until it has answered; a second prompt waits for the first.

        Raises KernelError.
        """
        found = self._get_session(session)
        with found.prompt_lock:
            found.cancel = CancelToken()
            stream = AgentMessageStream(partial=True)
            for event in found.loop.run(_join_prompt_text(content), found.cancel):
                for message in stream.feed(event):
                    on_update(message)

    def cancel_prompt(self, session: str) -> None:
        """Stop the running prompt of the session, if there is one."""
        self._get_session(session).cancel.cancel()

    def on_permission_request(self, handler: OnPermission) -> None:
        """Set who is asked for permissions; without a handler they are refused."""
        self._on_permission = handler

    def respond_to_permission(self, request: str, *, allowed: bool) -> None:
        """Answer a permission request; one that is no longer waited for is ignored."""
        with self._lock:
            waiting = self._pending_permissions.get(request)
        if waiting is not None:
            waiting.answer(allowed=allowed)

    def disconnect(self) -> None:
        """Stop every session, close its terminals and the model."""
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
    """Join the text blocks of a prompt."""
    if isinstance(content, str):
        return content
    texts = [
        block.text
        for block in content
        if isinstance(block, chat.TextContent | chat.ToolResultContent)
    ]
    if not any(text.strip() for text in texts):
        raise WrongParam("The prompt has no text.")
    return "\n\n".join(texts)


DEFAULT_OLLAMA_URL = "http://127.0.0.1:11434"

_OLLAMA_CHAT_PATH = "/api/chat"

# Bytes per token of a model whose tokenizer is unknown; rather too few than too many.
_BYTES_PER_TOKEN = 3


class OllamaBackend(AgentBackend):
    """A backend with a model of Ollama, whose tool calls may also be written as text."""

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
    chat_url = url.rstrip("/").removesuffix(_OLLAMA_CHAT_PATH) + _OLLAMA_CHAT_PATH
    settings = GenerationModel("ollama", model, chat_url, needs_key=False)
    return open_remote_backend(settings, "", _estimate_tokens)


def _estimate_tokens(text: str) -> int:
    return len(text.encode(errors="replace")) // _BYTES_PER_TOKEN + 1


BackendFactory = Callable[[], AgentBackend]


class BackendRegistry:
    """Creates agents by their type: ``register("ollama", ...)``, then ``create("ollama")``."""

    def __init__(self) -> None:
        self._factories: dict[str, BackendFactory] = {}

    def register(self, kind: str, factory: BackendFactory) -> None:
        """Register an agent type; a later registration replaces an earlier one."""
        if not kind.strip():
            raise WrongParam("An agent needs a type to be registered under.")
        self._factories[kind] = factory

    # The document's name for it.
    register_backend = register

    @property
    def kinds(self) -> list[str]:
        """The registered types, in the order of their registration."""
        return list(self._factories)

    def create(self, kind: str) -> AgentBackend:
        """Create an agent of a type. Raises WrongParam if it is not registered."""
        factory = self._factories.get(kind)
        if factory is None:
            known = ", ".join(self.kinds) or "none"
            raise WrongParam(f"No agent of type {kind[:80]!r} is registered; there are: {known}.")
        return factory()
