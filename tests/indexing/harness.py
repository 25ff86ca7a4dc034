"""A repository with its index, real threads and the real static model."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from codekernel.domain.index import FileRecord, Hit
from codekernel.domain.lexical_tokenizer import tokenize_query
from codekernel.indexing.index_plan import ConfigPlan, IndexPlan
from codekernel.indexing.repository_index import RepositoryIndex
from codekernel.inference.model_folder import STATIC_MODEL, get_bundled_folder
from codekernel.search.pipeline import Searcher

WAIT_TIMEOUT_SECONDS = 60
POLL_INTERVAL_SECONDS = 0.01

Report = tuple[str, str, float]


def static_plan(*chunk_sizes: int, certain: bool = True) -> IndexPlan:
    configs = [
        ConfigPlan(f"static-{size}", get_bundled_folder() / STATIC_MODEL, size)
        for size in chunk_sizes
    ]
    return IndexPlan(configs=tuple(configs), is_certain=certain)


@dataclass
class IndexHarness:
    """An open index and what it has reported."""

    root: Path
    folder: Path
    index: RepositoryIndex
    reports: list[Report] = field(default_factory=list)
    crashes: list[BaseException] = field(default_factory=list)
    changed: threading.Condition = field(default_factory=threading.Condition)
    closed: bool = False

    def record_progress(self, path: str, status: str, progress: float) -> None:
        with self.changed:
            self.reports.append((path, status, progress))
            self.changed.notify_all()

    def wait_until(self, is_true: Callable[[], bool], what: str) -> None:
        """Check again after each report, and often enough for what is not reported."""
        for _ in range(int(WAIT_TIMEOUT_SECONDS / POLL_INTERVAL_SECONDS)):
            if is_true():
                return
            with self.changed:
                self.changed.wait(POLL_INTERVAL_SECONDS)
        raise AssertionError(f"never: {what}; {self.index.get_status()}")

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self.index.close()

    def wait_until_idle(self) -> None:
        self.wait_until(lambda: self.index.is_idle, "idle")

    def search(self, query: str) -> list[Hit]:
        return Searcher(self.root, self.index).search(query, 10)

    def search_paths(self, query: str) -> list[str]:
        return [hit.chunk.path for hit in self.search(query)]

    def write(self, path: str, text: str) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def list_done(self) -> list[str]:
        return [path for path, status, _ in self.reports if status == "done"]

    def search_lexical(self, query: str) -> list[str]:
        """The files that the lexical index alone finds."""
        store = self.index.store
        found = [chunk_id for chunk_id, _ in store.lexical.search(tokenize_query(query), 10)]
        known = store.catalog.find_chunks(found)
        return [known[chunk_id].path for chunk_id in found if chunk_id in known]

    def find_file(self, path: str) -> FileRecord:
        known = self.index.store.catalog.find_file(path)
        assert known
        return known

    def count_commits(self) -> list[int]:
        """How often vectors were added; the same again means that nothing was embedded."""
        return [each.table.count_versions() for each in self.index.vector_indexes]

    def close_watcher(self) -> None:
        """Stop noticing changes, as if they had not been noticed yet."""
        watcher = self.index._worker._watcher
        assert watcher
        watcher.close()

    def count_vectors(self) -> list[int]:
        return [len(each.table) for each in self.index.vector_indexes]


Open = Callable[..., IndexHarness]
