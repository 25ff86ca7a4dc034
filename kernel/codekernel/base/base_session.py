"""The base of one open repository: off, away, or open over the files that are as it has them.

Opened on the thread of the index, before the first scan; searched by any. What it takes to search
a base is heavy to import, and imported by whoever opens one.
"""

import logging
import threading
from collections.abc import Callable
from enum import Enum, auto
from pathlib import Path
from typing import Protocol

from codekernel.errors import KernelError
from codekernel.indexing.repository_index import RepositoryIndex
from codekernel.search.pipeline import Searcher

logger = logging.getLogger(__name__)


class RepositoryBase(Protocol):
    """What a base has of a repository."""

    @property
    def name(self) -> str:
        """Return how the base is called."""

    def find_digest(self, path: str) -> bytes | None:
        """Return the digest of a file as the base has it."""

    def cover(self, searcher: Searcher, index: RepositoryIndex) -> Searcher:
        """Return a searcher of both, for one search."""


class BaseState(Enum):
    """Whether there is a base for a repository."""

    OFF = auto()  # no base is named, or it does not have the repository
    AWAY = auto()  # it is named, and its store does not answer
    OPEN = auto()


class BaseSession:
    """Used by the index thread to open, and by searches."""

    def __init__(self, root: Path, open_base: Callable[[Path], RepositoryBase | None]) -> None:
        """``open_base`` returns None if no base has the repository, and raises KernelError."""
        self._root, self._open_base = root, open_base
        self._lock = threading.Lock()
        self.state = BaseState.OFF
        self.opened: RepositoryBase | None = None
        self.notice = ""

    @property
    def is_open(self) -> bool:
        """Return whether the base has the repository."""
        return self.state is BaseState.OPEN

    @property
    def is_away(self) -> bool:
        """Return whether it is not known what the base has."""
        return self.state is BaseState.AWAY

    def open(self) -> None:
        """Open the newest build, unless one is open."""
        with self._lock:
            if self.opened is None:
                self._try_open()

    def find_digest(self, path: str) -> bytes | None:
        """Return the digest of a file as the base has it; None if it does not."""
        return self.opened.find_digest(path) if self.opened else None

    def cover(self, searcher: Searcher, index: RepositoryIndex) -> Searcher:
        """Return a searcher that searches the base, too, if it is open; for one search."""
        return self.opened.cover(searcher, index) if self.opened else searcher

    def describe_gap(self) -> str:
        """Return that the base is away, as a sentence; empty if it is not."""
        return f"{self.notice} Only what you have changed is searched" if self.is_away else ""

    def _try_open(self) -> None:
        try:
            self.opened = self._open_base(self._root)
        except KernelError as error:
            self.state, self.notice = BaseState.AWAY, f"{error}."
            logger.warning("%s: %s", self._root.name, error)
            return
        if self.opened is None:
            self.state = BaseState.OFF
            self.notice = "Your team's base does not have this repository; it is indexed here."
            return
        self.state = BaseState.OPEN
        self.notice = (
            f"Files that are as in your team's base {self.opened.name} are searched there; only"
            " what differs is indexed here."
        )
        logger.info("%s: %s", self._root.name, self.notice)
