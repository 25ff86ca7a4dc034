"""``codekernel mcp``: a repository for somebody else's agent, by the Model Context Protocol.

The SDK is imported first: beside an index that is being opened both would take twice as long, and
an agent waits for the greeting.
"""

import argparse
import os
import signal
import sys
import threading
from functools import partial
from pathlib import Path
from typing import NoReturn

from kernel import logs
from kernel.cli.mcp_asking import Asking
from kernel.cli.search_models import settings_and_plan, shelf
from kernel.cli.search_place import index_folder, searched_folder
from kernel.cli.search_streams import say
from kernel.cli.serve import ONE_THREAD, SWITCH_INTERVAL_SECONDS
from kernel.doors.mcp.repository import Repository
from kernel.errors import KernelError, StorageError
from kernel.indexing.plan import IndexPlan
from kernel.indexing.repository_index import RepositoryIndex
from kernel.storage.user_data import UserData, open_user_data
from kernel.transport.descriptors import claim

TROUBLE = 2
# What is under way ends at its next step; what is on disk is whole at every moment.
END_WITHIN_SECONDS = 1.0


def mcp(asked: argparse.Namespace) -> int:
    """Serve until stdin ends, or a signal comes; then end the process."""
    wire = claim() if asked.http is None else None
    logs.to_stderr()
    sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)
    for name, value in ONE_THREAD.items():  # read when numpy is imported
        os.environ.setdefault(name, value)
    try:
        root = searched_folder(asked.repo)
        user_data = open_user_data(asked.user_data, os.environ)
    except KernelError as error:
        say(str(error))
        return TROUBLE
    from kernel.cli.mcp_serving import serve  # noqa: PLC0415 - the SDK: only this command pays

    repository = Repository(root, partial(open_index, root, user_data))
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: _leave(repository, 0))
    asking = Asking(root, repository, user_data)
    return _leave(repository, serve(repository, asking, wire, asked.http))


def open_index(root: Path, user_data: UserData) -> tuple[RepositoryIndex, IndexPlan]:
    """The index of a folder, and the plan to start it with. Raises StorageError."""
    _, plan = settings_and_plan(user_data.settings_file)
    try:
        folder = index_folder(root, user_data, os.environ)
    except StorageError as error:
        say(f"{error} So an index of the folder's own is used.")
        folder = user_data.index_of_folder(root)
    return RepositoryIndex(root, folder, shelf), plan


def _leave(repository: Repository, code: int) -> NoReturn:
    """End now: native libraries may still be at work on a thread."""
    closing = threading.Thread(target=repository.close, name="close", daemon=True)
    closing.start()
    closing.join(END_WITHIN_SECONDS)
    sys.stderr.flush()
    os._exit(code)
