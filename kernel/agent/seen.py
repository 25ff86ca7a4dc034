"""What an agent knows of files: the state in which it last read or wrote each of them."""

import os
import threading
from pathlib import Path

from kernel.agent.writing import is_same_state


class Seen:
    """Safe to use from several threads."""

    def __init__(self) -> None:
        self._states: dict[Path, os.stat_result] = {}
        self._lock = threading.Lock()

    def note(self, path: Path, status: os.stat_result) -> None:
        """The file was read or written in this state."""
        with self._lock:
            self._states[path] = status

    def knows(self, path: Path) -> bool:
        """Whether the file was ever read or written here."""
        with self._lock:
            return path in self._states

    def is_stale(self, path: Path, status: os.stat_result) -> bool:
        """Whether a known file, now in this state, is no longer as it was."""
        with self._lock:
            known = self._states.get(path)
        return known is not None and not is_same_state(status, known)
