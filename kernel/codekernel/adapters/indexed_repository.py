"""A folder with its index and call graph, opened on a background thread, for MCP and IDEs.

Reports progress, and describes what the index lacks.
"""

import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from codekernel.agent.workspace.root import WorkspaceRoot
from codekernel.domain.call_graph import CallChainQuery, CallChainResult
from codekernel.domain.concurrency import CancelToken, Lazy
from codekernel.domain.index import EmbeddingConfigStatus, Hit, RepositoryIndexStatus
from codekernel.domain.progress import ProgressCallback, ignore_progress
from codekernel.errors import KernelError, StorageError
from codekernel.indexing.index_state import DONE
from codekernel.indexing.repository_index import RepositoryIndex
from codekernel.runtime.workspace import Workspace, open_call_graph
from codekernel.search.pipeline import Searcher

# States of an index in which words may still be missing.
BUSY_STATES = frozenset({"starting", "recovering", "indexing"})

# An embedding config with this share of its vectors counts as complete.
MIN_VECTOR_COVERAGE = 0.9


def describe_index_gaps(
    status: RepositoryIndexStatus, *, semantic: bool = True, is_first: bool = True
) -> str:
    """Return a sentence about what is missing; empty if the index is complete.

    Missing vectors count only if ``semantic``; ``is_first`` while there was no index before.
    """
    if status.trouble:
        return f"The index is in trouble: {status.trouble}"
    if status.state in BUSY_STATES:
        made = f"The index is being made: {status.files} files so far. Ask again for the rest."
        updated = "The index is being brought up to date; what has just changed may be missing."
        return made if is_first else updated
    if status.state == "paused":
        return "Indexing is paused, so what has changed since is missing."
    if semantic and status.state == "read-only":
        return "Another codekernel keeps this index; here it is searched by words, as it is there."
    late = ", ".join(config.name for config in status.configs if _is_incomplete(config))
    if semantic and late:
        return f"Meaning is still being indexed ({late}); so far hits are by words."
    return ""


def format_index_status(status: RepositoryIndexStatus, root: str, remark: str) -> str:
    """Format the status for a model."""
    lines = [
        f"Repository: {root}",
        f"State: {status.state}",
        f"Files: {status.files} indexed, {status.files_waiting} under way",
        f"Chunks: {status.chunks}",
    ]
    for config in status.configs:
        left = "" if config.seconds_left is None else f", about {config.seconds_left:.0f} s left"
        error = f" ({config.trouble})" if config.trouble else ""
        lines.append(f"Vectors of {config.name}: {config.waiting} chunks waiting{left}{error}")
    if status.refused:
        reasons = ", ".join(f"{count} {reason}" for reason, count in sorted(status.refused.items()))
        lines.append(f"Left out: {reasons}")
    if status.notice:
        lines.append(status.notice)
    return "\n".join([*lines, remark] if remark else lines)


def dump_index_status(status: RepositoryIndexStatus, root: str) -> dict[str, Any]:
    """Return the status as JSON data."""
    return {"root": root, **asdict(status)}


def _is_incomplete(config: EmbeddingConfigStatus) -> bool:
    is_waiting = config.waiting > (1 - MIN_VECTOR_COVERAGE) * config.chunks
    return bool(config.trouble) or not config.ready or is_waiting


# By then a first index has the words of a few thousand files; later calls are answered at once
# from what is indexed.
FIRST_INDEX_TIMEOUT_SECONDS = 5.0

POLL_INTERVAL_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class OpenedIndex:
    """An index that is started elsewhere.

    That of a workspace is closed elsewhere, too; ``get_workspace`` raises KernelError once it is.
    """

    index: RepositoryIndex
    get_workspace: Callable[[], Workspace] | None = None


