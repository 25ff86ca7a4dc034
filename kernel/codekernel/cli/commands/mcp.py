"""``codekernel mcp``: serve a repository over the Model Context Protocol.

The SDK is imported before the index is opened, because an agent waits for the handshake.
"""

import argparse
import os
import signal
import sys
import threading
from functools import partial
from pathlib import Path
from typing import NoReturn

from codekernel.adapters.indexed_repository import IndexedRepository
from codekernel.cli.commands.serve import SINGLE_THREAD_ENV, SWITCH_INTERVAL_SECONDS
from codekernel.cli.mcp_conversations import McpConversations
from codekernel.cli.model_selection import get_model_pool, load_settings_and_plan
from codekernel.cli.output.terminal import print_notice
from codekernel.cli.project_folder import find_index_folder, find_project_root
from codekernel.errors import KernelError, StorageError
from codekernel.indexing.index_plan import IndexPlan
from codekernel.indexing.repository_index import RepositoryIndex
from codekernel.runtime import logging_setup
from codekernel.storage.user_data import UserData, open_user_data
from codekernel.transport.descriptors import claim_stdio

EXIT_ERROR = 2

# What is under way ends at its next step; what is on disk is whole at every moment.
CLOSE_TIMEOUT_SECONDS = 1.0


def run_mcp(args: argparse.Namespace) -> int:
    """Serve until stdin ends, or a signal comes; then end the process."""
    wire = claim_stdio() if args.http is None else None
    logging_setup.log_to_stderr()
    sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)
    for name, value in SINGLE_THREAD_ENV.items():  # read when numpy is imported
        os.environ.setdefault(name, value)
    try:
        root = find_project_root(args.repo)
        user_data = open_user_data(args.user_data, os.environ)
    except KernelError as error:
        print_notice(str(error))
        return EXIT_ERROR
    from codekernel.cli.commands.mcp_server import serve_mcp  # noqa: PLC0415 - the SDK: only this command pays

    repository = IndexedRepository(root, partial(open_repository_index, root, user_data))
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: _close_and_exit(repository, 0))
    asking = McpConversations(root, repository, user_data)
    return _close_and_exit(repository, serve_mcp(repository, asking, wire, args.http))


def open_repository_index(root: Path, user_data: UserData) -> tuple[RepositoryIndex, IndexPlan]:
    """The index of a folder, and the plan to start it with. Raises StorageError."""
    _, plan = load_settings_and_plan(user_data.settings_file)
    try:
        folder = find_index_folder(root, user_data, os.environ)
    except StorageError as error:
        print_notice(f"{error} So an index of the folder's own is used.")
        folder = user_data.folder_index_folder(root)
    return RepositoryIndex(root, folder, get_model_pool), plan


def _close_and_exit(repository: IndexedRepository, code: int) -> NoReturn:
    """End now: native libraries may still be at work on a thread."""
    closing = threading.Thread(target=repository.close, name="close", daemon=True)
    closing.start()
    closing.join(CLOSE_TIMEOUT_SECONDS)
    sys.stderr.flush()
    os._exit(code)
