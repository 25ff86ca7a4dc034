"""What an agent works with from the command line on: model, tools, folder, session."""

import argparse
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kernel.agent.context import ToolContext
from kernel.agent.danger import Allowed, Asking, Danger, Permissions, Wish
from kernel.agent.journal import Journal
from kernel.agent.loop import MOST_ROUNDS, AgentLoop
from kernel.agent.root import Root
from kernel.agent.saved_sessions import SavedSession, SavedSessions
from kernel.agent.toolbox import agent_tools, all_tools
from kernel.chat_models import count_tokens
from kernel.cli.agent_model import lent_model
from kernel.cli.search_models import settings_and_plan
from kernel.domain.call_chain import ChainAnswer, ChainQuestion
from kernel.domain.cancel import CancelToken
from kernel.domain.hit import Hit
from kernel.doors.tricode.whitelist import whitelisted
from kernel.errors import KernelError, WrongParam
from kernel.indexing.plan import IndexPlan
from kernel.storage.user_data import UserData, open_user_data

if TYPE_CHECKING:
    from kernel.cli.agent_search import AgentSearch

# Whoever starts an agent wants files edited; all that goes beyond is asked for.
ALWAYS_ALLOWED = (Danger.READS, Danger.WRITES)

Ask = Callable[[Wish], bool]


@dataclass(frozen=True, slots=True)
class Prepared:
    """An agent that can begin; ``unknown`` are tools that were asked for and do not exist."""

    loop: AgentLoop
    session: SavedSession
    resumed: bool
    unknown: Sequence[str]


@contextmanager
def prepared(
    chosen: argparse.Namespace, cancel: CancelToken, ask: Ask | None
) -> Iterator[Prepared]:
    """Everything for one run. Raises KernelError. Without ``ask`` nobody can be asked."""
    if not " ".join(chosen.prompt).strip():
        raise WrongParam("The prompt is empty: say what is to be done.")
    root = _root(chosen.root)
    user_data = open_user_data(chosen.user_data, os.environ)
    sessions = SavedSessions(user_data.root)
    session = _session(sessions, chosen.resume, root.folder)
    registry, unknown = whitelisted(agent_tools(), all_tools(), chosen.tools)
    settings, plan = settings_and_plan(user_data.settings_file)
    with ExitStack() as held:
        held.enter_context(sessions.held(session))
        lent = lent_model(user_data, settings, chosen.model, root.folder)
        backend, window = held.enter_context(lent)
        # Loaded while the model reads: whoever stops the agent must not wait for it.
        threading.Thread(target=count_tokens, args=("",), name="tokenizer", daemon=True).start()
        index = held.enter_context(closing(_Index(root.folder, user_data, plan, cancel)))
        context = ToolContext(
            root,
            Journal.under(user_data.root, session.id, root),
            permissions=_permissions(chosen.allow, ask),
            search=index.search,
            calls=index.calls,
            plan=session.plan,
        )
        held.enter_context(closing(context))
        keeper = sessions.keeper(session)
        loop = AgentLoop(
            backend,
            registry,
            context,
            session.transcript,
            keep=keeper.keep,
            settle=keeper.settle,
            most_rounds=chosen.rounds or MOST_ROUNDS,
            window=window,
        )
        yield Prepared(loop, session, bool(chosen.resume), unknown)


def _root(folder: str) -> Root:
    if not Path(folder).is_dir():
        raise WrongParam(f"{folder} is no folder: --root must be the folder to work in.")
    return Root.at(Path(folder))


def _session(sessions: SavedSessions, resumed: str | None, folder: Path) -> SavedSession:
    if not resumed:
        return sessions.new(folder)
    session = sessions.load(resumed)
    if session.root != folder:
        raise KernelError(
            f"The session {session.id} is about another folder: resume it there, or say"
            f" --root {session.root}"
        )
    return session


def _permissions(allowed: Sequence[str], ask: Ask | None) -> Permissions:
    dangers = (*ALWAYS_ALLOWED, *map(Danger, allowed))
    return Asking(dangers, ask) if ask else Allowed(dangers)


class _Index:
    """Our ranked search and call chains, whose rooms are heavy and loaded when first asked."""

    def __init__(
        self, root: Path, user_data: UserData, plan: IndexPlan, cancel: CancelToken
    ) -> None:
        self._given = (root, user_data.index_of_folder(root), plan, cancel)
        self._held = ExitStack()
        self._opened: AgentSearch | None = None

    def search(self, query: str, limit: int) -> Sequence[Hit]:
        """The best places. Raises Cancelled, StorageError."""
        return self._there()(query, limit)

    def calls(self, question: ChainQuestion, cancel: CancelToken, seconds: float) -> ChainAnswer:
        """Who calls what. Raises Cancelled, StorageError."""
        return self._there().calls(question, cancel, seconds)

    def close(self) -> None:
        """Let the index go, if there was one."""
        self._held.close()

    def _there(self) -> "AgentSearch":
        if self._opened is None:
            from kernel.cli.agent_search import AgentSearch  # noqa: PLC0415 - heavy, seldom needed

            self._opened = self._held.enter_context(closing(AgentSearch(*self._given)))
        return self._opened
