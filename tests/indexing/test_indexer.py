"""What the indexer says while it walks."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from codekernel.domain.concurrency import BackgroundThrottle, CancelToken, PauseSwitch, WorkControl
from codekernel.domain.source_files import FoundFile, SkippedPath
from codekernel.indexing import indexer as indexer_module
from codekernel.indexing.indexer import Indexer
from codekernel.storage.index_store import open_index


class Hearing:
    def __init__(self) -> None:
        self.said: list[str] = []

    def on_files_started(self, paths: Iterable[str]) -> None:
        self.said += paths

    def on_files_indexed(self, files: Sequence[tuple[int, str]]) -> None:
        pass

    def on_file_finished(self, path: str) -> None:
        pass

    def on_batch_committed(self) -> None:
        pass


def test_a_long_walk_names_new_files_before_it_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexer_module, "ANNOUNCE_INTERVAL_SECONDS", 0.0)
    root = tmp_path / "demo"
    root.mkdir()
    for number in range(5):
        (root / f"file{number}.py").write_text(f"value = {number}\n", encoding="utf-8")
    hearing = Hearing()
    heard_on_the_way: list[int] = []
    with closing(open_index(tmp_path / "index")) as store:
        indexer = Indexer(
            root, store, hearing, WorkControl(CancelToken(), BackgroundThrottle(), PauseSwitch())
        )
        indexer.chunk_sizes = (950,)
        walk = indexer.walk.iterate_files

        def watched(cancel: CancelToken) -> Iterator[FoundFile | SkippedPath]:
            for item in walk(cancel):
                heard_on_the_way.append(len(hearing.said))
                yield item

        monkeypatch.setattr(indexer.walk, "iterate_files", watched)
        indexer.scan_repository()
    assert heard_on_the_way == [0, 1, 2, 3, 4]
    assert set(hearing.said) == {f"file{number}.py" for number in range(5)}
