"""Serve one repository over the Model Context Protocol in this process, without a shared kernel.

The SDK is imported before the index is opened, because an agent waits for the handshake.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from codekernel.adapters.indexed_repository import IndexedRepository, OpenedIndex
from codekernel.adapters.mcp.tools import MCP_LIMITS, McpTools
from codekernel.agent.tool import ToolContext
from codekernel.agent.workspace.journal import ChangeJournal
from codekernel.cli import model_selection
from codekernel.cli.output.terminal import print_bearer_address, print_notice
from codekernel.cli.process import ExitCode, exit_now, handle_stop_signals, shorten_switch_interval
from codekernel.cli.project_folder import choose_index_folder
from codekernel.domain.concurrency import CancelToken
from codekernel.indexing.repository_index import RepositoryIndex
from codekernel.runtime import logging_setup
from codekernel.runtime.index_folders import mark_used
from codekernel.settings.chat_models import choose_model
from codekernel.storage.user_data import UserData
from codekernel.transport.descriptors import StdioPipe

if TYPE_CHECKING:
    from codekernel.adapters.mcp.server import McpServer
    from codekernel.conversation.turn import RunningQuestionTurn

TOKEN_ENV_VARIABLE = "CODEKERNEL_MCP_TOKEN"  # noqa: S105 - the name of a variable


def serve_in_process(wire: StdioPipe | None, root: Path, user_data: UserData, port: int) -> int:
    """Serve stdin and stdout, or a port if ``wire`` is None, until the end; end the process."""
    logging_setup.log_to_stderr()
    shorten_switch_interval()
    from codekernel.adapters.mcp.server import make_server, serve_stdio  # noqa: PLC0415 - the SDK

    repository = IndexedRepository(root, partial(open_repository_index, root, user_data))
    handle_stop_signals(lambda: exit_now(ExitCode.OK, repository.close))
    server = make_server(_make_tools(repository, user_data))
    code = ExitCode.OK
    if wire is None:
        code = _serve_http(server, port)
    else:
        serve_stdio(server, wire)
    exit_now(code, repository.close)


def open_repository_index(root: Path, user_data: UserData) -> OpenedIndex:
    """Open the index of a folder. Raises StorageError."""
    _, plan = model_selection.load_settings_and_plan(user_data.settings_file)
    folder = choose_index_folder(root, user_data)
    mark_used(folder, root)
    return OpenedIndex(RepositoryIndex(root, folder, model_selection.get_model_pool), plan)


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
    from codekernel.conversation import chat_services, retriever  # noqa: PLC0415 - an agent may never ask

    settings, _ = model_selection.load_settings_and_plan(user_data.settings_file)
    name = choose_model(settings, model, user_data.settings_file)
    with ExitStack() as resources:
        services = resources.enter_context(closing(chat_services.ChatServices(user_data, settings)))
        services.check_model(name)
        reranker = resources.enter_context(model_selection.open_selected_reranker(settings))

        registered = services.find_repository(repository.folder)
        access = retriever.RepositoryAccess(
            repository.folder,
            lambda query, limit, until: repository.search(query, limit, until, reranker),
            lambda: repository.index.store.catalog,
            registered.id if registered else None,
        )
        number = services.make_conversation_id()
        yield services.conversations.begin(number, question, name, access, cancel)
