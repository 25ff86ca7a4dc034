"""What agents did not read because they searched: counted by answer, in userData."""

import threading
from collections.abc import Sequence
from time import time

from codekernel.domain.savings import Savings, dump_savings, parse_savings
from codekernel.errors import StorageError
from codekernel.storage.safe_files import write_bytes_atomically
from codekernel.storage.user_data import UserData

_lock = threading.Lock()


def record_search(user_data: UserData, file_bytes: Sequence[int], answer_bytes: int) -> None:
    """Count an answer that names files of these sizes, best first; ignore a full disk."""
    if not file_bytes:
        return
    with _lock:
        known = read_savings(user_data)
        counted = known.add_search(file_bytes, answer_bytes, now=time())
        try:
            write_bytes_atomically(user_data.savings_file, dump_savings(counted))
        except (OSError, StorageError):
            return


def read_savings(user_data: UserData) -> Savings:
    """Return what was counted; nothing if that is unreadable."""
    try:
        return parse_savings(user_data.savings_file.read_bytes())
    except OSError:
        return Savings()
