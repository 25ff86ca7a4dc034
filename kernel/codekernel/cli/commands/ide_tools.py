"""``codekernel ide-tools``.

The tools of an IDE plugin for its backend, over WebSockets, without the IDE.
"""

import argparse
import os
import secrets
import signal
import sys
import threading
from functools import partial
from pathlib import Path
from typing import NoReturn

from codekernel.adapters.ide.executor import IdeToolExecutor
from codekernel.adapters.ide.plugin import (
    BackendAddress,
    BackendConnector,
    PluginSession,
    listen_for_backends,
)
from codekernel.adapters.ide.port import PortOptions, WebSocketPort
from codekernel.adapters.indexed_repository import IndexedRepository
from codekernel.agent.tool import ToolContext
from codekernel.agent.tool_policy import READ_ONLY_POLICY, AllowListPolicy, ToolPermission
from codekernel.agent.tools.toolsets import build_ide_tools as toolbox
from codekernel.agent.workspace.journal import ChangeJournal
from codekernel.agent.workspace.root import WorkspaceRoot
from codekernel.cli.commands.mcp import open_repository_index
from codekernel.cli.commands.serve import SINGLE_THREAD_ENV
from codekernel.cli.output.terminal import print_notice
from codekernel.cli.project_folder import find_project_root
from codekernel.domain.call_graph import CallChainQuery, CallChainResult
from codekernel.domain.concurrency import CancelToken
from codekernel.errors import KernelError
from codekernel.runtime import logging_setup
from codekernel.storage.user_data import UserData, open_user_data

TOKEN_ENV_VARIABLE = "CODEKERNEL_IDE_TOKEN"  # noqa: S105 - the name of a variable

EXIT_ERROR = 2

CLOSE_TIMEOUT_SECONDS = 1.0


def run_ide_tools(args: argparse.Namespace) -> int:
    """Answer calls until a signal comes, then end the process."""
    logging_setup.log_to_stderr()
    for name, value in SINGLE_THREAD_ENV.items():  # read when numpy is imported
        os.environ.setdefault(name, value)
    try:
        root = find_project_root(args.root)
        return _serve_ide(args, root, open_user_data(args.user_data, os.environ))
    except KernelError as error:
        print_notice(str(error))
    except OSError as error:
        print_notice(
            f"port {args.listen} cannot be used: {error.strerror}. Choose another one, or 0."
        )
    return EXIT_ERROR


def _serve_ide(args: argparse.Namespace, root: Path, user_data: UserData) -> NoReturn:
    token = os.environ.get(TOKEN_ENV_VARIABLE, "")
    address: BackendAddress | None = None
    port: WebSocketPort | None = None
    executor: IdeToolExecutor  # known once the port or the address is
    if args.connect is not None:
        address = BackendAddress.from_url(
            args.connect, root.name, str(root), allow_remote=args.anywhere
        )
    else:
        wanted = PortOptions(args.listen, token, args.anywhere)
        port = listen_for_backends(lambda: executor, wanted)
    repository = IndexedRepository(root, partial(open_repository_index, root, user_data))
    context = _make_tool_context(repository, user_data, read_only=args.read_only)
    executor = IdeToolExecutor(toolbox(), context, address.project_key if address else "")
    stop = CancelToken()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: _close_and_exit(repository))
    if address:
        BackendConnector(address, PluginSession(executor), token, print_notice).run(stop)
    elif port:
        print(f"{port.url}\nAuthorization: Bearer {port.token}", flush=True)
        print_notice(
            f"the token is new each time unless ${TOKEN_ENV_VARIABLE} has one; Ctrl-C "
            "stops codekernel"
        )
        port.serve()
    _close_and_exit(repository)


def _make_tool_context(
    repository: IndexedRepository, user_data: UserData, *, read_only: bool
) -> ToolContext:
    root: WorkspaceRoot = repository.root

    def calls(question: CallChainQuery, cancel: CancelToken, seconds: float) -> CallChainResult:
        repository.wait_for_lexical_index(cancel)
        return repository.find_calls(question, cancel, seconds)

    return ToolContext(
        root,
        ChangeJournal.from_user_data(user_data.root, f"ide-{secrets.token_hex(4)}", root),
        permissions=READ_ONLY_POLICY
        if read_only
        else AllowListPolicy((ToolPermission.READS, ToolPermission.WRITES)),
        call_chain=calls,
    )


def _close_and_exit(repository: IndexedRepository) -> NoReturn:
    """End now: native libraries may still be at work on a thread, and what is on disk is whole."""
    closing = threading.Thread(target=repository.close, name="close", daemon=True)
    closing.start()
    closing.join(CLOSE_TIMEOUT_SECONDS)
    sys.stderr.flush()
    os._exit(0)
