"""A repository with its index, followed by real threads with the real static model."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from codekernel.domain.index import FileRecord, Hit
from codekernel.domain.lexical_tokenizer import tokenize_query
from codekernel.indexing.index_plan import ConfigPlan, IndexPlan
from codekernel.indexing.repository_index import RepositoryIndex
from codekernel.search.pipeline import Searcher
from codekernel.settings.local_models import STATIC_MODEL, get_bundled_folder

PATIENCE_SECONDS = 60
POLL_SECONDS = 0.01

Told = tuple[str, str, float]


def static_plan(*input_lengths: int, certain: bool = True) -> IndexPlan:
    configs = [
        ConfigPlan(f"static-{length}", get_bundled_folder() / STATIC_MODEL, length)
        for length in input_lengths
    ]
    return IndexPlan(configs=tuple(configs), is_certain=certain)


@dataclass
class Followed:
    """An open index and what it has told."""

    root: Path
    folder: Path
    index: RepositoryIndex
    told: list[Told] = field(default_factory=list)
    crashes: list[BaseException] = field(default_factory=list)
    changed: threading.Condition = field(default_factory=threading.Condition)
    closed: bool = False

    def hear(self, path: str, status: str, progress: float) -> None:
        with self.changed:
            self.told.append((path, status, progress))
            self.changed.notify_all()

    def wait_until(self, true: Callable[[], bool], what: str) -> None:
        """Look again whenever something was told, and often enough for what is not told."""
        for _ in range(int(PATIENCE_SECONDS / POLL_SECONDS)):
            if true():
                return
            with self.changed:
                self.changed.wait(POLL_SECONDS)
        raise AssertionError(f"never: {what}; {self.index.get_status()}")

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self.index.close()

    def settle(self) -> None:
        self.wait_until(lambda: self.index.is_idle, "idle")

    def search(self, query: str) -> list[Hit]:
        return Searcher(self.root, self.index).search(query, 10)

    def paths(self, query: str) -> list[str]:
        return [hit.chunk.path for hit in self.search(query)]

    def write(self, path: str, text: str) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def done(self) -> list[str]:
        return [path for path, status, _ in self.told if status == "done"]

    def words(self, query: str) -> list[str]:
        """The files that the lexical index alone finds."""
        store = self.index.store
        found = [number for number, _ in store.lexical.search(tokenize_query(query), 10)]
        known = store.catalog.find_chunks(found)
        return [known[number].path for number in found if number in known]

    def known(self, path: str) -> FileRecord:
        known = self.index.store.catalog.find_file(path)
        assert known
        return known

    def commits(self) -> list[int]:
        """How often vectors were added; the same again means that nothing was embedded."""
        return [each.table.count_versions() for each in self.index.vector_indexes]

    def close_watching(self) -> None:
        """Stop noticing changes, as if they had not been noticed yet."""
        self.index._worker.close_watcher()

    def vectors(self) -> list[int]:
        return [len(each.table) for each in self.index.vector_indexes]


Open = Callable[..., Followed]