class IndexedRepository:
    """An index that is being opened; every call raises what ``open_index`` raised."""

    def __init__(
        self,
        root: Path,
        open_index: Callable[[], OpenedIndex],
        first_index_timeout_seconds: float = FIRST_INDEX_TIMEOUT_SECONDS,
    ) -> None:
        self.root = WorkspaceRoot.from_path(root)
        self._first_timeout_seconds = first_index_timeout_seconds
        self._first_deadline = 0.0
        self.folder = root
        self._crash_error: BaseException | None = None
        self._has_lexical_index = False
        self._search_gap = ""
        self._started_count = self._done_count = 0
        self._call_graph = Lazy(lambda: open_call_graph(self.index))
        self._unsubscribe: Callable[[], None] = lambda: None
        # Last, because it sets the attributes above.
        pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="open")
        self._opening: Future[OpenedIndex] = pool.submit(self._open, open_index)
        pool.shutdown(wait=False)

    @property
    def index(self) -> RepositoryIndex:
        """The index; waits until it is open. Raises KernelError."""
        opened = self._get_opened()
        return opened.get_workspace().index if opened.get_workspace else opened.index

    def search(
        self,
        query: str,
        limit: int,
        cancel: CancelToken,
        report: ProgressCallback = ignore_progress,
    ) -> list[Hit]:
        """Return the best hits of a query; a reranker would take too long for an agent's round.

        Raises WrongParam, Cancelled.
        """
        self.wait_for_lexical_index(cancel, report)
        found = self._make_searcher().run_search(query, limit, cancel, accuracy=False)
        self._search_gap = found.gap
        return found.hits

    def find_related(self, path: str, line: int, limit: int, *, cancel: CancelToken) -> list[Hit]:
        """Return code like that at a line of a file. Raises WrongParam."""
        self.wait_for_lexical_index(cancel)
        return self._make_searcher().find_related(path, line, limit)

    def _make_searcher(self) -> Searcher:
        if get_workspace := self._get_opened().get_workspace:
            return replace(get_workspace().searcher, rerank=None)
        index = self.index
        return Searcher(self.folder, index, None, index.throttle, index.recover_from)

    def find_calls(
        self,
        question: CallChainQuery,
        cancel: CancelToken,
        seconds: float,
        report: ProgressCallback = ignore_progress,
    ) -> CallChainResult:
        """Return callers or callees."""
        self.wait_for_lexical_index(cancel, report)
        get_workspace = self._get_opened().get_workspace
        call_graph = get_workspace().call_graph() if get_workspace else self._call_graph()
        return call_graph.ask(question, cancel, seconds)

    def get_status(self) -> RepositoryIndexStatus:
        """Return the status of the index."""
        return self.index.get_status()

    def wait_for_lexical_index(
        self, cancel: CancelToken, report: ProgressCallback = ignore_progress
    ) -> None:
        """Wait a moment for the words of all files, if this is a first index."""
        self._wait_until(lambda status: status.state not in BUSY_STATES, cancel, report)

    def wait_until_complete(
        self, cancel: CancelToken, seconds: float, report: ProgressCallback
    ) -> None:
        """Wait until words and vectors are complete, or cannot be."""
        done = {"idle", "trouble", "read-only", "paused"}
        self._wait_until(lambda status: status.state in done, cancel, report, seconds)

    def describe_gaps(self, *, semantic: bool = True) -> str:
        """Return a sentence about what the index lacks; empty if it is complete."""
        if self._crash_error is not None:
            return (
                f"Indexing was given up, so what has changed since is missing: {self._crash_error}"
            )
        index = self.index
        if index.is_idle:
            self._has_lexical_index = True
            return self._search_gap
        return describe_index_gaps(
            index.get_status(), semantic=semantic, is_first=not self._has_lexical_index
        )

    def close(self) -> None:
        """Close the index unless it is a workspace's; work in progress stops at its next step."""
        self._opening.cancel()
        self._call_graph.use_if_created(lambda it: it.close())
        with suppress(KernelError, CancelledError):
            opened = self._opening.result()
            self._unsubscribe()
            if opened.get_workspace is None:
                opened.index.close()

    def _get_opened(self) -> OpenedIndex:
        try:
            return self._opening.result()
        except CancelledError:
            raise StorageError("codekernel is ending") from None

    def _open(self, open_index: Callable[[], OpenedIndex]) -> OpenedIndex:
        opened = open_index()
        index = opened.index
        self._first_deadline = time.monotonic() + self._first_timeout_seconds
        self._has_lexical_index = not index.store.catalog.is_empty
        self._unsubscribe = index.subscribe(self._on_file_status, self._on_crash)
        return opened

    def _on_file_status(self, _path: str, status: str, progress: float) -> None:
        """Count the files that are started and done."""
        if status == DONE:
            self._done_count += 1
        elif progress == 0:
            self._started_count += 1

    def _on_crash(self, error: BaseException) -> None:
        self._crash_error = error

    def _wait_until(
        self,
        is_done: Callable[[RepositoryIndexStatus], bool],
        cancel: CancelToken,
        report: ProgressCallback,
        seconds: float | None = None,
    ) -> None:
        index = self.index
        if self._has_lexical_index and seconds is None:
            return
        until = self._first_deadline if seconds is None else time.monotonic() + seconds
        while self._crash_error is None and not is_done(status := index.get_status()):
            # Each file counts half for its words and half for its vectors.
            lexical = self._done_count if self._has_lexical_index else status.files
            report(
                (lexical + self._done_count) / 2,
                float(self._started_count) or None,
                describe_index_gaps(status),
            )
            if time.monotonic() > until or cancel.wait(POLL_INTERVAL_SECONDS):
                return
        self._has_lexical_index = True
