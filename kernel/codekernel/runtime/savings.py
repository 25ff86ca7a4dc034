"""What agents did not read because they searched: counted by answer, in userData."""

import json
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from time import time
from typing import Any

from codekernel.errors import StorageError
from codekernel.storage.safe_files import write_bytes_atomically
from codekernel.storage.user_data import UserData


@dataclass(frozen=True, slots=True)
class Savings:
    """Sums over all searches of agents since ``since``, in seconds since the epoch."""

    since: float = 0.0
    searches: int = 0
    answer_bytes: int = 0
    # Of all files that an answer names, each once for an answer.
    file_bytes: int = 0
    # Of the file of the best hit alone.
    first_file_bytes: int = 0

    def add_search(self, file_bytes: Sequence[int], answer_bytes: int, *, now: float) -> "Savings":
        """Return the sums with one more answer."""
        return Savings(
            self.since or now,
            self.searches + 1,
            self.answer_bytes + answer_bytes,
            self.file_bytes + sum(file_bytes),
            self.first_file_bytes + file_bytes[0],
        )


def dump_savings(savings: Savings) -> bytes:
    """Return the content of the file."""
    return json.dumps(asdict(savings)).encode()


def parse_savings(content: bytes) -> Savings:
    """Return what a file says; nothing if it is damaged."""
    try:
        fields: Any = json.loads(content)
        known = {name: fields[name] for name in Savings.__dataclass_fields__}
    except (ValueError, KeyError, TypeError):
        return Savings()
    are_numbers = all(isinstance(value, int | float) for value in known.values())
    return Savings(**known) if are_numbers else Savings()


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
