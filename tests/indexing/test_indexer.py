"""The events of the indexer while it scans."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from codekernel.domain.concurrency import BackgroundThrottle, CancelToken, WorkControl
from codekernel.domain.index import FoundFile, SkippedPath
from codekernel.indexing.index_state import FilesStarted
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
        indexer = Indexer(root, store, control, announce_interval_seconds=0.0)
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
