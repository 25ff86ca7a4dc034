"""``codekernel mcp``: serve one repository over the Model Context Protocol.

The SDK is imported before the index is opened, because an agent waits for the handshake.
"""

import argparse
import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from codekernel.adapters.indexed_repository import IndexedRepository
from codekernel.adapters.mcp.tools import MCP_LIMITS, McpTools
from codekernel.agent.tool import ToolContext
from codekernel.agent.workspace.journal import ChangeJournal
from codekernel.cli.model_selection import (
    choose_model,
    get_model_pool,
    load_settings_and_plan,
    open_selected_reranker,
)
from codekernel.cli.output.terminal import print_bearer_address, print_notice
from codekernel.cli.process import ExitCode, exit_now, shorten_switch_interval
from codekernel.cli.project_folder import choose_index_folder, find_project_root
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.index import Hit
from codekernel.indexing.index_plan import IndexPlan
from codekernel.indexing.repository_index import RepositoryIndex
from codekernel.runtime import logging_setup
from codekernel.storage.user_data import UserData, open_user_data
from codekernel.transport.descriptors import claim_stdio

if TYPE_CHECKING:
    from codekernel.adapters.mcp.server import McpServer
    from codekernel.conversation.turn import RunningQuestionTurn

TOKEN_ENV_VARIABLE = "CODEKERNEL_MCP_TOKEN"  # noqa: S105 - the name of a variable


def run_mcp(args: argparse.Namespace) -> int:
    """Serve until stdin ends or a signal comes; end the process. Raises KernelError."""
    wire = claim_stdio() if args.http is None else None
    logging_setup.log_to_stderr()
    shorten_switch_interval()
    root = find_project_root(args.repo)
    user_data = open_user_data(args.user_data, os.environ)
    from codekernel.adapters.mcp.server import make_server, serve_stdio  # noqa: PLC0415 - the SDK: only this command pays

    repository = IndexedRepository(root, partial(open_repository_index, root, user_data))
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: exit_now(ExitCode.OK, repository.close))
    server = make_server(_make_tools(repository, user_data))
    code = ExitCode.OK
    if wire is None:
        code = _serve_http(server, args.http)
    else:
        serve_stdio(server, wire)
    exit_now(code, repository.close)


def open_repository_index(root: Path, user_data: UserData) -> tuple[RepositoryIndex, IndexPlan]:
    """Open the index of a folder; return it and the plan to start it with. Raises StorageError."""
    _, plan = load_settings_and_plan(user_data.settings_file)
    folder = choose_index_folder(root, user_data)
    return RepositoryIndex(root, folder, get_model_pool), plan


def _make_tools(repository: IndexedRepository, user_data: UserData) -> McpTools:
    # No tool writes, so the journal stays empty.
    journal = ChangeJournal.from_user_data(user_data.root, "mcp", repository.root)
    context = ToolContext(repository.root, journal, limits=MCP_LIMITS)
    return McpTools(repository, partial(begin_turn, repository, user_data), context)


def _serve_http(server: "McpServer", port: int) -> ExitCode:
    from codekernel.adapters.mcp.http_server import McpHttpServer  # noqa: PLC0415 - seldom needed

    try:
        http_server = McpHttpServer(port, os.environ.get(TOKEN_ENV_VARIABLE, ""))
    except OSError as error:
        print_notice(f"port {port} cannot be used: {error.strerror}. Choose another one, or 0.")
        return ExitCode.ERROR
    print_bearer_address(http_server.url, http_server.token, TOKEN_ENV_VARIABLE)
    http_server.serve(server)
    return ExitCode.OK


@contextmanager
def begin_turn(
    repository: IndexedRepository,
    user_data: UserData,
    question: str,
    model: str | None,
    cancel: CancelToken,
) -> Iterator["RunningQuestionTurn"]:
    """Begin a turn of a new conversation, with the settings as they are now. Raises KernelError."""
    from codekernel.conversation.chat_services import ChatServices  # noqa: PLC0415 - an agent may never ask
    from codekernel.conversation.retriever import RepositoryAccess  # noqa: PLC0415

    settings, _ = load_settings_and_plan(user_data.settings_file)
    name = choose_model(settings, model, user_data.settings_file)
    with ExitStack() as resources:
        services = resources.enter_context(closing(ChatServices(user_data, settings)))
        services.check_model(name)
        reranker = resources.enter_context(open_selected_reranker(settings))

        def search(query: str, limit: int, until: CancelToken) -> list[Hit]:
            repository.wait_for_lexical_index(until)
            return repository.search(query, limit, until, reranker)

        registered = services.find_repository(repository.folder)
        access = RepositoryAccess(
            repository.folder,
            search,
            repository.index.store.catalog,
            registered.id if registered else None,
        )
        number = services.make_conversation_id()
        yield services.conversations.begin(number, question, name, access, cancel)
