"""What the indexer says while it walks."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from kernel.domain.cancel import CancelToken
from kernel.domain.courtesy import Courtesy, Pace
from kernel.domain.pause import Pause
from kernel.domain.source import FoundFile, LeftOut
from kernel.indexing import indexer as indexer_module
from kernel.indexing.indexer import Indexer
from kernel.storage.index_store import open_index


class Hearing:
    def __init__(self) -> None:
        self.said: list[str] = []

    def began(self, paths: Iterable[str]) -> None:
        self.said += paths

    def indexed(self, files: Sequence[tuple[int, str]]) -> None:
        pass

    def ended(self, path: str) -> None:
        pass

    def between_batches(self) -> None:
        pass


def test_a_long_walk_names_new_files_before_it_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexer_module, "FIRST_NAMED_SECONDS", 0.0)
    root = tmp_path / "demo"
    root.mkdir()
    for number in range(5):
        (root / f"file{number}.py").write_text(f"value = {number}\n", encoding="utf-8")
    hearing = Hearing()
    heard_on_the_way: list[int] = []
    with closing(open_index(tmp_path / "index")) as store:
        indexer = Indexer(root, store, hearing, Pace(CancelToken(), Courtesy(), Pause()))
        indexer.input_lengths = (950,)
        walk = indexer.walk.files

        def watched(cancel: CancelToken) -> Iterator[FoundFile | LeftOut]:
            for item in walk(cancel):
                heard_on_the_way.append(len(hearing.said))
                yield item

        monkeypatch.setattr(indexer.walk, "files", watched)
        indexer.sweep()
    assert heard_on_the_way == [0, 1, 2, 3, 4]
    assert set(hearing.said) == {f"file{number}.py" for number in range(5)}
