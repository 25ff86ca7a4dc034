"""Vectors are named by their texts: what one index of a userData folder has, no other embeds."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from codekernel.domain.concurrency import CancelToken
from codekernel.indexing.repository_index import RepositoryIndex
from codekernel.inference.model_pool import Embedder, ModelPool
from indexing.harness import IndexHarness, static_plan

SIZE = 950
FILES = 40

pytestmark = pytest.mark.slow


class CountedEmbedder:
    """An embedder that keeps the texts it was given."""

    def __init__(self, embedder: Embedder, texts: list[str]) -> None:
        self._embedder = embedder
        self._texts = texts

    def __getattr__(self, name: str) -> Any:
        return getattr(self._embedder, name)

    def embed_documents(
        self, texts: Sequence[str], cancel: CancelToken
    ) -> npt.NDArray[np.floating[Any]]:
        self._texts.extend(texts)
        return self._embedder.embed_documents(texts, cancel)


class CountedPool(ModelPool):
    def __init__(self, texts: list[str]) -> None:
        super().__init__()
        self._texts = texts

    @contextmanager
    def acquire_embedder(self, *args: Any) -> Iterator[Any]:
        with super().acquire_embedder(*args) as embedder:
            yield CountedEmbedder(embedder, self._texts)


def index_folder(root: Path, folder: Path) -> tuple[IndexHarness, list[str]]:
    """Index a folder; the texts that were embedded for it."""
    texts: list[str] = []
    index = RepositoryIndex(root, folder, lambda: CountedPool(texts))
    harness = IndexHarness(root, folder, index)
    index.subscribe(harness.record_progress, harness.crashes.append)
    index.start(static_plan(SIZE))
    harness.wait_until_idle()
    return harness, texts


def write_files(root: Path) -> None:
    root.mkdir(exist_ok=True)
    for number in range(FILES):
        source = f"def parse_{number}(line):\n    return line.split({number})\n"
        (root / f"part{number}.py").write_text(source, encoding="utf-8")


def test_a_second_worktree_embeds_nothing_that_the_first_has_embedded(tmp_path: Path) -> None:
    first_root, second_root = tmp_path / "one", tmp_path / "two"
    write_files(first_root)
    shutil.copytree(first_root, second_root)
    (second_root / "new.py").write_text("def only_here(): pass\n", encoding="utf-8")
    first, embedded = index_folder(first_root, tmp_path / "index" / "1")
    assert len(embedded) == FILES
    second, embedded = index_folder(second_root, tmp_path / "index" / "2")
    assert len(embedded) == 1
    query = "split a line into its parts"
    assert first.search_paths(query) == second.search_paths(query)
    first.close()
    second.close()
    # Without the first one, with or without its snapshot, the second has all vectors itself.
    shutil.rmtree(tmp_path / "index" / "1")
    again, embedded = index_folder(second_root, tmp_path / "index" / "2")
    assert embedded == []
    again.close()


def test_vectors_are_shared_also_without_a_snapshot(tmp_path: Path) -> None:
    first_root, second_root = tmp_path / "one", tmp_path / "two"
    write_files(first_root)
    shutil.copytree(first_root, second_root)
    first, _ = index_folder(first_root, tmp_path / "index" / "1")
    first.close()
    for snapshot in (tmp_path / "index" / "1" / "vectors").glob("*.snapshot"):
        snapshot.unlink()
    second, embedded = index_folder(second_root, tmp_path / "index" / "2")
    second.close()
    assert embedded == []


def test_damaged_vectors_of_another_index_are_embedded_anew(tmp_path: Path) -> None:
    first_root, second_root = tmp_path / "one", tmp_path / "two"
    write_files(first_root)
    shutil.copytree(first_root, second_root)
    first, _ = index_folder(first_root, tmp_path / "index" / "1")
    first.close()
    for path in (tmp_path / "index" / "1" / "vectors").rglob("*"):
        if path.is_file():
            path.write_bytes(b"noise")
    second, embedded = index_folder(second_root, tmp_path / "index" / "2")
    second.close()
    assert len(embedded) == FILES
