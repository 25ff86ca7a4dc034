"""``codekernel ide-tools``: the tools of an IDE plugin for its backend, without the IDE."""

import argparse
import os
import secrets
import signal
from functools import partial
from pathlib import Path
from typing import NoReturn

from codekernel.adapters.ide.executor import IdeToolExecutor
from codekernel.adapters.ide.plugin import (
    BackendAddress,
    BackendConnector,
    PluginSession,
)
from codekernel.adapters.ide.port import PortOptions, WebSocketPort
from codekernel.adapters.indexed_repository import IndexedRepository
from codekernel.agent.tool import ToolContext
from codekernel.agent.tool_policy import (
    DEFAULT_ALLOWED_PERMISSIONS,
    READ_ONLY_POLICY,
    AllowListPolicy,
)
from codekernel.agent.tools.toolsets import build_ide_tools
from codekernel.agent.workspace.journal import ChangeJournal
from codekernel.cli.commands.mcp import open_repository_index
from codekernel.cli.output.terminal import print_bearer_address, print_notice
from codekernel.cli.process import ExitCode, exit_now
from codekernel.cli.project_folder import find_project_root
from codekernel.domain.call_graph import CallChainQuery, CallChainResult
from codekernel.domain.concurrency import CancelToken
from codekernel.runtime import logging_setup
from codekernel.storage.user_data import UserData, open_user_data

TOKEN_ENV_VARIABLE = "CODEKERNEL_IDE_TOKEN"  # noqa: S105 - the name of a variable


def run_ide_tools(args: argparse.Namespace) -> int:
    """Answer calls until a signal comes; end the process. Raises KernelError."""
    logging_setup.log_to_stderr()
    try:
        root = find_project_root(args.root)
        _serve_ide(args, root, open_user_data(args.user_data, os.environ))
    except OSError as error:
        print_notice(
            f"port {args.listen} cannot be used: {error.strerror}. Choose another one, or 0."
        )
    return ExitCode.ERROR


def _serve_ide(args: argparse.Namespace, root: Path, user_data: UserData) -> NoReturn:
    token = os.environ.get(TOKEN_ENV_VARIABLE, "")
    address: BackendAddress | None = None
    port: WebSocketPort | None = None
    executor: IdeToolExecutor  # made below, once the port is bound
    if args.connect is not None:
        address = BackendAddress.from_url(
            args.connect, root.name, str(root), allow_remote=args.anywhere
        )
    else:
        options = PortOptions(args.listen, token, args.anywhere)
        port = WebSocketPort(options, lambda socket: PluginSession(executor).serve(socket))
    repository = IndexedRepository(root, partial(open_repository_index, root, user_data))
    context = _make_tool_context(repository, user_data, read_only=args.read_only)
    executor = IdeToolExecutor(build_ide_tools(), context, address.project_key if address else "")
    stop = CancelToken()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: exit_now(ExitCode.OK, repository.close))
    if address:
        BackendConnector(address, PluginSession(executor), token, print_notice).run(stop)
    elif port:
        print_bearer_address(port.url, port.token, TOKEN_ENV_VARIABLE)
        port.serve()
    exit_now(ExitCode.OK, repository.close)


def _make_tool_context(
    repository: IndexedRepository, user_data: UserData, *, read_only: bool
) -> ToolContext:
    def find_calls(
        question: CallChainQuery, cancel: CancelToken, seconds: float
    ) -> CallChainResult:
        repository.wait_for_lexical_index(cancel)
        return repository.find_calls(question, cancel, seconds)

    root, session = repository.root, f"ide-{secrets.token_hex(4)}"
    return ToolContext(
        root,
        ChangeJournal.from_user_data(user_data.root, session, root),
        permissions=READ_ONLY_POLICY if read_only else AllowListPolicy(DEFAULT_ALLOWED_PERMISSIONS),
        call_chain=find_calls,
    )
