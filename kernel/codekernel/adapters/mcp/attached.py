"""MCP for a client of the shared kernel: its repository is open in a session, like a window's."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from codekernel.adapters.indexed_repository import IndexedRepository, OpenedIndex
from codekernel.adapters.mcp.methods import make_methods
from codekernel.adapters.mcp.repositories import McpRepositories
from codekernel.adapters.mcp.roots import RootsFollower
from codekernel.adapters.mcp.server import McpLineServer
from codekernel.adapters.mcp.tools import MCP_LIMITS, McpTools
from codekernel.agent.tool import ToolContext
from codekernel.agent.workspace.journal import ChangeJournal
from codekernel.domain.concurrency import CancelToken
from codekernel.errors import SessionNotFound, WrongParam
from codekernel.protocol.envelope import Message
from codekernel.protocol.messages.conversation import BeginConversation
from codekernel.protocol.messages.kernel import Attach
from codekernel.protocol.messages.repos import SessionCrashed, SessionPrepared
from codekernel.runtime.clients import ClientInfo, ModeClient
from codekernel.runtime.repo_folders import register_folder, require_repo_folder
from codekernel.runtime.savings import record_search
from codekernel.runtime.sessions import SessionServices, SessionSupervisor, SessionTable
from codekernel.runtime.workspace import Workspace
from codekernel.settings.local_models import choose_model
from codekernel.storage.user_data import UserData
from codekernel.storage.vault.vault import RepoRegistry
from codekernel.transport.lines import Line
from codekernel.transport.local_endpoint import LocalPipe

if TYPE_CHECKING:  # imported with the first question
    from codekernel.conversation.repository_access import RepositoryAccess
    from codekernel.conversation.turn import RunningQuestionTurn

_SESSION_ID = 1


@dataclass(frozen=True, slots=True)
class AttachedServices:
    """What a client shares with the rest of the kernel."""

    user_data: UserData
    repos: RepoRegistry
    sessions: SessionTable
    session_services: SessionServices


def attach_mcp(
    services: AttachedServices, info: ClientInfo, asked: Attach, pipe: LocalPipe
) -> ModeClient:
    """Return a client that speaks MCP about the folder it asked for. Raises WrongParam."""
    folder = Path(asked.folder or services.user_data.root)
    if not folder.is_absolute():
        raise WrongParam(f"the path of a folder must be absolute, got {asked.folder!r}")
    if not asked.folder and not asked.follow_roots:
        raise WrongParam("a folder is required unless the roots of the client are followed")
    events = _SessionEvents()
    supervisor = SessionSupervisor(services.session_services, events, services.sessions)
    server = McpLineServer(pipe)

    def serve(lines: Iterator[Line]) -> None:
        # On a thread of the repository: the handshake does not wait for it.
        wanted = threading.Event()

        def open_session() -> OpenedIndex:
            wanted.wait()
            events.require_open()
            return _open_session(services, folder, supervisor, events, pipe)

        repository = IndexedRepository(folder, open_session if asked.folder else _refuse_no_folder)
        own = _make_tools(services, repository, supervisor)
        repositories = McpRepositories(
            own if asked.folder else None,
            services.repos,
            services.session_services.workspaces,
            partial(_make_workspace_tools, services),
            wanted.set,
        )
        if not asked.follow_roots:
            wanted.set()
        roots = RootsFollower(repositories.expect_roots, repositories.set_roots)
        methods = make_methods(own, repositories)
        try:
            server.serve(methods, lines, roots if asked.follow_roots else None)
        finally:
            events.end("the client has ended")
            wanted.set()
            repository.close()

    return ModeClient(info, pipe, supervisor, serve, has_unanswered=server.has_unanswered)


class _SessionEvents:
    """What the kernel tells about the session, instead of telling a window."""

    def __init__(self) -> None:
        self._error = ""
        self._is_known = threading.Event()

    def send_confirmed(self, _session_id: int, message: Message) -> None:
        """Note that the session is prepared."""
        if isinstance(message, SessionPrepared):
            self._is_known.set()

    def send_unconfirmed(self, _session_id: int, message: Message) -> None:
        """Note that the session is gone."""
        if isinstance(message, SessionCrashed):
            self.end(message.error)

    def end(self, error: str) -> None:
        """Let nobody wait or use the session any longer."""
        self._error = self._error or error
        self._is_known.set()

    def wait_until_prepared(self) -> None:
        """Wait. Raises SessionNotFound if the session is gone."""
        self._is_known.wait()
        self.require_open()

    def require_open(self) -> None:
        """Raise SessionNotFound if the session is gone."""
        if self._error:
            raise SessionNotFound(self._error)


def _open_session(
    services: AttachedServices,
    folder: Path,
    supervisor: SessionSupervisor,
    events: _SessionEvents,
    pipe: LocalPipe,
) -> OpenedIndex:
    """Open the session of a client; its index is started by the session. Raises KernelError."""
    workspaces = services.session_services.workspaces
    repo = register_folder(folder, services.repos, workspaces, keep=False)
    require_repo_folder(repo)
    session = supervisor.open(_SESSION_ID, repo)
    session.start()
    events.wait_until_prepared()

    def get_workspace() -> Workspace:
        try:
            events.require_open()
        except SessionNotFound:
            if any(each.id == repo.id for each in services.repos.list_all()):
                pipe.close()  # it crashed, and the client attaches again; or else it was deleted
            raise
        return session.workspace

    return OpenedIndex(session.workspace.index, get_workspace=get_workspace)


def _make_tools(
    services: AttachedServices, repository: IndexedRepository, supervisor: SessionSupervisor
) -> McpTools:
    def open_access(cancel: CancelToken) -> "RepositoryAccess":
        repository.wait_for_lexical_index(cancel)
        if session := supervisor.find(_SESSION_ID):
            return session.build_repository_access()
        raise SessionNotFound("the repository is closed")

    return _build_tools(services, repository, open_access)


def _make_workspace_tools(
    services: AttachedServices, repository: IndexedRepository, workspace: Workspace
) -> McpTools:
    """Return the tools of a repository that was opened for a call."""

    def open_access(cancel: CancelToken) -> "RepositoryAccess":
        repository.wait_for_lexical_index(cancel)
        return workspace.build_repository_access(has_mirror=services.session_services.has_mirror)

    return _build_tools(services, repository, open_access)


def _build_tools(
    services: AttachedServices,
    repository: IndexedRepository,
    open_access: "Callable[[CancelToken], RepositoryAccess]",
) -> McpTools:
    # No tool writes, so the journal stays empty.
    journal = ChangeJournal.from_user_data(services.user_data.root, "mcp", repository.root)
    context = ToolContext(repository.root, journal, limits=MCP_LIMITS)
    record = partial(record_search, services.user_data)
    return McpTools(repository, partial(_begin_turn, open_access, services), context, record)


def _refuse_no_folder() -> OpenedIndex:
    raise WrongParam("codekernel was started outside of a project")


@contextmanager
def _begin_turn(
    open_access: "Callable[[CancelToken], RepositoryAccess]",
    services: AttachedServices,
    question: str,
    model: str | None,
    cancel: CancelToken,
) -> "Iterator[RunningQuestionTurn]":
    """Begin a turn of a new conversation, with the settings as they are now. Raises KernelError."""
    access, shared = open_access(cancel), services.session_services
    name = choose_model(shared.settings.current, model)
    conversations = shared.conversations()
    number = time.time_ns() // 1_000_000
    asked = BeginConversation(model_name=name, conversation_id=number, query=question)
    yield conversations.begin(asked, access, cancel)
