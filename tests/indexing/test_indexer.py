"""The events of the indexer while it scans."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from codekernel.domain.concurrency import BackgroundThrottle, CancelToken, WorkControl
from codekernel.domain.index import FoundFile, SkippedPath
from codekernel.indexing.index_plan import IndexTimings
from codekernel.indexing.index_state import BatchCommitted, FilesStarted
from codekernel.indexing.indexer import Indexer
from codekernel.storage.index_store import open_index


def test_a_long_walk_names_new_files_before_it_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "demo"
    root.mkdir()
    for number in range(5):
        (root / f"file{number}.py").write_text(f"value = {number}\n", encoding="utf-8")
    started: list[str] = []
    started_before: list[int] = []
    with closing(open_index(tmp_path / "index")) as store:
        control = WorkControl(CancelToken(), BackgroundThrottle())
        indexer = Indexer(root, store, control, timings=IndexTimings(announce_interval=0.0))
        indexer.chunk_sizes = (950,)
        walk = indexer.walk.iterate_files

        def observed(cancel: CancelToken) -> Iterator[FoundFile | SkippedPath]:
            for item in walk(cancel):
                started_before.append(len(started))
                yield item

        monkeypatch.setattr(indexer.walk, "iterate_files", observed)
        for event in indexer.scan_repository():
            if isinstance(event, FilesStarted):
                started += event.paths
    assert started_before == [0, 1, 2, 3, 4]
    assert set(started) == {f"file{number}.py" for number in range(5)}


@pytest.mark.parametrize("change", ["write", "delete"])
def test_what_was_indexed_meanwhile_is_not_replaced_by_what_was_read_before(
    tmp_path: Path, change: str
) -> None:
    root = tmp_path / "demo"
    root.mkdir()
    for number in range(6):
        (root / f"file{number}.py").write_text(f"old = {number}\n", encoding="utf-8")
    with closing(open_index(tmp_path / "index")) as store:
        control = WorkControl(CancelToken(), BackgroundThrottle())
        indexer = Indexer(root, store, control, timings=IndexTimings(first_batch=0.0))
        indexer.chunk_sizes = (950,)
        left: set[str] = set()
        for event in indexer.scan_repository():
            if isinstance(event, BatchCommitted) and event.files and not left:
                left = {f"file{number}.py" for number in range(6)} - {
                    path for _, path in event.files
                }
                for path in left:  # one of them has been read already
                    if change == "write":
                        (root / path).write_text("new = 1\n", encoding="utf-8")
                    else:
                        (root / path).unlink()
                assert list(indexer.index_paths(left))
        assert left
        files = store.catalog.list_files()
        if change == "write":
            assert {store.catalog.read_document(files[path].id) for path in left} == {"new = 1\n"}
        else:
            assert left.isdisjoint(files)
