"""Set up one agent run for the command line.

Chat model, usage ledger, tools, permissions, session, and cancelling on Ctrl-C or SIGTERM.
"""

import argparse
import logging
import os
import signal
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from codekernel.adapters.tricode import select_tools
from codekernel.agent.agent_thread import AgentThread, PermissionPrompt
from codekernel.agent.loop import MAX_AGENT_ROUNDS, AgentLoop
from codekernel.agent.session_file import AgentSession
from codekernel.agent.session_store import AgentSessionStore
from codekernel.agent.tool import ToolContext
from codekernel.agent.tool_policy import (
    DEFAULT_ALLOWED_PERMISSIONS,
    AllowListPolicy,
    AskUserPolicy,
    PermissionPolicy,
    ToolPermission,
    ToolPermissionRequest,
)
from codekernel.agent.tools.toolsets import build_agent_tools, build_all_tools
from codekernel.agent.workspace.journal import ChangeJournal
from codekernel.agent.workspace.root import WorkspaceRoot
from codekernel.cli.model_selection import choose_model, load_settings_and_plan
from codekernel.conversation.chat_services import DEFAULT_OPENERS, count_tokens
from codekernel.domain.call_graph import CallChainQuery, CallChainResult
from codekernel.domain.chat import ChatBackend
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.index import Hit
from codekernel.domain.settings import Settings
from codekernel.domain.turn import TokenUsage
from codekernel.domain.turn_events import LoopEvent, TokensCounted
from codekernel.errors import ApiKeyNotFound, KernelError, NetworkError, WrongParam
from codekernel.indexing.index_plan import IndexPlan
from codekernel.llm.model_pool import ChatModelPool
from codekernel.storage.user_data import UserData, open_user_data
from codekernel.storage.vault.tables import ApiKeys, RepoRegistry, UsageLedger
from codekernel.storage.vault.vault import CommandVault, Vault


def follow_agent(
    thread: AgentThread, events: Iterator[LoopEvent], cancel: CancelToken
) -> Generator[LoopEvent | PermissionPrompt | None, None, None]:
    """What happens, until the end; None while nothing does, several times a second.

    The first Ctrl-C or SIGTERM stops the agent, the second one raises KeyboardInterrupt. To be
    closed, which stops an agent at work.
    """
    with _catch_signals(thread.wake) as noticed, closing(thread.follow(events)) as coming:
        for event in coming:
            if noticed.is_set():
                cancel.cancel()
            yield event


@contextmanager
def _catch_signals(wake: Callable[[], None]) -> Iterator[threading.Event]:
    """Signals set the event; the handler does no more, for it may run while a lock is held."""
    noticed = threading.Event()

    def notice(_number: int, _frame: FrameType | None) -> None:
        if noticed.is_set():
            raise KeyboardInterrupt
        noticed.set()
        wake()

    before = {number: signal.signal(number, notice) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield noticed
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


logger = logging.getLogger(__name__)


class AgentUsageRecorder:
    """Enters what an agent's requests cost; of an unregistered folder nothing is kept."""

    def __init__(self, vault: Vault, folder: Path, model_name: str) -> None:
        self._vault = vault
        self._folder = folder
        self._model_name = model_name
        self._repo_id: int | None = None
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="usage")
        self._pool.submit(self._find_repository)

    def record_event(self, event: LoopEvent) -> None:
        """Note what a request has cost."""
        if isinstance(event, TokensCounted) and event.spent != TokenUsage():
            self._pool.submit(self._record_usage, event.spent)

    def close(self) -> None:
        """Wait until everything is entered."""
        self._pool.shutdown(wait=True)

    def _find_repository(self) -> None:
        try:
            repos = RepoRegistry(self._vault).list_all()
        except KernelError as error:
            logger.warning("what the agent costs is not entered. %s", error)
            return
        for repo in repos:
            if os.path.realpath(repo.path) == os.fspath(self._folder):
                self._repo_id = repo.id

    def _record_usage(self, spent: TokenUsage) -> None:
        if self._repo_id is None:
            return
        today = datetime.now(UTC).astimezone().date()
        try:
            UsageLedger(self._vault).record(
                self._repo_id, self._model_name, today, spent.input_tokens, spent.output_tokens
            )
        except KernelError as error:
            logger.warning("what the agent cost is not entered. %s", error)


@contextmanager
def open_chat_model(
    user_data: UserData, settings: Settings, model_name: str | None, root: Path
) -> Iterator[tuple[ChatBackend, int | None, Callable[[LoopEvent], None]]]:
    """The model and its window, if the settings say it, for as long as the block lasts.

    The last value takes the agent's events and enters their cost for the repository at ``root``.
    Raises NetworkError with what to do.
    """
    name = choose_model(settings, model_name, user_data.settings_file)
    # A vault that is not there is not made for a key that cannot be in it.
    has_vault = user_data.database_file.exists()
    with closing(CommandVault(user_data, os.environ)) as vault:
        keys = ApiKeys(vault)

        def key_of(model: str) -> str:
            if not has_vault:
                raise ApiKeyNotFound(f"there is no API key for {model!r}")
            return keys.get(model)

        with closing(ChatModelPool(lambda: settings, key_of, DEFAULT_OPENERS)) as models:
            try:
                choice = models.find_model(name)
            except NetworkError as error:
                if isinstance(error.__cause__, ApiKeyNotFound):
                    raise NetworkError(
                        f'there is no API key for the chat model "{name}".'
                        f" Store it with: codekernel key set {name}"
                    ) from error
                raise
            with models.acquire(choice) as backend:
                if not has_vault:  # and so no repository
                    yield backend, choice.context_tokens, lambda _event: None
                    return
                with closing(AgentUsageRecorder(vault, root, backend.model_name)) as usage:
                    yield backend, choice.context_tokens, usage.record_event


