"""Backends of document 004 for other programs: our agent loop with any chat model, or Ollama's.

``codekernel.sync.agents`` has the interface and the registry.
"""

import secrets
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from codekernel.agent.agent_thread import AgentMessageStream, PermissionPrompt
from codekernel.agent.loop import AgentLoop
from codekernel.agent.registry import ToolRegistry
from codekernel.agent.tool import ToolContext
from codekernel.agent.tool_policy import (
    DEFAULT_ALLOWED_PERMISSIONS,
    AskUserPolicy,
    PermissionPolicy,
    PermissionReply,
    ToolPermissionRequest,
)
from codekernel.domain import chat
from codekernel.domain.chat import ChatBackend, ContentBlock
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.settings import GenerationModel
from codekernel.domain.turn_events import TurnFailed
from codekernel.errors import WrongParam
from codekernel.llm.remote_backend import open_remote_backend
from codekernel.sync.agents import AgentUpdate, BackendPermission, McpServerCommand

OnPermission = Callable[[BackendPermission], None]

# Opens the context of a new session by its id, its folder and its permissions.
ContextFactory = Callable[[str, Path, PermissionPolicy], ToolContext]


@dataclass(slots=True)
class _LoopSession:
    loop: AgentLoop
    cancel: CancelToken = field(default_factory=CancelToken)
    prompt_lock: threading.Lock = field(default_factory=threading.Lock)


@dataclass
class LoopBackend:
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

    def initialize(self) -> None:
        """Open the model, if it is not open. Raises KernelError."""
        self._get_model()

    def new_session(self, folder: Path, _mcp_servers: Sequence[McpServerCommand] = ()) -> str:
        """Begin a session in a folder and return its id."""
        model = self._get_model()
        name = secrets.token_hex(4)
        permissions = AskUserPolicy(
            DEFAULT_ALLOWED_PERMISSIONS,
            lambda request: self._ask_permission(name, request),
        )
        context = self._open_context(name, folder, permissions)
        with self._lock:
            self._sessions[name] = _LoopSession(AgentLoop(model, self._registry, context))
        return name

    def load_session(
        self, session: str, _folder: Path, _mcp_servers: Sequence[McpServerCommand] = ()
    ) -> bool:
        """Return whether the session is one of this process; no other can be gone on with."""
        with self._lock:
            return session in self._sessions

    def prompt(
        self,
        session: str,
        text: str | Sequence[ContentBlock],
        on_update: Callable[[AgentUpdate], None],
    ) -> str:
        """Run the agent until it has answered, and return why it ended.

        A failure is its last message. A second prompt waits for the first. Raises KernelError.
        """
        found = self._get_session(session)
        with found.prompt_lock:
            found.cancel = CancelToken()
            stream = AgentMessageStream(partial=True)
            reason = "end_turn"
            for event in found.loop.run(_join_prompt_text(text), found.cancel):
                for message in stream.feed(event):
                    on_update(message)
                if isinstance(event, TurnFailed):
                    reason = "cancelled" if found.cancel.is_cancelled else "failed"
            return reason

    def cancel_prompt(self, session: str) -> None:
        """Stop the running prompt of the session, if there is one."""
        self._get_session(session).cancel.cancel()

    def on_permission_request(self, handler: OnPermission) -> None:
        """Set who is asked for permissions; without a handler they are refused."""
        self._on_permission = handler

    def respond_to_permission(
        self,
        permission_id: str,
        *,
        allowed: bool,
        option_id: str = "",  # noqa: ARG002 - it has none
    ) -> None:
        """Answer a permission; one that is no longer waited for is ignored."""
        with self._lock:
            waiting = self._pending_permissions.get(permission_id)
        if waiting is not None:
            waiting.answer(PermissionReply(allowed))

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

    def _get_model(self) -> ChatBackend:
        with self._lock:
            self._model = self._model or self._open_model()
            return self._model

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
        given = tool_request.arguments
        request = BackendPermission(
            secrets.token_hex(8),
            session,
            tool_request.tool,
            given if isinstance(given, dict) else {"input": given},
            tool_request.permission,
        )
        prompt = PermissionPrompt(tool_request)
        cancel = self._get_session(session).cancel
        with self._lock:
            self._pending_permissions[request.id] = prompt
        try:
            handler(request)
            return prompt.wait(cancel).allowed
        finally:
            with self._lock:
                del self._pending_permissions[request.id]


def _join_prompt_text(content: str | Sequence[ContentBlock]) -> str:
    """Join the text blocks of a prompt."""
    blocks = (chat.TextContent(content),) if isinstance(content, str) else content
    texts = [
        block.text
        for block in blocks
        if isinstance(block, chat.TextContent | chat.ToolResultContent)
    ]
    if not any(text.strip() for text in texts):
        raise WrongParam("The prompt has no text.")
    return "\n\n".join(texts)


DEFAULT_OLLAMA_URL = "http://127.0.0.1:11434"

_OLLAMA_CHAT_PATH = "/api/chat"

# Bytes per token of a model whose tokenizer is unknown; rather too few than too many.
_BYTES_PER_TOKEN = 3


class OllamaBackend(LoopBackend):
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
