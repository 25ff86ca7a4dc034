"""The process in which LanceDB runs: steps on stdin, their results on stdout.

Started by lance_process.py. It exits at once when the process that started it is gone, also in the
middle of a step, so that nobody writes beside whoever opens the index next; and when it is idle.
"""

import os
import queue
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from codekernel.domain.child_process import open_reply_stream
from codekernel.domain.child_requests import read_requests, send_reply
from codekernel.domain.memory import limit_kept_memory
from codekernel.errors import StorageError
from codekernel.storage.vectors.lance_rows import LanceRows, read_dimensions
from codekernel.storage.vectors.lancedb_import import READ_AHEAD_VARIABLE, import_lancedb

# The folder of a table, its dimensions, the step and its arguments.
LanceRequest = tuple[str, int, str, tuple[Any, ...]]

# What a step returned, or why it could not be done.
LanceReply = tuple[Any, StorageError | None]

# Its start takes half a second of CPU, and it keeps 150 MB: saves come in bursts.
IDLE_TIMEOUT_SECONDS = 30.0

# Nobody says that a table is closed; one that is used again is opened again.
MAX_OPEN_TABLES = 8


_STEPS: dict[str, Callable[..., Any]] = {
    "add": LanceRows.add,
    "compact": LanceRows.compact,
    "count_rows": LanceRows.count_rows,
    "count_versions": LanceRows.count_versions,
    "delete": LanceRows.delete,
    "delete_duplicates": LanceRows.delete_duplicates,
    "read_batch": LanceRows.read_batch,
}


def main() -> None:
    """Do steps until none come."""
    limit_kept_memory()
    os.environ.setdefault(*READ_AHEAD_VARIABLE)
    import_lancedb()
    requests: queue.SimpleQueue[LanceRequest] = queue.SimpleQueue()
    replies = open_reply_stream()
    threading.Thread(target=read_requests, args=(requests,), daemon=True).start()
    # Only now is anything asked: nobody can see the end of the other process during an import.
    send_reply(replies, (None, None))
    tables: dict[str, LanceRows] = {}
    while True:
        try:
            request = requests.get(timeout=IDLE_TIMEOUT_SECONDS)
        except queue.Empty:
            os._exit(0)  # without waiting for the thread that waits for stdin
        send_reply(replies, _answer(tables, request))


def _answer(tables: dict[str, LanceRows], request: LanceRequest) -> LanceReply:
    try:
        return _do_step(tables, *request), None
    except StorageError as error:
        return None, error.with_traceback(None)


def _do_step(
    tables: dict[str, LanceRows],
    name: str,
    dimensions: int,
    step: str,
    arguments: tuple[Any, ...],
) -> Any:
    folder = Path(name)
    if step == "read_dimensions":
        return read_dimensions(folder)
    if step == "open" or name not in tables:  # or the process that had opened it is gone
        tables.pop(name, None)
        while len(tables) >= MAX_OPEN_TABLES:
            tables.pop(next(iter(tables)))
        tables[name] = LanceRows.open(folder, dimensions)
    if step == "open":
        return tables[name].is_new
    return _STEPS[step](tables[name], *arguments)


if __name__ == "__main__":
    main()
