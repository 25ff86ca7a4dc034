"""Saved files are found before the lexical index is committed, and nothing of them is lost."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from codekernel.domain.concurrency import BackgroundThrottle, CancelToken, WorkControl
from codekernel.domain.lexical_tokenizer import tokenize_query
from codekernel.indexing.indexer import Indexer
from codekernel.indexing.outcome_writer import (
    CALM_SECONDS,
    MAX_URGENT_FILES,
    CommitPace,
    OutcomeWriter,
)
from codekernel.storage.index_store import IndexStore, open_index
from codekernel.storage.lexical_index import read_opstamp

CONTROL = WorkControl(CancelToken(), BackgroundThrottle())
MANY = MAX_URGENT_FILES + 1
OLD = [f"old{letter * 3}" for letter in "abcdefghi"]
NEW = [f"new{letter * 3}" for letter in "abcdefghij"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "demo"
    root.mkdir()
    for number in range(MANY):
        (root / f"file{number}.py").write_text(f"{OLD[number]} = 'needle'\n", encoding="utf-8")
    return root


@pytest.fixture
def store(root: Path, tmp_path: Path) -> Iterator[IndexStore]:
    with closing(open_index(tmp_path / "index")) as store:
        make_indexer(root, store)
        yield store


def make_indexer(root: Path, store: IndexStore) -> Indexer:
    indexer = Indexer(root, store, CONTROL)
    indexer.chunk_sizes = (950,)
    assert list(indexer.scan_repository())
    return indexer


def save(indexer: Indexer, root: Path, name: str, text: str) -> None:
    (root / name).write_text(text, encoding="utf-8")
    list(indexer.index_paths([name]))


def find(store: IndexStore, word: str) -> list[str]:
    hits = store.lexical.search(tokenize_query(word), 10)
    chunks = store.catalog.find_chunks([number for number, _ in hits])
    assert len(chunks) == len(hits)
    return sorted(chunk.path for chunk in chunks.values())


def read_committed(store: IndexStore) -> int | None:
    return read_opstamp(store.folder / "words")


def test_a_save_is_found_at_once_and_committed_later(root: Path, store: IndexStore) -> None:
    indexer, before = make_indexer(root, store), read_committed(store)
    save(indexer, root, "file0.py", "fresh = 1\n")
    (root / "file1.py").unlink()
    list(indexer.index_paths(["file1.py"]))
    assert find(store, "fresh") == ["file0.py"]
    assert find(store, OLD[0]) == find(store, OLD[1]) == []
    assert len(find(store, "needle")) == MANY - 2
    assert read_committed(store) == before
    assert store.active_writer.list_pending()
    indexer.flush()
    assert read_committed(store) != before
    assert store.active_writer.list_pending() == []
    assert store.active_writer.read_lexical_opstamp() == read_committed(store)
    assert find(store, "fresh") == ["file0.py"]
    assert store.lexical.document_count == MANY - 1


def test_what_a_kill_kept_from_being_committed_is_written_again(
    root: Path, store: IndexStore, tmp_path: Path
) -> None:
    save(make_indexer(root, store), root, "file0.py", "fresh = 1\n")
    store.close()
    with closing(open_index(tmp_path / "index")) as reopened:
        assert reopened.active_writer.list_pending() == ["file0.py"]
        OutcomeWriter(reopened, CONTROL).recover()
        assert find(reopened, "fresh") == ["file0.py"]
        assert len(find(reopened, "needle")) == MANY - 1
        assert reopened.lexical.document_count == MANY


def test_many_files_are_committed_with_the_saved_ones(root: Path, store: IndexStore) -> None:
    indexer = make_indexer(root, store)
    save(indexer, root, "file0.py", "fresh = 1\n")
    for number in range(1, MANY + 1):
        (root / f"file{number}.py").write_text(f"{NEW[number]} = 1\n", encoding="utf-8")
    list(indexer.scan_repository())
    assert store.active_writer.list_pending() == []
    assert find(store, "fresh") == ["file0.py"]
    assert find(store, NEW[3]) == ["file3.py"]
    assert store.lexical.document_count == MANY + 1


def test_saved_files_survive_a_batch_that_fails(
    root: Path, store: IndexStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    indexer = make_indexer(root, store)
    save(indexer, root, "file0.py", "fresh = 1\n")
    with monkeypatch.context() as patched:
        patched.setattr("codekernel.indexing.outcome_writer.require_disk_space", _raise_full)
        with pytest.raises(OSError, match="full"):
            save(indexer, root, "file2.py", "never = 1\n")
    assert find(store, "fresh") == ["file0.py"]
    indexer.flush()
    assert store.active_writer.list_pending() == ["file0.py"]
    indexer.recover()
    assert store.active_writer.list_pending() == []
    assert find(store, "fresh") == ["file0.py"]
    assert len(find(store, "needle")) == MANY - 1


def _raise_full(_folder: Path) -> None:
    raise OSError("the disk is full")


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def measure_batch(pace: CommitPace, clock: Clock) -> float:
    """How long it takes until the batch is due."""
    begun = clock.now
    while not pace.is_due:
        clock.now += 0.01
    return round(clock.now - begun, 1)


def test_each_batch_may_take_longer_than_the_one_before_up_to_the_limit() -> None:
    clock = Clock()
    pace = CommitPace(0.1, 0.8, clock)
    pace.begin_list()
    seconds = []
    for _ in range(5):
        seconds.append(measure_batch(pace, clock))
        pace.begin_next()
    assert seconds == [0.1, 0.4, 0.8, 0.8, 0.8]


def test_a_list_soon_after_another_goes_on_at_its_pace() -> None:
    clock = Clock()
    pace = CommitPace(0.1, 4.0, clock)
    pace.begin_list()
    for _ in range(2):
        measure_batch(pace, clock)
        pace.begin_next()
    clock.now += CALM_SECONDS / 2
    pace.begin_list()
    assert measure_batch(pace, clock) == 1.6


def test_files_of_which_an_earlier_state_is_found_may_wait_longer() -> None:
    clock = Clock()
    pace = CommitPace(0.1, 4.0, clock)
    clock.now += CALM_SECONDS * 1.1
    pace.begin_list(are_known=True)
    assert measure_batch(pace, clock) == 0.4


def test_after_a_calm_the_first_files_are_committed_soon_again() -> None:
    clock = Clock()
    pace = CommitPace(0.1, 4.0, clock)
    pace.begin_list()
    measure_batch(pace, clock)
    pace.begin_next()
    clock.now += CALM_SECONDS * 1.1
    pace.begin_list()
    assert measure_batch(pace, clock) == 0.1
