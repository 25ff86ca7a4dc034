"""``codekernel ide-tools``: the tools of an IDE plugin for its backend, without the IDE."""

import argparse
import os
import secrets
import signal
import sys
import threading
from functools import partial
from pathlib import Path
from typing import NoReturn

from kernel import logs
from kernel.agent.context import ToolContext
from kernel.agent.danger import READ_ONLY, Allowed, Danger
from kernel.agent.journal import Journal
from kernel.agent.root import Root
from kernel.agent.toolbox import ide_tools as toolbox
from kernel.cli.mcp import open_index
from kernel.cli.search_place import searched_folder
from kernel.cli.search_streams import say
from kernel.cli.serve import ONE_THREAD
from kernel.domain.call_chain import ChainAnswer, ChainQuestion
from kernel.domain.cancel import CancelToken
from kernel.doors.ide.answering import Answering
from kernel.doors.ide.connecting import Address, Dialling
from kernel.doors.ide.executor import Executor
from kernel.doors.ide.listening import listening
from kernel.doors.ide.port import Port, Wanted
from kernel.doors.mcp.repository import Repository
from kernel.errors import KernelError
from kernel.storage.user_data import UserData, open_user_data

TOKEN_VARIABLE = "CODEKERNEL_IDE_TOKEN"  # noqa: S105 - the name of a variable
TROUBLE = 2
END_WITHIN_SECONDS = 1.0


def ide_tools(asked: argparse.Namespace) -> int:
    """Answer calls until a signal comes, then end the process."""
    logs.to_stderr()
    for name, value in ONE_THREAD.items():  # read when numpy is imported
        os.environ.setdefault(name, value)
    try:
        root = searched_folder(asked.root)
        return _run(asked, root, open_user_data(asked.user_data, os.environ))
    except KernelError as error:
        say(str(error))
    except OSError as error:
        say(f"port {asked.listen} cannot be used: {error.strerror}. Choose another one, or 0.")
    return TROUBLE


def _run(asked: argparse.Namespace, root: Path, user_data: UserData) -> NoReturn:
    token = os.environ.get(TOKEN_VARIABLE, "")
    address: Address | None = None
    port: Port | None = None
    executor: Executor  # known once the port or the address is
    if asked.connect is not None:
        address = Address.of(asked.connect, root.name, str(root), anywhere=asked.anywhere)
    else:
        wanted = Wanted(asked.listen, token, asked.anywhere)
        port = listening(lambda: executor, wanted)
    repository = Repository(root, partial(open_index, root, user_data))
    context = _context(repository, user_data, read_only=asked.read_only)
    executor = Executor(toolbox(), context, address.project_key if address else "")
    stop = CancelToken()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: _leave(repository))
    if address:
        Dialling(address, Answering(executor), token, say).run(stop)
    elif port:
        print(f"{port.address}\nAuthorization: Bearer {port.token}", flush=True)
        say(f"the token is new each time unless ${TOKEN_VARIABLE} has one; Ctrl-C stops codekernel")
        port.serve()
    _leave(repository)


def _context(repository: Repository, user_data: UserData, *, read_only: bool) -> ToolContext:
    root: Root = repository.root

    def calls(question: ChainQuestion, cancel: CancelToken, seconds: float) -> ChainAnswer:
        repository.wait_for_words(cancel)
        return repository.calls(question, cancel, seconds)

    return ToolContext(
        root,
        Journal.under(user_data.root, f"ide-{secrets.token_hex(4)}", root),
        permissions=READ_ONLY if read_only else Allowed((Danger.READS, Danger.WRITES)),
        calls=calls,
    )


def _leave(repository: Repository) -> NoReturn:
    """End now: native libraries may still be at work on a thread, and what is on disk is whole."""
    closing = threading.Thread(target=repository.close, name="close", daemon=True)
    closing.start()
    closing.join(END_WITHIN_SECONDS)
    sys.stderr.flush()
    os._exit(0)
