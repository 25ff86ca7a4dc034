"""Folders that are indexed with the real static model, and the texts that were embedded."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from codekernel.domain.concurrency import CancelToken
from codekernel.indexing.index_plan import IndexPlan
from codekernel.indexing.known_vectors import GetTeamVectors
from codekernel.indexing.repository_index import RepositoryIndex
from codekernel.inference.model_pool import Embedder, ModelPool
from indexing.harness import IndexHarness, static_plan

SIZE = 950
FILES = 40


class CountedEmbedder:
    """An embedder that keeps the texts it was given."""

    def __init__(
        self, embedder: Embedder, texts: list[str], on_embedding: Callable[[], None]
    ) -> None:
        self._embedder = embedder
        self._texts = texts
        self._on_embedding = on_embedding

    def __getattr__(self, name: str) -> Any:
        return getattr(self._embedder, name)

    def embed_documents(
        self, texts: Sequence[str], cancel: CancelToken
    ) -> npt.NDArray[np.floating[Any]]:
        self._texts.extend(texts)
        self._on_embedding()
        return self._embedder.embed_documents(texts, cancel)


class CountedPool(ModelPool):
    def __init__(self, texts: list[str], on_embedding: Callable[[], None]) -> None:
        super().__init__()
        self._texts = texts
        self._on_embedding = on_embedding

    @contextmanager
    def acquire_embedder(self, *args: Any) -> Iterator[Any]:
        with super().acquire_embedder(*args) as embedder:
            yield CountedEmbedder(embedder, self._texts, self._on_embedding)


def index_folder(
    root: Path,
    folder: Path,
    on_embedding: Callable[[RepositoryIndex], None] = lambda _: None,
    get_team_vectors: GetTeamVectors = lambda _model, _dimensions: None,
    plan: IndexPlan | None = None,
) -> tuple[IndexHarness, list[str]]:
    """Index a folder; the texts that were embedded for it."""
    texts: list[str] = []
    index = RepositoryIndex(
        root,
        folder,
        lambda: CountedPool(texts, lambda: on_embedding(index)),
        get_team_vectors=get_team_vectors,
    )
    harness = IndexHarness(root, folder, index)
    index.subscribe(harness.record_progress, harness.crashes.append)
    index.start(plan or static_plan(SIZE))
    harness.wait_until_idle()
    return harness, texts


def write_files(root: Path) -> None:
    root.mkdir(exist_ok=True)
    for number in range(FILES):
        source = f"def parse_{number}(line):\n    return line.split({number})\n"
        (root / f"part{number}.py").write_text(source, encoding="utf-8")
