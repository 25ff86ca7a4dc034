"""Set up one agent run for the command line: chat model, usage ledger, tools, session, signals."""

import argparse
import logging
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from codekernel.adapters.tricode import select_tools
from codekernel.agent import tool_policy
from codekernel.agent.loop import MAX_AGENT_ROUNDS, AgentLoop
from codekernel.agent.session_file import AgentSession
from codekernel.agent.session_store import AgentSessionStore
from codekernel.agent.tool import ToolContext
from codekernel.agent.tool_policy import PermissionPolicy, ToolPermissionRequest
from codekernel.agent.tools.toolsets import build_agent_tools, build_all_tools
from codekernel.agent.workspace.journal import ChangeJournal
from codekernel.agent.workspace.root import WorkspaceRoot
from codekernel.cli.model_selection import load_settings_and_plan
from codekernel.conversation.chat_services import ChatServices
from codekernel.conversation.conversations import count_tokens
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.turn import TokenUsage
from codekernel.domain.turn_events import LoopEvent, TokensCounted
from codekernel.errors import KernelError, WrongParam
from codekernel.settings.chat_models import choose_model
from codekernel.storage.user_data import open_user_data
from codekernel.storage.vault.vault import RepoRegistry, UsageLedger, Vault

if TYPE_CHECKING:
    from codekernel.cli.agent_search import AgentSearch

logger = logging.getLogger(__name__)

AskPermission = Callable[[ToolPermissionRequest], bool]


class AgentUsageRecorder:
    """Records the tokens an agent used; nothing for a folder that is not registered."""

    def __init__(self, vault: Vault, folder: Path, model_name: str) -> None:
        self._vault = vault
        self._folder = folder
        self._model_name = model_name
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="usage")

    def record_event(self, event: LoopEvent) -> None:
        """Record the tokens of a request; other events are ignored."""
        if isinstance(event, TokensCounted) and event.spent != TokenUsage():
            self._pool.submit(self._record_usage, event.spent)

    def close(self) -> None:
        """Wait until everything is recorded."""
        self._pool.shutdown(wait=True)

    def _record_usage(self, spent: TokenUsage) -> None:
        today = datetime.now(UTC).astimezone().date()
        try:
            repos = RepoRegistry(self._vault).list_all()
            mine = [each for each in repos if os.path.realpath(each.path) == str(self._folder)]
            if mine:
                tokens = spent.input_tokens, spent.output_tokens
                UsageLedger(self._vault).record(mine[-1].id, self._model_name, today, *tokens)
        except KernelError as error:
            logger.warning("the agent's tokens are not recorded. %s", error)


@dataclass(frozen=True, slots=True)
class PreparedAgent:
    """An agent ready to run; ``unknown_tools`` were requested and do not exist."""

    loop: AgentLoop
    session: AgentSession
    is_resumed: bool
    unknown_tools: Sequence[str]
    _usage: AgentUsageRecorder | None

    def run(self, prompt: str, cancel: CancelToken) -> Iterator[LoopEvent]:
        """Run the agent and record the tokens of its requests."""
        for event in self.loop.run(prompt, cancel):
            if self._usage:
                self._usage.record_event(event)
            yield event


@contextmanager
def prepare_agent(
    args: argparse.Namespace, cancel: CancelToken, ask_permission: AskPermission | None
) -> Iterator[PreparedAgent]:
    """Set up one run. Raises KernelError.

    Without ``ask_permission`` everything that needs a permission is refused.
    """
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
        name = choose_model(settings, args.model, user_data.settings_file)
        services = held.enter_context(closing(ChatServices(user_data, settings)))
        choice = services.check_model(name)
        backend = held.enter_context(services.models.acquire(choice))
        usage: AgentUsageRecorder | None = None
        if services.has_vault:  # else no repository is registered
            usage = AgentUsageRecorder(services.vault, root.folder, backend.model_name)
            held.enter_context(closing(usage))
        # Loaded while the model reads, so that stopping the agent does not wait for it.
        threading.Thread(target=count_tokens, args=("",), name="tokenizer", daemon=True).start()

        @cache
        def get_search() -> "AgentSearch":
            from codekernel.cli.agent_search import AgentSearch  # noqa: PLC0415 - heavy, seldom needed

            index_folder = user_data.folder_index_folder(root.folder)
            return held.enter_context(closing(AgentSearch(root.folder, index_folder, plan, cancel)))

        context = ToolContext(
            root,
            ChangeJournal.from_user_data(user_data.root, session.id, root),
            permissions=_make_permissions(args.allow, ask_permission),
            search=lambda query, limit: get_search().search(query, limit),
            call_chain=lambda *question: get_search().find_calls(*question),
            plan=session.plan,
        )
        held.enter_context(closing(context))
        writer = sessions.open_writer(session)
        loop = AgentLoop(
            backend,
            registry,
            context,
            session.transcript,
            save=writer.save,
            flush=writer.flush,
            max_rounds=args.rounds or MAX_AGENT_ROUNDS,
            context_tokens=choice.context_tokens,
        )
        yield PreparedAgent(loop, session, bool(args.resume), unknown, usage)


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
    granted = (*tool_policy.DEFAULT_ALLOWED_PERMISSIONS, *map(tool_policy.ToolPermission, allowed))
    if ask_permission is None:
        return tool_policy.AllowListPolicy(granted)
    return tool_policy.AskUserPolicy(granted, ask_permission)
