"""The index of a repository that a team mate, or CI, has built: taken over before the first scan.

It is fetched on a thread of its own, because a store may hang, into a folder inside the index; it
moves in while the index is closed. The scan then indexes what differs from the files.
"""

import logging
import secrets
import shutil
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from codekernel.domain.concurrency import CancelToken
from codekernel.errors import Cancelled, KernelError
from codekernel.indexing.files_elsewhere import FilesElsewhere
from codekernel.indexing.index_plan import IndexPlan
from codekernel.storage.index_store import (
    CATALOG_FILE,
    LEXICAL_FOLDER,
    VECTORS_FOLDER,
    IndexStore,
)
from codekernel.storage.quarantine import DERIVED_DATABASE_SUFFIXES
from codekernel.storage.safe_files import add_suffix, make_private_folder, translate_os_errors

if TYPE_CHECKING:  # which imports this
    from codekernel.indexing.repository_index import RepositoryIndex
    from codekernel.indexing.vector_index import VectorIndex

logger = logging.getLogger(__name__)

INCOMING_FOLDER = "incoming"

# How often it is looked whether everything is indexed, until it is.
_POLL_SECONDS = 0.05

# Root, plan, where to write the index, cancel, report -> whether there is one.
RestoreIndex: TypeAlias = Callable[
    [Path, IndexPlan, Path, CancelToken, Callable[[str], None]], bool
]


def restore_nothing(
    _root: Path, _plan: IndexPlan, _folder: Path, _cancel: CancelToken, _report: object
) -> bool:
    """Nothing is shared."""
    return False


class TeamIndexTaker:
    """Takes over an index once; used by the index thread. ``notice`` is for people."""

    def __init__(
        self, root: Path, folder: Path, restore: RestoreIndex, elsewhere: FilesElsewhere
    ) -> None:
        self.notice = ""
        self._elsewhere = elsewhere
        self._root = root
        # Of its own: one whose repository was closed may still be writing to another.
        self._incoming = folder / INCOMING_FOLDER / secrets.token_hex(4)
        self._folder = folder
        self._restore = restore
        self._is_tried = self._is_complete = self._is_moved = False
        self._lock = threading.Lock()
        self._began = 0.0

    def fetch(self, store: IndexStore, plan: IndexPlan, cancel: CancelToken) -> bool:
        """Fetch an index if this one is new; true if there is one, which then can move in."""
        self._elsewhere.open()
        if self._is_tried or self._elsewhere.is_open or not store.catalog.is_empty:
            return False
        self._is_tried = True
        self._began = time.monotonic()
        ended, child = threading.Event(), cancel.create_child()

        def run() -> None:
            try:
                self._is_complete = self._try_restore(plan, child)
            finally:
                ended.set()

        with child.on_cancel(ended.set):
            name = f"team-index:{self._root.name}"
            threading.Thread(target=run, name=name, daemon=True).start()
            ended.wait()
        return self._is_complete and not cancel.is_cancelled

    def move_in(self) -> None:
        """Replace the closed index by the one that was fetched, if one was. Raises StorageError.

        The catalog comes last: without it nothing else counts.
        """
        if not self._is_complete:
            return
        self._is_complete = False
        with translate_os_errors(self._folder):
            vectors = self._folder / VECTORS_FOLDER
            make_private_folder(vectors)
            for path in (self._incoming / VECTORS_FOLDER).glob("*"):
                path.replace(vectors / path.name)
            shutil.rmtree(self._folder / LEXICAL_FOLDER, ignore_errors=True)
            (self._incoming / LEXICAL_FOLDER).rename(self._folder / LEXICAL_FOLDER)
            for suffix in DERIVED_DATABASE_SUFFIXES:
                add_suffix(self._folder / CATALOG_FILE, suffix).unlink(missing_ok=True)
            for suffix in DERIVED_DATABASE_SUFFIXES:
                new = add_suffix(self._incoming / CATALOG_FILE, suffix)
                if new.exists():
                    new.replace(add_suffix(self._folder / CATALOG_FILE, suffix))
        shutil.rmtree(self._incoming.parent, ignore_errors=True)
        self.notice = "Your team's index was found; what differs from it is indexed."
        self._is_moved = True
        logger.info("%s: %s", self._root.name, self.notice)

    def report_when_idle(self, index: "RepositoryIndex", cancel: CancelToken) -> None:
        """Say, once everything is indexed, how long it took and how much was embedded."""

        def run() -> None:
            while not index.is_idle:
                if cancel.wait(_POLL_SECONDS):
                    return
            self._note_idle(index.vector_indexes)

        threading.Thread(target=run, name=f"team-ready:{self._root.name}", daemon=True).start()

    def read_notice(self, index: "RepositoryIndex") -> str:
        """Return what there is to say now."""
        if self._is_moved and index.is_idle:
            self._note_idle(index.vector_indexes)
        return self.notice or self._elsewhere.notice

    def _note_idle(self, vector_indexes: "Sequence[VectorIndex]") -> None:
        with self._lock:  # the first call counts
            if not self._is_moved:
                return
            self._is_moved = False
        seconds = time.monotonic() - self._began
        count = sum(each.embedded_count for each in vector_indexes)
        taken = f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"  # noqa: PLR2004 - digits
        self.notice = f"Your team's index was found: ready in {taken}, {count} embedded."
        logger.info("%s: %s", self._root.name, self.notice)

    def _try_restore(self, plan: IndexPlan, cancel: CancelToken) -> bool:
        try:
            shutil.rmtree(self._incoming.parent, ignore_errors=True)
            if self._restore(self._root, plan, self._incoming, cancel, self._report):
                return True
            self.notice = ""
        except Cancelled:
            return False
        except KernelError as error:
            self.notice = f"Your team's index is not used: {error}. It is built here instead."
            logger.warning("%s: %s", self._root.name, self.notice)
        except Exception:
            logger.exception("%s: the team's index is not used", self._root.name)
        if not cancel.is_cancelled:
            shutil.rmtree(self._incoming.parent, ignore_errors=True)
        return False

    def _report(self, text: str) -> None:
        self.notice = text