if TYPE_CHECKING:
    from codekernel.cli.agent_search import AgentSearch

AskPermission = Callable[[ToolPermissionRequest], bool]


@dataclass(frozen=True, slots=True)
class PreparedAgent:
    """An agent that can begin; ``unknown`` are tools that were asked for and do not exist."""

    loop: AgentLoop
    session: AgentSession
    is_resumed: bool
    unknown_tools: Sequence[str]
    _record_usage: Callable[[LoopEvent], None]

    def run(self, prompt: str, cancel: CancelToken) -> Iterator[LoopEvent]:
        """Run the agent, and enter what it costs."""
        for event in self.loop.run(prompt, cancel):
            self._record_usage(event)
            yield event


@contextmanager
def prepare_agent(
    args: argparse.Namespace, cancel: CancelToken, ask_permission: AskPermission | None
) -> Iterator[PreparedAgent]:
    """Everything for one run. Raises KernelError. Without ``ask`` nobody can be asked."""
    if not " ".join(args.prompt).strip():
        raise WrongParam("The prompt is empty: say what is to be done.")
    root = _open_root(args.root)
    user_data = open_user_data(args.user_data, os.environ)
    sessions = AgentSessionStore(user_data.root)
    session = _open_session(sessions, args.resume, root.folder)
    registry, unknown = select_tools(build_agent_tools(), build_all_tools(), args.tools)
    settings, plan = load_settings_and_plan(user_data.settings_file)
    with ExitStack() as held:
        held.enter_context(sessions.lock(session))
        lent = open_chat_model(user_data, settings, args.model, root.folder)
        backend, window, record_usage = held.enter_context(lent)
        # Loaded while the model reads: whoever stops the agent must not wait for it.
        threading.Thread(target=count_tokens, args=("",), name="tokenizer", daemon=True).start()
        index = held.enter_context(closing(_LazyAgentSearch(root.folder, user_data, plan, cancel)))
        context = ToolContext(
            root,
            ChangeJournal.from_user_data(user_data.root, session.id, root),
            permissions=_make_permissions(args.allow, ask_permission),
            search=index.search,
            call_chain=index.calls,
            plan=session.plan,
        )
        held.enter_context(closing(context))
        keeper = sessions.open_writer(session)
        loop = AgentLoop(
            backend,
            registry,
            context,
            session.transcript,
            save=keeper.save,
            flush=keeper.flush,
            max_rounds=args.rounds or MAX_AGENT_ROUNDS,
            context_tokens=window,
        )
        yield PreparedAgent(loop, session, bool(args.resume), unknown, record_usage)


def _open_root(folder: str) -> WorkspaceRoot:
    if not Path(folder).is_dir():
        raise WrongParam(f"{folder} is no folder: --root must be the folder to work in.")
    return WorkspaceRoot.from_path(Path(folder))


def _open_session(sessions: AgentSessionStore, resumed: str | None, folder: Path) -> AgentSession:
    if not resumed:
        return sessions.create(folder)
    session = sessions.load(resumed)
    if session.root != folder:
        raise KernelError(
            f"The session {session.id} is about another folder: resume it there, or say"
            f" --root {session.root}"
        )
    return session


def _make_permissions(
    allowed: Sequence[str], ask_permission: AskPermission | None
) -> PermissionPolicy:
    dangers = (*DEFAULT_ALLOWED_PERMISSIONS, *map(ToolPermission, allowed))
    return AskUserPolicy(dangers, ask_permission) if ask_permission else AllowListPolicy(dangers)


class _LazyAgentSearch:
    """Our ranked search and call chains, whose rooms are heavy and loaded when first asked."""

    def __init__(
        self, root: Path, user_data: UserData, plan: IndexPlan, cancel: CancelToken
    ) -> None:
        self._search_arguments = (root, user_data.folder_index_folder(root), plan, cancel)
        self._resources = ExitStack()
        self._agent_search: AgentSearch | None = None

    def search(self, query: str, limit: int) -> Sequence[Hit]:
        """The best places. Raises Cancelled, StorageError."""
        return self._get_agent_search()(query, limit)

    def calls(
        self, question: CallChainQuery, cancel: CancelToken, seconds: float
    ) -> CallChainResult:
        """Who calls what. Raises Cancelled, StorageError."""
        return self._get_agent_search().calls(question, cancel, seconds)

    def close(self) -> None:
        """Let the index go, if there was one."""
        self._resources.close()

    def _get_agent_search(self) -> "AgentSearch":
        if self._agent_search is None:
            from codekernel.cli.agent_search import AgentSearch  # noqa: PLC0415 - heavy, seldom needed

            self._agent_search = self._resources.enter_context(
                closing(AgentSearch(*self._search_arguments))
            )
        return self._agent_search
